// xml.h - XML to a tree of elements that know their place.
//
// Inner header of spec; pure. expat reads it, so it is well-formed and in any encoding that expat knows
// (UTF-8 and UTF-16 among them). A DOCTYPE is refused, so there are no entities but XML's own five, and there
// are limits that a job never meets. Every problem goes to the Report with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/problem.h"

namespace phalanx::spec {

inline constexpr size_t kMaxXmlDepth = 32;
inline constexpr size_t kMaxXmlElements = 100'000;

struct Attribute {
  std::string name, value;
  Place place;  // of the value; of its element where the text is not UTF-8
};

struct Element {
  std::string name;  // without its namespace
  Place place;
  std::vector<Attribute> attributes;
  std::vector<Element> children;
  std::string text;  // what stands in it beside its children

  const Attribute* find(std::string_view attribute) const;
  const Element* child(std::string_view name) const;  // the first of that name
};

bool looks_like_xml(std::string_view text);

// The root. Check report.failed().
Element parse_xml(std::string_view text, Report& report);

}  // namespace phalanx::spec
