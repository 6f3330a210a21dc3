// job_name.h - what a job may be called: Azure ML's rule. Pure.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::spec {

// A name has letters, digits, '-', '_' and '.' (all of ASCII), begins with a letter or digit, and is at most
// 255 bytes. What is wrong with this one and what would be right, to follow the name in a sentence; or "".
std::string wrong_with_name(std::string_view name);

}  // namespace phalanx::spec
