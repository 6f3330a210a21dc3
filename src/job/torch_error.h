// torch_error.h - what PyTorch's @record writes into $TORCHELASTIC_ERROR_FILE before a process fails. Pure,
// but for read_torch_error.
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

}  // namespace phalanx::job
