// shell.h - words for a POSIX shell.
#pragma once

#include <string>

namespace phalanx {

// One word, whatever is in it: 'it'\''s'.
inline std::string in_shell(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace phalanx
