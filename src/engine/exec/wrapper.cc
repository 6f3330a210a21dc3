#include "engine/exec/wrapper.h"

#include <charconv>

#include "engine/ssh/connection.h"

namespace phalanx::engine::exec {

namespace {

constexpr std::string_view kMark = "phalanx-exec ";

// All on one line: the C shells, which may be a user's own, have no quoted line ends.

// Reads frames from us and passes them on, so that it is always waiting for our end, or our leave.
constexpr const char* kWatch =
    R"sh(echo $$; while read -r n; do [ "$n" != - ] || exit 0; echo "$n"; [ "$n" = 0 ] || )sh"
    R"sh(dd bs="$n" count=1 iflag=fullblock 2>/dev/null; done; )sh"
    R"sh(trap "" TERM; kill -TERM 0; sleep 2 </dev/null >/dev/null 2>&1; kill -KILL 0)sh";

// Takes the frames off, and may wait for the command. dd has read a frame whole before it writes, so a
// command that takes no input leaves no half of one.
constexpr const char* kFeed =
    R"(read -r a; echo "$a"; while read -r n; do if [ "$n" = 0 ]; then exec >/dev/null; continue; fi; )"
    R"(dd bs="$n" count=1 iflag=fullblock 2>/dev/null; echo "phalanx-exec taken $n" >&2; done)";

// Leaves when we have heard of the end (the watch has gone then), for ten seconds at most: of a step that
// ends in the middle of its output Slurm loses the rest. The command's parent is a shell for itself: when the
// command kills that (`kill -9 $PPID`), there is still one to tell of it.
constexpr const char* kRun =
    R"sh(trap : TERM INT HUP; sh -c "$W" | sh -c "$F" | { read -r a; trap : TERM INT HUP; )sh"
    R"sh(echo "phalanx-exec begun" >&2; ( trap : TERM INT HUP; ( eval "exec $C" ) 2>&1; exit $? ); c=$?; )sh"
    R"sh(echo "phalanx-exec ended $c" >&2; i=0; )sh"
    R"sh(while kill -0 "$a" 2>/dev/null && [ $i -lt 200 ]; do i=$((i + 1)); sleep 0.05 </dev/null >/dev/null; done; )sh"
    R"sh(kill -KILL "$a" 2>/dev/null; exit "$c"; })sh";

// What an ordinary user has started as root only root can end, so all of it runs as root.
constexpr const char* kAsRoot =
    R"sh(if [ "$(id -u)" = 0 ]; then exec sh -c "$S"; fi; )sh"
    R"sh(if ! command -v sudo >/dev/null; then echo "phalanx-exec sudo-refused" >&2; )sh"
    R"sh(echo "there is no sudo" >&2; exit 1; fi; )sh"
    R"sh(if ! LC_ALL=C sudo -n -- sh -c : </dev/null; then echo "phalanx-exec sudo-refused" >&2; exit 1; fi; )sh"
    R"sh(exec sudo -n -- sh -c "$S")sh";

std::string words_of(const std::vector<std::string>& command) {
  if (command.size() == 1) return "sh -c " + in_shell(command[0]);
  std::string out;
  for (const std::string& word : command) out += (out.empty() ? "" : " ") + in_shell(word);
  return out;
}

}  // namespace

std::string wrapped(const std::vector<std::string>& command, bool sudo) {
  const std::string script = std::string("W=") + in_shell(kWatch) + "; F=" + in_shell(kFeed) +
                             "; C=" + in_shell(words_of(command)) + "; " + kRun;
  return sudo ? "S=" + in_shell(script) + "; " + kAsRoot : script;
}

std::string frame(std::string_view input) { return std::to_string(input.size()) + "\n" + std::string(input); }

std::optional<Told> parse_told(std::string_view line) {
  if (!line.starts_with(kMark)) return {};
  line.remove_prefix(kMark.size());
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (line == "begun") return Told{Told::What::begun, 0};
  if (line == "sudo-refused") return Told{Told::What::sudo_refused, 0};
  const size_t blank = line.find(' ');
  if (blank == line.npos) return {};
  const std::string_view word = line.substr(0, blank), digits = line.substr(blank + 1);
  Told told{word == "taken" ? Told::What::taken : Told::What::ended, 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), told.number);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  if (word != "taken" && (word != "ended" || told.number > 255)) return {};
  return told;
}

}  // namespace phalanx::engine::exec
