// probe.h - what a machine says of itself when it is asked whether a job would start on it. Pure.
//
// The question is a script for any POSIX shell: where it runs Phalanx may not be yet. It changes nothing but
// one file in the folder, which it takes away again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::engine::check {

struct Question {
  std::string folder;  // that all nodes shall see; "": no such folder is wanted
  std::string home;    // where jobs' folders lie instead: "${PHALANX_HOME:-$HOME/.phalanx}", for the shell
  std::string token;   // what the file .phalanx-check of the folder says, when it is the same folder
  bool leaves_token = false;  // writes that file: the first of those that see a folder which we do not
  std::string interface;      // "": any
};
std::string script(const Question& question);
// Takes the token away.
std::string farewell(const std::string& folder);

struct Facts {
  std::string machine, libc, host,
      python;        // "x86_64", "2.36" ("" for another C library), "/usr/bin/python3 3.11.2"
  double clock = 0;  // seconds since 1970
  int cpus = 0, gpus = 0;
  std::optional<int64_t> memlock_kib;  // nothing: no limit
  int64_t memory_kib = 0;              // in all; 0: not known
  int64_t shm_kib = 0, free_kib = 0;   // of /dev/shm in all; free where jobs' folders lie
  bool sees_folder = true, writes_folder = true, has_interface = true;
  std::vector<std::string> infiniband;
};
// What a login script prints before is passed over. Code::invalid: it did not run to its end.
Result<Facts> parse_facts(std::string_view output);

// The newest GLIBC_2.x that a program asks for, as "2.34"; "" for none.
std::string needed_glibc(std::string_view program);
// Whether a version such as "2.36" is at least another.
bool at_least(std::string_view version, std::string_view other);

}  // namespace phalanx::engine::check
