// files.h - whole small files, folders, and text helpers for them.
//
// All descriptors are close-on-exec. Errors name the path. Nothing here follows a global umask: modes are
// given.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx {

// The whole of a file of at most `limit` bytes (Code::invalid: longer, or a pipe, which is not waited for).
Result<std::string> read_file(const std::string& path, uint64_t limit = 64u << 20);

// Writes `text` to a temporary file beside `path` and renames it: readers see the old or the new text, never
// half.
Status write_file(const std::string& path, std::string_view text, mode_t mode = 0600);

// Writes all of `text` to `fd`, going on after signals and short writes.
Status write_all(int fd, std::string_view text);

// mkdir -p; folders that exist keep their mode.
Status make_folders(const std::string& path, mode_t mode = 0700);

// rm -r; a missing path is fine. Links are removed, not followed.
Status remove_tree(const std::string& path);

bool exists(const std::string& path);
bool is_folder(const std::string& path);

// Absolute and free of "." and "..", by text alone; relative to the current folder, or to `base` if given.
std::string absolute(const std::string& path, const std::string& base = "");

// open(2) with O_CLOEXEC, and mode for O_CREAT.
Result<UniqueFd> open_file(const std::string& path, int flags, mode_t mode = 0600);

// Opens /dev/null where 0, 1 or 2 is closed: the next file that is opened would be taken for standard input,
// output or error.
void open_standard_descriptors();

// Where a link leads.
Result<std::string> read_link(const std::string& path);

// The names in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);

}  // namespace phalanx
