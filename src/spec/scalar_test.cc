#include "spec/scalar.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/files.h"

namespace phalanx::spec {
namespace {

std::string name(Kind kind) {
  constexpr const char* kNames[] = {"null", "boolean", "integer", "real", "text", "timestamp"};
  return kNames[static_cast<size_t>(kind)];
}

TEST(Scalar, AgreesWithPyYaml) {
  auto text = read_file(PHALANX_SOURCE_DIR "/src/spec/testdata/scalars.json");
  ASSERT_TRUE(text) << text.error().reason;
  const auto rows = boost::json::parse(*text).as_array();
  ASSERT_GT(rows.size(), 200u);
  for (const auto& row : rows) {
    const std::string written(row.at(0).as_string()), kind(row.at(1).as_string()),
        value(row.at(2).as_string());
    const Scalar got = resolve_plain(written);
    if (kind == "error") {
      EXPECT_FALSE(got.error.empty()) << written << " is " << name(got.kind) << " " << got.text;
      continue;
    }
    EXPECT_EQ(name(got.kind), kind) << written;
    EXPECT_EQ(got.text, value) << written;
    EXPECT_EQ(got.error, "") << written;
  }
}

TEST(Scalar, TagsForceAKind) {
  EXPECT_EQ(construct(Kind::real, "3").text, "3.0");
  EXPECT_EQ(construct(Kind::integer, "0x10").text, "16");
  EXPECT_NE(construct(Kind::integer, "abc").error, "");
  EXPECT_NE(construct(Kind::boolean, "maybe").error, "");
}

TEST(Scalar, LongNumbersAreRefusedAsPythonDoes) {
  EXPECT_EQ(resolve_plain(std::string(4300, '9')).error, "");
  EXPECT_NE(resolve_plain(std::string(4301, '9')).error, "");
}

}  // namespace
}  // namespace phalanx::spec
