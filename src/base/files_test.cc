#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace phalanx {
namespace {

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/phalanx-files-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { (void)remove_tree(folder_); }
  std::string folder_;
};

TEST_F(FilesTest, a_file_is_written_whole_with_its_mode_and_read_back) {
  const std::string path = folder_ + "/file";
  ASSERT_TRUE(write_file(path, "one", 0600));
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(*read_file(path), "two");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(list_folder(folder_)->size(), 1u);  // no temporary file is left
}

TEST_F(FilesTest, errors_name_the_path_and_the_kind) {
  EXPECT_EQ(read_file(folder_ + "/none").error().code, Code::not_found);
  EXPECT_NE(read_file(folder_ + "/none").error().reason.find("/none"), std::string::npos);
  EXPECT_EQ(read_file(folder_).error().code, Code::invalid);
  ASSERT_TRUE(write_file(folder_ + "/large", std::string(100, 'x')));
  EXPECT_EQ(read_file(folder_ + "/large", 99).error().code, Code::invalid);
  EXPECT_EQ(read_file("/dev/zero", 1000).error().code, Code::invalid);  // endless ones end too
}

TEST_F(FilesTest, folders_are_made_with_their_parents_and_removed_with_what_is_in_them) {
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c"));
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c"));
  ASSERT_TRUE(write_file(folder_ + "/a/file", "x"));
  EXPECT_FALSE(make_folders(folder_ + "/a/file"));
  EXPECT_FALSE(make_folders(folder_ + "/a/file/b"));
  ASSERT_TRUE(remove_tree(folder_ + "/a"));
  EXPECT_FALSE(exists(folder_ + "/a"));
  EXPECT_TRUE(remove_tree(folder_ + "/a"));
}

TEST(Absolute, is_made_by_text_alone) {
  EXPECT_EQ(absolute("/a/./b/../c"), "/a/c");
  EXPECT_EQ(absolute("x/", "/a/b"), "/a/b/x");
  EXPECT_EQ(absolute("../x", "/a/b"), "/a/x");
  EXPECT_EQ(absolute("/"), "/");
}

}  // namespace
}  // namespace phalanx
