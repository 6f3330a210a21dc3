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

TEST(snapshot, follows_links_but_into_no_loop) {
  Trees trees;
  trees.put("sub/x", "inside");
  ASSERT_TRUE(make_folders(trees.folder.path + "/shared"));
  ASSERT_TRUE(write_file(trees.folder.path + "/shared/y", "outside"));
  ASSERT_EQ(::symlink((trees.folder.path + "/shared").c_str(), (trees.from + "/shared").c_str()), 0);
  ASSERT_EQ(::symlink("..", (trees.from + "/sub/up").c_str()), 0);
  ASSERT_EQ(::symlink(".", (trees.from + "/self").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (trees.from + "/dangling").c_str()), 0);
  ASSERT_EQ(::symlink("circle", (trees.from + "/circle").c_str()), 0);
  const auto count = take_snapshot(trees.from, trees.to);
  ASSERT_TRUE(count) << count.error().reason;
  EXPECT_EQ(trees.got("shared/y"), "outside");
  EXPECT_EQ(trees.got("sub/x"), "inside");
  EXPECT_EQ(count->skipped.size(), 2u);
  struct stat info {};
  EXPECT_EQ(::lstat((trees.to + "/dangling").c_str(), &info), 0);
  EXPECT_EQ(::lstat((trees.to + "/circle").c_str(), &info), 0);
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
