#include "spec/words.h"

#include <gtest/gtest.h>

namespace phalanx::spec {
namespace {

template <class Enum>
void expect_each_is_read_as_written() {
  for (const auto& [value, word] : kWords<Enum>) {
    EXPECT_EQ(from_word<Enum>(word_of(value)), value) << word;
    EXPECT_STREQ(word_of(value), word);
  }
}

TEST(words, each_is_read_as_written) {
  expect_each_is_read_as_written<Framework>();
  expect_each_is_read_as_written<Launch>();
  expect_each_is_read_as_written<Isolation>();
  expect_each_is_read_as_written<Unit>();
}

TEST(words, others_mean_nothing) {
  EXPECT_FALSE(from_word<Isolation>("Namespace"));
  EXPECT_FALSE(from_word<Launch>(""));
}

TEST(words, what_is_said_by_leaving_it_out_has_none) {
  EXPECT_EQ(words_of<Framework>(), (std::vector<std::string>{"pytorch", "mpi", "tensorflow", "ray"}));
}

}  // namespace
}  // namespace phalanx::spec
