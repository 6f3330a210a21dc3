// Folders into a store and out of it again.
#include "data/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "data/frames.h"
#include "data/source.h"
#include "data/writer.h"

namespace phalanx::data {
namespace {

namespace fs = std::filesystem;

class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/data_test.XXXXXX";
    top_ = ::mkdtemp(name);
    fs::create_directories(from());
  }
  void TearDown() override {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(top_, error))
      if (entry.is_directory() && !entry.is_symlink())
        fs::permissions(entry, fs::perms::owner_all, fs::perm_options::add, error);
    fs::remove_all(top_, error);
  }
  std::string from() const { return top_ + "/from"; }
  std::string to() const { return top_ + "/to"; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(from() + "/" + name).parent_path());
    std::ofstream(from() + "/" + name, std::ios::binary) << text;
  }
  static std::string read(const std::string& path) { return read_file(path, 1u << 30).value_or("<none>"); }
  Source scan(const std::string& path, const Scan& how = {}) {
    auto source = Source::scan(path, how);
    EXPECT_TRUE(source) << source.error().reason;
    return *std::move(source);
  }
  // How many chunks were new.
  size_t fill(Store& store, Source& source) {
    size_t count = 0;
    EXPECT_TRUE(store.keep_tree(name_of(source.tree()), encode_tree(source.tree())));
    for (size_t i = 0; i < source.tree().chunks.size(); ++i) {
      const ChunkRef& ref = source.tree().chunks[i];
      if (store.has(ref)) continue;
      const auto content = source.content(i);
      EXPECT_TRUE(content) << content.error().reason;
      EXPECT_TRUE(store.keep(ref, encode(*content)));
      ++count;
    }
    return count;
  }
  Store store() { return *Store::open(top_ + "/store"); }
  std::string chunk_path(const ChunkRef& ref) { return top_ + "/store/chunks/" + hex(ref.digest); }
  std::string top_;
};

TEST_F(InFolder, WhatIsNoFolderIsNoStoreAndTheCureIsSaid) {
  const std::string file = top_ + "/store";
  std::ofstream(file) << "mine";
  const auto store = Store::open(file);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().reason.find(file + " has to be a folder that you can write to"), std::string::npos)
      << store.error().reason;
  EXPECT_NE(store.error().reason.find("PHALANX_HOME"), std::string::npos);
}

TEST_F(InFolder, FilesOfEveryKindComeBack) {
  write("a/small", "x");
  write("a/empty", "");
  write("large", std::string(3 * kMostInChunk + 5, 'l'));
  write(std::string("new\nline\xff"), "odd");
  fs::create_directories(from() + "/empty folder");
  fs::create_symlink("nothing", from() + "/dangling");
  fs::create_symlink("..", from() + "/a/loop");
  fs::create_symlink("small", from() + "/a/other");
  fs::create_symlink(from() + "/a/small", from() + "/a/absolute");
  ASSERT_EQ(::mkfifo((from() + "/a/pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", from() + "/a/to a pipe");
  ::chmod((from() + "/a/small").c_str(), 0755);
  Store kept = store();
  Source source = scan(from());
  fill(kept, source);
  ASSERT_TRUE(give(kept, source.tree(), to(), false));
  EXPECT_EQ(read(to() + "/a/small"), "x");
  EXPECT_EQ(fs::read_symlink(to() + "/a/other"), "small") << "what it leads to comes along";
  EXPECT_FALSE(fs::is_symlink(to() + "/a/absolute"));
  EXPECT_EQ(read(to() + "/a/absolute"), "x") << "other links are followed";
  EXPECT_EQ(source.left_out(), (std::vector<std::string>{"a/pipe", "a/to a pipe"}));
  EXPECT_EQ(read(to() + "/a/empty"), "");
  EXPECT_EQ(read(to() + "/large"), read(from() + "/large"));
  EXPECT_EQ(read(to() + "/new\nline\xff"), "odd");
  EXPECT_TRUE(fs::is_directory(to() + "/empty folder"));
  EXPECT_EQ(fs::read_symlink(to() + "/dangling"), "nothing");
  EXPECT_EQ(fs::read_symlink(to() + "/a/loop"), "..");
  struct stat before {
  }, after{};
  ::stat((from() + "/a/small").c_str(), &before);
  ::stat((to() + "/a/small").c_str(), &after);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

TEST_F(InFolder, WhatDidNotChangeIsNotNew) {
  for (int i = 0; i < 300; ++i)
    write("d/" + std::to_string(i), std::string(1000, static_cast<char>('a' + i % 26)) + std::to_string(i));
  write("large", std::string(5 * kMostInChunk, 'l') + "end");
  Store kept = store();
  Source first = scan(from());
  EXPECT_GT(fill(kept, first), 2u);
  Source again = scan(from());
  EXPECT_EQ(fill(kept, again), 0u);
  write("d/77", "edited");
  Source edited = scan(from());
  EXPECT_EQ(fill(kept, edited), 1u) << "the chunk it shares with a few neighbours";
  write("d/1500", "added");
  Source added = scan(from());
  EXPECT_LE(fill(kept, added), 2u) << "what stands behind it in the list is cut where it was";
}

TEST_F(InFolder, HolesStayHolesAndTravelOnce) {
  write("sparse", "");
  fs::resize_file(from() + "/sparse", 64u << 20);
  Store kept = store();
  Source source = scan(from());
  EXPECT_EQ(fill(kept, source), 1u);
  ASSERT_TRUE(give(kept, source.tree(), to(), false));
  struct stat info {};
  ::stat((to() + "/sparse").c_str(), &info);
  EXPECT_EQ(info.st_size, 64 << 20);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST_F(InFolder, DamageIsNoticedAndHealed) {
  write("file", std::string(1000, 'a'));
  Source source = scan(from());
  {
    Store kept = store();
    fill(kept, source);
  }
  const ChunkRef ref = source.tree().chunks.at(0);
  std::ofstream(chunk_path(ref), std::ios::binary) << "damage";
  Store kept = store();
  ASSERT_TRUE(kept.has(ref));
  const Status given = give(kept, source.tree(), to(), false);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, Code::not_found);
  EXPECT_FALSE(kept.has(ref)) << "it is missing from now on";
  EXPECT_EQ(fill(kept, source), 1u);
  EXPECT_TRUE(give(kept, source.tree(), to(), false));
}

TEST_F(InFolder, NoLinkLeadsAWriterOut) {
  write("x/file", "mine");
  Store kept = store();
  Source source = scan(from());
  fill(kept, source);
  fs::create_directories(top_ + "/victim");
  fs::create_directories(to());
  fs::create_symlink(top_ + "/victim", to() + "/x");
  ASSERT_TRUE(give(kept, source.tree(), to(), false));
  EXPECT_TRUE(fs::is_empty(top_ + "/victim"));
  EXPECT_EQ(read(to() + "/x/file"), "mine");
}

TEST_F(InFolder, AnInputInPlaceIsReadOnlyAndMadeOnce) {
  write("x/file", "data");
  ::chmod((from() + "/x/file").c_str(), 0666);
  Store kept = store();
  Source source = scan(from());
  fill(kept, source);
  const std::string place = kept.input_folder(name_of(source.tree()));
  ASSERT_TRUE(give_in_place(kept, source.tree(), place));
  struct stat first {
  }, second{}, third{};
  ::stat((place + "/x/file").c_str(), &first);
  EXPECT_EQ(first.st_mode & 0777, 0444u);
  ASSERT_TRUE(give_in_place(kept, source.tree(), place));
  ::stat((place + "/x/file").c_str(), &second);
  EXPECT_EQ(first.st_ino, second.st_ino);
  ::chmod((place + "/x/file").c_str(), 0644);
  std::ofstream(place + "/x/file") << "tampered";
  ASSERT_TRUE(give_in_place(kept, source.tree(), place));
  EXPECT_EQ(read(place + "/x/file"), "data") << "what a job has changed is made anew";
  ::stat((place + "/x/file").c_str(), &third);
  EXPECT_EQ(third.st_mode & 0777, 0444u);
}

TEST_F(InFolder, WhatChangesWhileItIsSentIsAnError) {
  write("file", std::string(1000, 'a'));
  Source source = scan(from());
  write("file", std::string(1000, 'b'));
  const auto content = source.content(0);
  ASSERT_FALSE(content);
  EXPECT_NE(content.error().reason.find("/file: changed"), std::string::npos);
  write("file", "short");
  EXPECT_FALSE(scan(from()).tree().chunks.empty());
  EXPECT_FALSE(source.content(0));
}

TEST_F(InFolder, OnlyWhatIsAskedForIsLookedAt) {
  write("outputs/model/m", "model");
  write("nodes/0/wd/outputs/o", "own");
  write("nodes/0/wd/other", "not");
  write("job.yml", "job");
  Scan how;
  how.follow = false;
  how.only = {"outputs", "nodes/0/wd/outputs", "nodes/0/wd/logs", "job.yml", "absent.yml"};
  Source source = scan(from(), how);
  Store kept = store();
  fill(kept, source);
  ASSERT_TRUE(read_tree(to_bytes(source.tree())));
  ASSERT_TRUE(give(kept, source.tree(), to(), false));
  EXPECT_EQ(read(to() + "/outputs/model/m"), "model");
  EXPECT_EQ(read(to() + "/nodes/0/wd/outputs/o"), "own");
  EXPECT_EQ(read(to() + "/job.yml"), "job");
  EXPECT_FALSE(exists(to() + "/nodes/0/wd/other"));
}

TEST_F(InFolder, CleanUpTakesWhatWasNotUsedAndSparesUsers) {
  write("old", std::string(100'000, 'o'));
  write("young", std::string(100'000, 'y'));
  Source source = scan(from());
  const Digest name = name_of(source.tree());
  {
    Store kept = store();
    fill(kept, source);
    ASSERT_TRUE(give_in_place(kept, source.tree(), kept.input_folder(name)));
    const timespec past[] = {{1000, 0}, {1000, 0}};
    ::utimensat(AT_FDCWD, chunk_path(source.tree().chunks[0]).c_str(), past, 0);
    clean_up(top_ + "/store");
    EXPECT_TRUE(exists(chunk_path(source.tree().chunks[0]))) << "someone uses the store";
  }
  clean_up(top_ + "/store");
  EXPECT_FALSE(exists(chunk_path(source.tree().chunks[0])));
  EXPECT_TRUE(exists(chunk_path(source.tree().chunks[1])));
  clean_up(top_ + "/store", {0, 1 << 20});
  EXPECT_FALSE(exists(chunk_path(source.tree().chunks[1]))) << "above the limit";
  auto held = store().hold_input(name);
  ASSERT_TRUE(held);
  clean_up(top_ + "/store", {1u << 30, -10});
  EXPECT_TRUE(exists(top_ + "/store/inputs/" + hex(name) + "/old")) << "a job reads it";
  held->reset();
  clean_up(top_ + "/store", {1u << 30, -10});
  EXPECT_FALSE(exists(top_ + "/store/inputs/" + hex(name)));
}

}  // namespace
}  // namespace phalanx::data
