#include "node/mirror.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>

#include "base/files.h"

namespace phalanx::node {
namespace {

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/phx-mirror-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { (void)remove_tree(path); }
};

TEST(Mirror, logs_arrive_as_they_grow_each_byte_once) {
  const Folder folder;
  MirrorSource source(folder.path);
  MirrorReader reader;
  std::map<std::string, std::string> got;
  const auto pass = [&] {
    for (std::string records; !(records = source.next(1000)).empty();)
      for (size_t at = 0; at < records.size(); at += 7)
        ASSERT_TRUE(reader.feed(std::string_view(records).substr(at, 7),
                                [&](const std::string& file, uint64_t offset, std::string_view bytes) {
                                  EXPECT_EQ(offset, got[file].size());
                                  got[file] += bytes;
                                }));
  };
  const std::string much(3000, 'x');
  ASSERT_TRUE(write_file(folder.path + "/std_log_process_0.txt", "one\n"));
  ASSERT_TRUE(write_file(folder.path + "/other.txt", "not a log"));
  pass();
  ASSERT_TRUE(write_file(folder.path + "/std_log_process_0.txt", "one\n" + much));
  ASSERT_TRUE(write_file(folder.path + "/std_log_process_1.txt", "two"));
  ASSERT_TRUE(write_file(folder.path + "/std_log_process_2.txt", ""));
  ASSERT_TRUE(write_file(folder.path + "/metrics_rank_1.jsonl", "{}\n"));
  ASSERT_EQ(::mkfifo((folder.path + "/metrics_rank_2.jsonl").c_str(), 0600), 0);  // the ranks' own doing
  pass();
  EXPECT_EQ(got, (std::map<std::string, std::string>{{"metrics_rank_1.jsonl", "{}\n"},
                                                     {"std_log_process_0.txt", "one\n" + much},
                                                     {"std_log_process_1.txt", "two"},
                                                     {"std_log_process_2.txt", ""}}));
}

TEST(Mirror, a_name_that_is_no_log_is_an_error) {
  MirrorReader reader;
  const auto none = [](const std::string&, uint64_t, std::string_view) { FAIL(); };
  EXPECT_FALSE(reader.feed("{\"file\":\"../std_log\",\"offset\":0,\"bytes\":0}\n", none));
  EXPECT_FALSE(MirrorReader().feed("{\"file\":\"std_log/../../x\",\"offset\":0,\"bytes\":0}\n", none));
  EXPECT_FALSE(MirrorReader().feed("rubbish\n", none));
  EXPECT_FALSE(MirrorReader().feed("{\"file\":\"std_log.txt\",\"offset\":0,\"bytes\":99999999}\n", none));
}

}  // namespace
}  // namespace phalanx::node
