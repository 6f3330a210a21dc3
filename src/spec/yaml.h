// yaml.h - text to a tree of nodes that know their place.
//
// Reads what PyYAML's safe_load reads (libyaml is the same scanner): YAML 1.1 scalars, anchors, aliases,
// merge keys, and JSON, which is nearly all YAML. Stricter than PyYAML: keys are text, a key stands once, one
// document, and limits that a job file never meets. Plain values; one thread; every problem goes to the
// Report with its place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "spec/problem.h"
#include "spec/scalar.h"

namespace phalanx::spec {

inline constexpr size_t kMaxYamlBytes = 4u << 20;  // a job file is some kilobytes
inline constexpr size_t kMaxYamlDepth = 64;        // the tree is walked by recursion
inline constexpr size_t kMaxYamlNodes = 100'000;   // after aliases: a small text can stand for a huge tree
inline constexpr size_t kMaxYamlText = 16u << 20;  // bytes of scalars after aliases, for the same reason
inline constexpr size_t kMaxYamlKey = 1000;        // libyaml itself ends at 1,024

struct Entry;

struct Node {
  Kind kind = Kind::null;
  Place place, end;
  std::string text;     // scalars: Python's str() of the value; null: ""
  std::string written;  // scalars that are not text: as in the file
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order of the file, merged ones first

  bool is_scalar() const { return kind != Kind::list && kind != Kind::map; }
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
  const Entry* entry(std::string_view key) const;
};

struct Entry {
  std::string key;
  Place place;
  Node value;
};

// What a node is, for people: "the number 2.5", "a list", "the boolean no".
std::string described(const Node& node);

// The tree of `text`. Check report.failed(): where it failed, the tree is what could be read.
Node parse_yaml(std::string_view text, Report& report);

// Where `needle` stands for the n-th time (from 0) between two places of a text; `from` if it is not found.
Place find_in(std::string_view text, const Place& from, const Place& to, std::string_view needle, size_t n);

}  // namespace phalanx::spec
