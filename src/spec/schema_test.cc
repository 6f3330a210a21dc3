// The examples of schema/ through the checker.
#include <gtest/gtest.h>

#include "base/files.h"
#include "spec/parse.h"

namespace phalanx::spec {
namespace {

const std::string kSchema = PHALANX_SOURCE_DIR "/schema";

std::vector<std::string> examples(const std::string& folder) {
  std::vector<std::string> out;
  const auto names = list_folder(kSchema + "/" + folder);
  EXPECT_TRUE(names);
  for (const std::string& name : names.value_or({}))
    if (name.ends_with(".yml")) out.push_back(kSchema + "/" + folder + "/" + name);
  return out;
}

std::string all(const Outcome& outcome) {
  std::string out;
  for (const Problem& problem : outcome.problems) out += problem.to_string() + "\n";
  return out;
}

TEST(Schema, ValidExamplesAreAccepted) {
  const auto paths = examples("valid");
  EXPECT_GE(paths.size(), 15u);
  for (const std::string& path : paths) {
    const Outcome outcome = parse_file(path);
    EXPECT_TRUE(outcome) << all(outcome);
    EXPECT_EQ(all(outcome), "") << "a warning in " << path;
  }
}

TEST(Schema, InvalidExamplesSayWhatTheyExpect) {
  const auto paths = examples("invalid");
  EXPECT_GE(paths.size(), 40u);
  for (const std::string& path : paths) {
    const std::string text = read_file(path).value_or("");
    const std::string prefix = "# expect: ";
    ASSERT_TRUE(text.starts_with(prefix)) << path;
    const std::string expect = text.substr(prefix.size(), text.find('\n') - prefix.size());
    const Outcome outcome = parse_file(path);
    EXPECT_FALSE(outcome) << path << " is accepted";
    EXPECT_NE(all(outcome).find(expect), std::string::npos) << "expected: " << expect << "\ngot:\n"
                                                            << all(outcome);
  }
}

}  // namespace
}  // namespace phalanx::spec
