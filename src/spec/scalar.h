// scalar.h - what a YAML scalar means, as PyYAML's safe_load has it (YAML 1.1), and its Python str().
//
// Pure. Azure ML reads job files with PyYAML and turns values to text with str(), so `yes` is "True", 1.0 is
// "1.0", 0.00001 is "1e-05" and `1e-5` is the text "1e-5". Contract: PyYAML 6 resolver.py and constructor.py;
// the table testdata/scalars.json was made with it (testdata/make_scalars.py). One difference: a value `=` or
// `<<`, which PyYAML cannot construct, is text here.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::spec {

enum class Kind { null, boolean, integer, real, text, timestamp, list, map };

struct Scalar {
  Kind kind = Kind::text;
  std::string text;   // Python's str() of the value; null: ""
  std::string error;  // not empty: PyYAML would raise; says why
};

// A scalar without quotes and without a tag.
Scalar resolve_plain(std::string_view written);

// A scalar read as `kind`, by a tag such as !!int.
Scalar construct(Kind kind, std::string_view written);

// Python's repr() of a float.
std::string python_float(double value);

}  // namespace phalanx::spec
