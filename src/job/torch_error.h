// torch_error.h - what PyTorch's @record writes into $TORCHELASTIC_ERROR_FILE before a process fails. Pure,
// but for the functions that read a file.
//
//   {"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": "...", "timestamp": "..."}}}
//
// The file is the user's program's: any bytes, or none.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::job {

// The exception and its message in one line, or "" where the text is no such file.
std::string torch_error(std::string_view text);

// The same of a file; "" where it is not there, is no plain file, or is larger than such files are.
std::string read_torch_error(const std::string& path);

// From the output of a torchrun that failed: the first line by which one of its processes said why. Its own
// report, some forty lines without that, comes after. "": there is no such report, or no such line.
std::string torchrun_cause(std::string_view output);

// The same of the end of a log that is open.
std::string read_torchrun_cause(int log);

}  // namespace phalanx::job
