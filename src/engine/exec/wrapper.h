// wrapper.h - the script around a command on a node, and what it tells us. Pure.
//
// On the node a command has to get our input, to tell its own exit code from that of what carried it there,
// and to end when we do, however that happens. ssh ends nothing without a terminal, and sees no difference
// between an input that has ended and a caller who has gone. So its standard input is framed ("N\n" and N
// bytes; "0\n" ends the input, "-\n" lets it go when it has ended), and where the frames end, we have gone:
// the script ends its process group, by SIGTERM and two seconds later by SIGKILL. It needs only sh and dd.
// The command's standard error joins its output, in the order of writing; standard error carries our own
// lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::engine::exec {

inline constexpr size_t kMostInFrame = 16384;
// Sent, and not yet taken by the command: what a pipe holds with room to spare, so that the script never
// waits in a place where it would not see that we have gone.
inline constexpr size_t kMostUnacknowledged = 2 * kMostInFrame;

// For /bin/sh -c. One word is a line for the shell; several are a program and its arguments, as they are.
std::string wrapped(const std::vector<std::string>& command, bool sudo);

std::string frame(std::string_view input);  // not empty, at most kMostInFrame
inline constexpr std::string_view kEndOfInput = "0\n";
inline constexpr std::string_view kLeave = "-\n";  // the answer to its end: it may go

// A line of its standard error.
struct Told {
  enum class What { begun, taken, ended, sudo_refused } what;
  size_t number = 0;  // bytes taken, exit code
};
std::optional<Told> parse_told(std::string_view line);

}  // namespace phalanx::engine::exec
