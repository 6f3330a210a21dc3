#include "job/snapshot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "job/test_folder.h"

namespace phalanx::job {
namespace {

struct Trees {
  TestFolder folder;
  std::string from = folder.path + "/from", to = folder.path + "/to";
  Trees() { CHECK(make_folders(from)); }

  void put(const std::string& name, const std::string& text = "x", mode_t mode = 0644) const {
    const std::string path = from + "/" + name;
    CHECK(make_folders(path.substr(0, path.find_last_of('/'))));
    CHECK(write_file(path, text, mode));
  }
  void link(const std::string& target, const std::string& name) const {
    CHECK(::symlink(target.c_str(), (from + "/" + name).c_str()) == 0);
  }
  std::string link_at(const std::string& name) const { return read_link(to + "/" + name).value_or("(none)"); }
  std::string got(const std::string& name) const { return read_file(to + "/" + name).value_or("(none)"); }
};

TEST(snapshot, copies_files_with_modes_and_times) {
  Trees trees;
  trees.put("main.py", "print()");
  trees.put("sub/run.sh", "#!/bin/sh", 0755);
  trees.put("empty", "");
  const timespec times[] = {{1000, 5}, {2000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (trees.from + "/main.py").c_str(), times, 0), 0);
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count) << count.error().reason;
  EXPECT_EQ(count->files, 3u);
  EXPECT_EQ(count->bytes, 16u);
  EXPECT_EQ(trees.got("main.py"), "print()");
  struct stat info {};
  ASSERT_EQ(::stat((trees.to + "/sub/run.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
  ASSERT_EQ(::stat((trees.to + "/main.py").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtim.tv_sec, 2000);
  EXPECT_EQ(info.st_mtim.tv_nsec, 7);
}

TEST(snapshot, large_files_are_whole) {
  Trees trees;
  std::string text(300000, 'a');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  trees.put("large", text);
  EXPECT_EQ(take_snapshot(trees.from, trees.to)->bytes, text.size());
  EXPECT_EQ(trees.got("large"), text);
}

TEST(snapshot, amlignore_wins_over_gitignore) {
  Trees trees;
  trees.put("a.py"), trees.put("a.log"), trees.put("data/x"), trees.put(".git/config"),
      trees.put("sub/.git/config");
  trees.put(".gitignore", "*.log\n");
  EXPECT_EQ(take_snapshot(trees.from, trees.to)->ignore_file, ".gitignore");
  EXPECT_EQ(trees.got("a.log"), "(none)");
  EXPECT_EQ(trees.got("data/x"), "x");
  EXPECT_FALSE(exists(trees.to + "/.git"));
  EXPECT_FALSE(exists(trees.to + "/sub/.git"));
  trees.put(".amlignore", "data/\n");
  ASSERT_TRUE(remove_tree(trees.to));
  EXPECT_EQ(take_snapshot(trees.from, trees.to)->ignore_file, ".amlignore");
  EXPECT_EQ(trees.got("a.log"), "x");
  EXPECT_FALSE(exists(trees.to + "/data"));
}

TEST(snapshot, what_links_lead_to_out_of_the_code_is_copied) {
  Trees trees;
  trees.put("sub/x", "inside");
  ASSERT_TRUE(make_folders(trees.folder.path + "/shared"));
  ASSERT_TRUE(write_file(trees.folder.path + "/shared/y", "outside"));
  ASSERT_EQ(::symlink("y", (trees.folder.path + "/shared/z").c_str()), 0);
  trees.link(trees.folder.path + "/shared", "absolute");
  trees.link("../shared", "relative");
  trees.link("../../shared/y", "sub/file");
  trees.link(trees.from + "/sub/x", "sub/absolute");  // would be the folder that goes on changing
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count) << count.error().reason;
  for (const char* name : {"absolute/y", "absolute/z", "relative/y", "relative/z", "sub/file"})
    EXPECT_EQ(trees.got(name), "outside") << name;
  EXPECT_EQ(trees.link_at("relative/z"), "y") << "it leads to what was copied with it";
  EXPECT_EQ(trees.got("sub/absolute"), "inside");
  for (const char* name : {"absolute", "relative", "sub/file", "sub/absolute"})
    EXPECT_EQ(trees.link_at(name), "(none)") << name;
  EXPECT_TRUE(count->skipped.empty() && count->dangling.empty());
}

TEST(snapshot, links_inside_the_code_stay_links) {
  Trees trees;
  trees.put("sub/x", "inside"), trees.put("data/big", "left out"), trees.put(".amlignore", "data/\n");
  trees.link("..", "sub/up"), trees.link(".", "self"), trees.link("sub/up/sub/x", "far"),
      trees.link("far", "twice");
  trees.link("data/big", "sample");
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count) << count.error().reason;
  EXPECT_EQ(trees.link_at("sub/up"), "..");
  EXPECT_EQ(trees.link_at("self"), ".");
  EXPECT_EQ(trees.link_at("far"), "sub/up/sub/x");
  EXPECT_EQ(trees.got("twice"), "inside");
  EXPECT_EQ(trees.got("sample"), "left out") << "what it leads to is not there otherwise";
  EXPECT_EQ(trees.link_at("sample"), "(none)");
  EXPECT_FALSE(exists(trees.to + "/data"));
  EXPECT_EQ(count->files, 3u);
}

TEST(snapshot, where_a_job_writes_there_is_a_folder) {
  Trees trees;
  trees.put("results/old", "x"), trees.put("sub/x");
  trees.link("old", "results/latest");
  trees.link("results", "outputs"), trees.link("outputs", "logs"), trees.link("../results", "sub/outputs");
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count) << count.error().reason;
  for (const char* name : {"outputs", "logs"}) {
    EXPECT_EQ(trees.link_at(name), "(none)") << name;
    EXPECT_EQ(trees.got(std::string(name) + "/old"), "x") << name;
    EXPECT_EQ(trees.link_at(std::string(name) + "/latest"), "old") << name;
  }
  EXPECT_EQ(trees.link_at("sub/outputs"), "../results") << "of that nothing is brought back";
}

TEST(snapshot, which_links_stay_is_not_chance) {
  Trees trees;
  trees.put("data/big", "left out"), trees.put(".amlignore", "data/\n");
  for (const char* name : {"z", "m", "a", "q", "b", "y"}) trees.link("d1/big", name);
  trees.link("data", "d1");
  ASSERT_TRUE(take_snapshot(trees.from, trees.to));
  for (const char* name : {"a", "b"}) EXPECT_EQ(trees.link_at(name), "(none)") << name << " comes before d1";
  for (const char* name : {"m", "q", "y", "z"}) EXPECT_EQ(trees.link_at(name), "d1/big") << name;
  for (const char* name : {"a", "b", "m", "q", "y", "z"}) EXPECT_EQ(trees.got(name), "left out") << name;
}

TEST(snapshot, a_link_that_came_to_another_place_leads_where_it_led) {
  Trees trees;
  trees.put("a/results/old"), trees.put("a/model", "right"), trees.put("model", "wrong");
  trees.link("../model", "a/results/best");
  trees.link("a/results", "outputs");
  ASSERT_TRUE(take_snapshot(trees.from, trees.to));
  EXPECT_EQ(trees.got("outputs/best"), "right");
  EXPECT_EQ(trees.link_at("a/results/best"), "../model");
}

TEST(snapshot, links_to_nothing_and_round_in_circles_end) {
  Trees trees;
  trees.put("sub/x", "inside");
  trees.link("nowhere", "dangling"), trees.link("circle", "circle"), trees.link("sub/x/y", "through_a_file");
  trees.link(trees.from, "sub/up");
  trees.link("../../" + trees.from.substr(trees.from.rfind('/') + 1), "sub/round");
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count) << count.error().reason;
  EXPECT_EQ(count->dangling.size(), 3u);
  EXPECT_EQ(trees.link_at("dangling"), "nowhere");
  EXPECT_EQ(trees.link_at("circle"), "circle");
  EXPECT_EQ(count->skipped, (std::vector<std::string>{"sub/up", "sub/round"}));
  EXPECT_EQ(count->files, 1u);
}

TEST(snapshot, names_are_bytes_of_any_kind) {
  Trees trees;
  const std::string name = "a\nb\xff \x1b[31m";
  trees.put(name, "odd");
  trees.link(name, "l\n");
  ASSERT_TRUE(take_snapshot(trees.from, trees.to));
  EXPECT_EQ(trees.got(name), "odd");
  EXPECT_EQ(trees.link_at("l\n"), name);
}

TEST(snapshot, holes_stay_holes) {
  Trees trees;
  trees.put("sparse", "start");
  const std::string path = trees.from + "/sparse";
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 36), 0);
  {
    const UniqueFd fd = *open_file(path, O_WRONLY);
    ASSERT_EQ(::pwrite(fd.get(), "middle", 6, off_t{1} << 35), 6);
  }
  ASSERT_TRUE(take_snapshot(trees.from, trees.to));
  struct stat info {};
  ASSERT_EQ(::stat((trees.to + "/sparse").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, off_t{1} << 36);
  EXPECT_LT(info.st_blocks, 4096);
  const UniqueFd fd = *open_file(trees.to + "/sparse", O_RDONLY);
  char text[6] = {};
  ASSERT_EQ(::pread(fd.get(), text, 6, off_t{1} << 35), 6);
  EXPECT_EQ(std::string(text, 6), "middle");
  ASSERT_EQ(::pread(fd.get(), text, 5, 0), 5);
  EXPECT_EQ(std::string(text, 5), "start");
}

TEST(snapshot, a_file_that_grows_all_the_time_has_an_end) {
  Trees trees;
  trees.put("log", std::string(300000, 'x'));
  const UniqueFd log = *open_file(trees.from + "/log", O_WRONLY | O_APPEND);
  SnapshotWatch watch;
  watch.stop = [&] { return !write_all(log.get(), std::string(1 << 20, 'y')); };
  const auto count = take_snapshot(trees.from, trees.to, watch);
  ASSERT_TRUE(count) << count.error().reason;
  EXPECT_LE(count->bytes, 300000u + (1 << 20)) << "no more than it had when it was opened";
}

TEST(snapshot, a_file_that_is_gone_meanwhile_is_not_there) {
  Trees trees;
  for (int i = 0; i < 100; ++i) trees.put("f" + std::to_string(i));
  SnapshotWatch watch;
  int left = 100;
  watch.stop = [&] {  // before each: those that come next go away
    for (; left > 50; --left) (void)::unlink((trees.from + "/f" + std::to_string(left - 1)).c_str());
    return false;
  };
  const auto count = take_snapshot(trees.from, trees.to, watch);
  ASSERT_TRUE(count) << count.error().reason;
  EXPECT_EQ(count->files, 50u);
}

TEST(snapshot, says_once_when_it_is_large) {
  Trees trees;
  trees.put("data/a"), trees.put("z");
  std::vector<std::string> told;
  SnapshotWatch watch;
  ASSERT_EQ(::truncate((trees.from + "/data/a").c_str(), static_cast<off_t>(watch.large_bytes)), 0);
  watch.large = [&](const std::string& name) { told.push_back(name); };
  ASSERT_TRUE(take_snapshot(trees.from, trees.to, watch));
  EXPECT_EQ(told, std::vector<std::string>{"data"});
  ASSERT_TRUE(remove_tree(trees.from + "/data"));
  for (int i = 0; i < 20; ++i) trees.put("many/" + std::to_string(i));
  watch.large_entries = 20;
  ASSERT_TRUE(take_snapshot(trees.from, trees.to, watch));
  EXPECT_EQ(told, (std::vector<std::string>{"data", "many"}));
}

TEST(snapshot, an_ignore_file_that_is_a_pipe_is_not_waited_for) {
  Trees trees;
  ASSERT_EQ(::mkfifo((trees.from + "/.amlignore").c_str(), 0600), 0);
  EXPECT_NE(take_snapshot(trees.from, trees.to).error().reason.find(".amlignore: is not a file"),
            std::string::npos);
}

TEST(snapshot, what_is_no_file_is_skipped_and_named) {
  Trees trees;
  trees.put("a");
  ASSERT_EQ(::mkfifo((trees.from + "/pipe").c_str(), 0600), 0);
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->skipped, std::vector<std::string>{"pipe"});
}

TEST(snapshot, of_a_single_file) {
  Trees trees;
  trees.put("main.py", "print()");
  EXPECT_EQ(take_snapshot(trees.from + "/main.py", trees.to)->files, 1u);
  EXPECT_EQ(trees.got("main.py"), "print()");
}

TEST(snapshot, onto_itself_is_refused_and_destroys_nothing) {
  Trees trees;
  trees.put("main.py", "print()");
  EXPECT_FALSE(take_snapshot(trees.from, trees.from));
  EXPECT_FALSE(take_snapshot(trees.from + "/main.py", trees.from));
  EXPECT_FALSE(copy_folder(trees.from, trees.from));
  EXPECT_EQ(read_file(trees.from + "/main.py").value_or(""), "print()");
}

TEST(snapshot, into_itself_ends) {
  Trees trees;
  trees.put("a");
  trees.to = trees.from + "/jobs/1/code";
  EXPECT_EQ(take_snapshot(trees.from, trees.to)->files, 1u);
  EXPECT_EQ(trees.got("a"), "x");
}

TEST(snapshot, never_enters_the_folder_of_all_jobs) {
  Trees trees;
  trees.put("a"), trees.put(".ph/jobs/one/code/a"), trees.put(".ph/jobs/.new_two/code/a"),
      trees.put("jobs/b");
  ASSERT_EQ(::symlink(".ph/jobs", (trees.from + "/link").c_str()), 0);
  ::setenv("PHALANX_HOME", (trees.from + "/.ph").c_str(), 1);
  const auto count = take_snapshot(trees.from, trees.to);
  ::unsetenv("PHALANX_HOME");
  EXPECT_EQ(count->files, 2u);
  EXPECT_EQ(trees.got("jobs/b"), "x");
  EXPECT_FALSE(exists(trees.to + "/.ph/jobs")) << "nor an empty folder in its place";
  EXPECT_FALSE(exists(trees.to + "/link"));
}

TEST(snapshot, too_many_folders_in_one_another_are_an_error) {
  Trees trees;
  std::string name;
  for (int i = 1; i < 250; ++i) name += (name.empty() ? "f" : "/f");
  trees.put(name + "/a");
  EXPECT_EQ(take_snapshot(trees.from, trees.to)->files, 1u);
  ASSERT_TRUE(remove_tree(trees.to));
  ASSERT_TRUE(make_folders(trees.from + "/" + name + "/f"));
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_FALSE(count);
  EXPECT_NE(count.error().reason.find("more than 250 folders in one another"), std::string::npos);
  EXPECT_FALSE(exists(trees.to));
}

// Root reads everything: as root, the test is an ordinary user while this lives.
struct OrdinaryUser {
  OrdinaryUser() {
    if (::getuid() == 0) CHECK(::setegid(65534) == 0 && ::seteuid(65534) == 0);
  }
  ~OrdinaryUser() {
    if (::getuid() == 0) CHECK(::seteuid(0) == 0 && ::setegid(0) == 0);
  }
};

TEST(snapshot, a_failure_names_the_file_and_leaves_nothing) {
  const OrdinaryUser user;
  Trees trees;
  trees.put("secret", "x", 0000);
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, Code::denied);
  EXPECT_NE(count.error().reason.find("/secret: cannot be read"), std::string::npos) << count.error().reason;
  EXPECT_FALSE(exists(trees.to));
}

TEST(snapshot, of_nothing_is_an_error) {
  Trees trees;
  EXPECT_EQ(take_snapshot(trees.from + "/none", trees.to).error().code, Code::not_found);
  EXPECT_FALSE(exists(trees.to));
}

TEST(copy_folder, a_file_that_is_gone_meanwhile_is_an_error) {
  Trees trees;
  trees.put("a");
  const Status copied = copy_folder(trees.from, trees.to, [&] {
    (void)::unlink((trees.from + "/a").c_str());
    return false;
  });
  ASSERT_FALSE(copied);
  EXPECT_NE(copied.error().reason.find("/a: cannot be read"), std::string::npos) << copied.error().reason;
}

TEST(copy_folder, keeps_links_and_ignores_no_file) {
  Trees trees;
  trees.put("a.log"), trees.put(".gitignore", "*.log\n"), trees.put("sub/b"), trees.put(".git/config");
  ASSERT_EQ(::symlink("sub", (trees.from + "/latest").c_str()), 0);
  ASSERT_TRUE(copy_folder(trees.from, trees.to));
  ASSERT_TRUE(copy_folder(trees.from, trees.to)) << "again, over what is there";
  EXPECT_EQ(trees.got("a.log"), "x");
  EXPECT_EQ(trees.got("latest/b"), "x");
  EXPECT_EQ(trees.got(".git/config"), "x");
  struct stat info {};
  ASSERT_EQ(::lstat((trees.to + "/latest").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

}  // namespace
}  // namespace phalanx::job
