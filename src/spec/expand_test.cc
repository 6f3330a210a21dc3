#include "spec/expand.h"

#include <gtest/gtest.h>

namespace phalanx::spec {
namespace {

std::string expand(const std::string& command) {
  const auto lookup = [](std::string_view kind, std::string_view name) -> std::optional<std::string> {
    if (kind == "inputs" && name == "lr") return "0.1";
    if (kind == "inputs" && name == "text") return "a b; ${{inputs.lr}}";
    if (kind == "outputs" && name == "model") return "/jobs/j/model";
    return {};
  };
  auto result = expand_command(command, lookup);
  return result ? *result : "error: " + result.error().reason;
}

TEST(Expand, Commands) {
  const struct {
    std::string command, expanded;
  } cases[] = {
      {"", ""},
      {"echo $RANK ${HOME} $((1+1)) {a,b}", "echo $RANK ${HOME} $((1+1)) {a,b}"},
      {"--lr ${{inputs.lr}}", "--lr 0.1"},
      {"--lr=${{ inputs.lr }}x", "--lr=0.1x"},
      {"${{inputs.lr}}${{inputs.lr}}", "0.10.1"},
      {"${{inputs.text}}", "a b; ${{inputs.lr}}"},  // verbatim, and once
      {"-o ${{outputs.model}}/x", "-o /jobs/j/model/x"},
      {"--lr {inputs.lr}", "--lr 0.1"},
      {"{{inputs.lr}}", "{{inputs.lr}}"},
      {"{inputs.lr", "{inputs.lr"},
      {"{inputs.}", "{inputs.}"},
      {"${{name}}", "${{name}}"},
      {"$[[ --lr ${{inputs.lr}} ]] go", "--lr 0.1 go"},
      {"a $[[--x ${{inputs.none}}]] go", "a  go"},
      {"$[[ 1 + 1 ]]", "$[[ 1 + 1 ]]"},
      {"${{inputs.none}}", "error: the command names inputs.none, which the job does not have"},
  };
  for (const auto& c : cases) EXPECT_EQ(expand(c.command), c.expanded) << c.command;
}

TEST(Expand, FindsWhatStandsThere) {
  const auto found = find_expressions("a ${{inputs.x}} {outputs.y} ${{foo}} $[[ ${{inputs.z}} ]] ${{open");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].at, 2u);
  EXPECT_EQ(found[0].length, 13u);
  EXPECT_TRUE(found[1].deprecated);
  EXPECT_EQ(found[1].kind, "outputs");
  EXPECT_EQ(found[2].kind, "");
  EXPECT_EQ(found[2].name, "foo");
  EXPECT_TRUE(found[3].optional);
  EXPECT_FALSE(found[4].closed);
}

}  // namespace
}  // namespace phalanx::spec
