#include "base/links.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"

namespace phalanx {
namespace {

TEST(links, lead_inside_or_not) {
  std::string top = "/tmp/phalanx_links_XXXXXX";
  ASSERT_NE(::mkdtemp(top.data()), nullptr);
  ASSERT_TRUE(make_folders(top + "/in/a/b"));
  ASSERT_TRUE(write_file(top + "/in/a/file", "x"));
  ASSERT_TRUE(write_file(top + "/out", "x"));
  const auto leads = [&](const std::string& target) {
    const std::string path = top + "/in/a/link";
    ::unlink(path.c_str());
    CHECK(::symlink(target.c_str(), path.c_str()) == 0);
    const UniqueFd fd = *open_file(top + "/in", O_RDONLY | O_DIRECTORY);
    return leads_inside(fd.get(), "a/link");
  };
  ASSERT_EQ(::symlink("../a/b", (top + "/in/a/other").c_str()), 0);
  ASSERT_EQ(::symlink((top + "/in").c_str(), (top + "/in/a/absolute").c_str()), 0);
  for (const char* target :
       {"file", "./file", "b", "b/", ".", "..", "../a/file", "other", "other/../file", "b/.././/b/../../a/b"})
    EXPECT_TRUE(leads(target)) << target;
  EXPECT_EQ(leads("other/../file"), "a/file");
  EXPECT_EQ(leads("../a/../.."), std::nullopt);
  EXPECT_EQ(leads(".."), ".");
  for (const char* target : {"../../out", "../..", "../../in/a/file", "none", "file/", "file/..", "file/x",
                             "link", "absolute", "absolute/a/file", "/", "/etc/passwd", "link/../file"})
    EXPECT_FALSE(leads(target)) << target;
  ASSERT_TRUE(remove_tree(top));
}

}  // namespace
}  // namespace phalanx
