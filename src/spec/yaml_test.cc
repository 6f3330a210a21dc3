#include "spec/yaml.h"

#include <gtest/gtest.h>

namespace phalanx::spec {
namespace {

// The tree in one line: texts in quotes, so that "1" and 1 differ.
std::string flat(const Node& node) {
  std::string out;
  switch (node.kind) {
    case Kind::text:
      return "'" + node.text + "'";
    case Kind::null:
      return "null";
    case Kind::list:
      for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + flat(item);
      return "[" + out + "]";
    case Kind::map:
      for (const Entry& entry : node.entries)
        out += (out.empty() ? "" : ", ") + entry.key + ": " + flat(entry.value);
      return "{" + out + "}";
    default:
      return node.text;
  }
}

std::string read(const std::string& text) {
  Report report("f");
  const Node root = parse_yaml(text, report);
  const bool failed = report.failed();
  std::string out;
  for (const Problem& problem : report.take()) out += problem.to_string();
  return failed ? out : flat(root);
}

TEST(Yaml, Trees) {
  const struct {
    std::string text, tree;
  } cases[] = {
      {"a: 1\nb: [x, 'y', \"z\"]\n", "{a: 1, b: ['x', 'y', 'z']}"},
      {"a: |\n  one\n  two\nb: >-\n  one\n  two\n", "{a: 'one\ntwo\n', b: 'one two'}"},
      {"a: &x {k: 1, l: 2}\nb: *x\n", "{a: {k: 1, l: 2}, b: {k: 1, l: 2}}"},
      {"a: &x {k: 1, l: 2}\nb: {<<: *x, k: 9}\n", "{a: {k: 1, l: 2}, b: {l: 2, k: 9}}"},
      {"b: {<<: [{k: 1}, {k: 2, m: 3}]}\n", "{b: {k: 1, m: 3}}"},
      {"a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: ! 4\n", "{a: '1', b: 2, c: 3.0, d: 4}"},
      {"a: =\nb: <<\n'<<': 1\n", "{a: '=', b: '<<', <<: 1}"},
      {"a: \"\\x41\\u00e9\\n\"", "{a: 'A\u00e9\n'}"},
      {"\xEF\xBB\xBF"
       "a: 1",
       "{a: 1}"},
      {"a: 1\r\nb: 2\r\n", "{a: 1, b: 2}"},
      {"--- \na: 1\n...\n", "{a: 1}"},
      {"{\"a\": 1e5, \"b\": \"\\ud83d\\ude00\", \"c\": \"1\\/2\", \"d\": [true, null]}",
       "{a: 100000.0, b: '\U0001F600', c: '1/2', d: [True, null]}"},
      {"{\n\t\"a\": \"yes\"\n}", "{a: 'yes'}"},
      {"{a: 1e5}", "{a: '1e5'}"},
  };
  for (const auto& c : cases) EXPECT_EQ(read(c.text), c.tree) << c.text;
}

TEST(Yaml, Problems) {
  std::string deep(65, '['), bomb = "a0: &a0 [x]\n";
  deep = "a: " + deep + std::string(65, ']');
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) bomb += ", " + before;
    bomb += "]\n";
  }
  const std::string big = "a: &a '" + std::string(1 << 20, 'x') + "'\nb: [*a";
  std::string texts = big;
  for (int i = 0; i < 20; ++i) texts += ", *a";
  const struct {
    std::string text, problem;
  } cases[] = {
      {"", "f: is empty"},
      {"  \n# only a comment\n", "f: is empty"},
      {std::string("a: \0b", 5), "f:1:4: a NUL byte"},
      {"a: \x7f", "f:1:4: a control character (U+007F)"},
      {"a: \xff\xff", "f:1:4: is not UTF-8"},
      {"a: \xed\xa0\x80", "f:1:4: is not UTF-8"},
      {std::string("\xff\xfe"
                   "a\0",
                   4),
       "f: is UTF-16; save it as UTF-8"},
      {std::string("\xff\xfe\0\0a\0\0\0", 8), "f: is UTF-32; save it as UTF-8"},
      {std::string("\0\0\xfe\xff\0\0\0a", 8), "f: is UTF-32; save it as UTF-8"},
      {std::string(kMaxYamlBytes + 1, ' '), "f: is 4194305 bytes long"},
      {"a:\n\tb: 1\n", "f:2:1: a tab in the indentation"},
      {"a:\n  b: 1\n\tc: 1\n", "f:3:1: a tab in the indentation"},
      {"a: 1\nb\nc: 1\n", "f:2:1: this line is no 'key: value'"},
      {"a: b: c\n", "f:1:5: a second ': '"},
      {"a: 'x\nb: 1\n", "f:1:4: a quote that is opened here is never closed"},
      {"a: 1\n b: 2\n", "f:2:3: a second ': '"},
      {"a: @x\n", "f:1:4: a value cannot start with this character"},
      {"a: 1\na: 2\n", "f:2:1: the key 'a' stands twice"},
      {"a: {<<: {b: 1}, <<: {c: 1}}\n", "f:1:17: the key '<<' stands twice"},
      {"a: {<<: 1}\n", "f:1:9: '<<' takes a mapping or a list of mappings"},
      {"[a]: 1\n", "f:1:1: a list or mapping as a key"},
      {"? [a]\n: 1\n", "f:1:3: a list or mapping as a key"},
      {"1: x\n", "f:1:1: the key '1' is read as the number 1, not as text"},
      {"no: x\n", "f:1:1: the key 'no' is read as the boolean no"},
      {"a: &a [*a]\n", "f:1:8: the alias *a has no anchor"},
      {"a: !!set {x}\n", "f:1:4: the tag tag:yaml.org,2002:set"},
      {"a: !!binary xx\n", "f:1:4: the tag !!binary"},
      {"a: !custom 1\n", "f:1:4: the tag !!!custom"},
      {"a: 1\n---\nb: 1\n", "f:2:1: a second document"},
      {"a: \"x\\0\"\n", "f:1:4: a NUL character"},
      {"a: 2024-02-30\n", "f:1:4: '2024-02-30' is read as a date that does not exist"},
      {std::string(1010, 'k') + ": 1\n",
       "f:1:1: a key of 1010 bytes (kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...)"},
      {std::string(5000, 'k') + ": 1\n", "f:1:1: a key of 5000 bytes"},
      {deep, "lists and mappings more than 64 levels deep"},
      {bomb, "grows past 100,000 values"},
      {texts + "]\n", "or 16 MiB"},
  };
  for (const auto& c : cases) {
    const std::string got = read(c.text);
    EXPECT_NE(got.find(c.problem), std::string::npos)
        << c.text.substr(0, 80) << "\n gave " << got << "\n not " << c.problem;
  }
}

TEST(Yaml, SeveralProblemsAtOnce) {
  EXPECT_EQ(read("a: 1\na: 2\nb: !x 1\non: 3\n"),
            "f:2:1: the key 'a' stands twice in this mapping; keep one of them"
            "f:3:4: the tag !!!x has no meaning in a job file; remove it"
            "f:4:1: the key 'on' is read as the boolean on, not as text; put it in quotes");
}

TEST(Yaml, PlacesInsideAText) {
  const std::string text = "a: |\n  x {i}\n  \u00e9 {i} {i}\nb: {i}\n";
  const Place from{1, 4, -1}, to{4, 1, -1};
  const auto at = [&](size_t n) {
    const Place place = find_in(text, from, to, "{i}", n);
    return std::to_string(place.line) + ":" + std::to_string(place.column);
  };
  EXPECT_EQ(at(0), "2:5");
  EXPECT_EQ(at(1), "3:5");
  EXPECT_EQ(at(2), "3:9");
  EXPECT_EQ(at(3), "1:4") << "past the end: the start";
}

TEST(Problem, Nearest) {
  const std::vector<std::string> known = {"command", "environment", "environment_variables", "inputs"};
  EXPECT_EQ(nearest("comand", known), "command");
  EXPECT_EQ(nearest("environmentVariables", known), "environment_variables");
  EXPECT_EQ(nearest("input", known), "inputs");
  EXPECT_EQ(nearest("inptus", known), "inputs");
  EXPECT_EQ(nearest("rnu", {"version", "run"}), "run");
  EXPECT_EQ(nearest("zzz", known), "");
}

TEST(Problem, ShownIsOneCleanLine) {
  EXPECT_EQ(shown("a\nb\x1b"), "a\\nb\\x1b");
  EXPECT_EQ(shown("abcdef", 3), "abc...");
  EXPECT_EQ(shown("ab\u00e9", 3), "ab...");
}

}  // namespace
}  // namespace phalanx::spec
