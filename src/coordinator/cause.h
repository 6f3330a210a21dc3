// cause.h - hints that take a look at the machine: which file was meant by one that is not there, and which
// Python lacks a module. Of what is elsewhere, cannot be read or is not certain, nothing is said.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/verdict.h"

namespace phalanx::coordinator {

struct Surroundings {
  std::string directory;  // where the failing process was started
  bool has_code = false;  // the job file names a folder of code
  std::string command;    // of the job; empty: not one line
  std::string path;       // the PATH of its processes
};

// "": what the verdict has already is as good.
std::string hint_of_cause(const job::Verdict& verdict, const Surroundings& surroundings);

// The file that a shell or Python says it cannot find; "": it was a command of PATH; nothing where this line
// says no such thing. Pure.
std::optional<std::string> missing_file(const std::string& line);

// The Python that a command names ("python", "/opt/x/bin/python3"), as its words go; "" where it is not
// certain: none, several, or one that the command itself chooses. Pure.
std::string python_of(const std::string& command);

}  // namespace phalanx::coordinator
