// text.h - bytes of a program's output as text that JSON can carry.
#pragma once

#include <string>

namespace phalanx::job {

// Every byte that is no part of valid UTF-8 becomes U+FFFD; valid text comes back as it is.
std::string as_utf8(std::string bytes);

}  // namespace phalanx::job
