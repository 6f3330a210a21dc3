// The examples of schema/ through the checkers.
#include <gtest/gtest.h>

#include "base/files.h"
#include "spec/cluster.h"
#include "spec/computes.h"
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

std::string all(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.to_string() + "\n";
  return out;
}

std::vector<Problem> problems_of(const std::string& path) {
  if (path.starts_with(kSchema + "/clusters/"))
    return parse_cluster(read_file(path).value_or(""), path, kSchema).problems;
  if (!path.starts_with(kSchema + "/computes/")) return parse_file(path).problems;
  return parse_computes(read_file(path).value_or(""), path, kSchema, "/home/me").problems;
}

void expect_accepted(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) EXPECT_EQ(all(problems_of(path)), "") << path;
}

void expect_refused(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string text = read_file(path).value_or("");
    const std::string prefix = "# expect: ";
    ASSERT_TRUE(text.starts_with(prefix)) << path;
    const std::string expect = text.substr(prefix.size(), text.find('\n') - prefix.size());
    const std::vector<Problem> problems = problems_of(path);
    EXPECT_NE(to_error(problems).reason, "") << path << " is accepted";
    EXPECT_NE(all(problems).find(expect), std::string::npos) << "expected: " << expect << "\ngot:\n"
                                                             << all(problems);
  }
}

TEST(Schema, ValidExamplesAreAccepted) {
  const auto paths = examples("valid");
  EXPECT_GE(paths.size(), 15u);
  expect_accepted(paths);
  expect_accepted(examples("computes/valid"));
  expect_accepted(examples("clusters/valid"));
}

TEST(Schema, InvalidExamplesSayWhatTheyExpect) {
  const auto paths = examples("invalid");
  EXPECT_GE(paths.size(), 40u);
  expect_refused(paths);
  expect_refused(examples("computes/invalid"));
  expect_refused(examples("clusters/invalid"));
}

}  // namespace
}  // namespace phalanx::spec
