// text.h - bytes of a program's output as text that JSON can carry.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::job {

// Every byte that is no part of valid UTF-8 becomes U+FFFD; valid text comes back as it is.
std::string as_utf8(std::string bytes);

// Length of the UTF-8 character at the front of `text`, which is not empty; 0 where it is none (overlong and
// surrogate forms included).
size_t character_length(std::string_view text);

}  // namespace phalanx::job
