// log.h - Phalanx's own words about one process of it, one line each: "2026-01-31T12:00:00.123 what happened
// key=value". Lower case, no period. An object and not a global: each process opens its own. A log that
// cannot be written is no error.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace phalanx {

class Log {
 public:
  Log() = default;  // says nothing
  explicit Log(std::string path) : path_(std::move(path)) {}
  void say(const std::string& text);  // the first makes the file, and its folder

 private:
  std::string path_;
  UniqueFd fd_;
};

}  // namespace phalanx
