#include "cli/inner.h"

#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "cli/cancel.h"
#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "engine/nodes.h"
#include "job/event.h"
#include "job/layout.h"

namespace phalanx::cli {

namespace {

// Whether its coordinator lives (asked first: it writes its end before it lets go), and its log.
int print_events(const std::string& name) {
  const job::Layout layout = job::Layout::of(name);
  const bool alive = job::is_locked(layout.events());
  const auto text = read_file(layout.events(), 1u << 30);
  if (!text) return fail(text.error(), static_cast<int>(Exit::failed));
  put((alive ? "alive\n" : "dead\n") + *text);
  return static_cast<int>(Exit::ok);
}

// For a `run` on another machine that was told to end the job.
int stop(const std::string& name, const std::string& why, bool kill) {
  const auto job = find_job(name, true);
  if (!job) return fail(job.error(), static_cast<int>(Exit::failed));
  const auto control = engine::connect(job->folder);
  const Status sent = control ? send_cancel(control->get(), why, kill) : Status(control.error());
  return sent ? static_cast<int>(Exit::ok) : fail(sent.error(), static_cast<int>(Exit::failed));
}

}  // namespace

std::optional<int> inner_command(int argc, char** argv) {
  const auto word = [&](int i) { return i < argc ? std::string_view(argv[i]) : std::string_view(); };
  if (word(1) == "node" && argc == 3) return engine::be_node_of_slurm(argv[2]);
  if (word(1) == "node" && argc == 4) return engine::be_detached_node(std::atoi(argv[3]));
  if (word(1) == "coordinate" && word(2) == "slurm" && argc == 4) return engine::coordinate_in_slurm(argv[3]);
  if (word(1) == "coordinate" && word(2) == "ssh" && argc == 3) return engine::coordinate_for_ssh();
  if (word(1) == "store" && word(2) == "lacks" && argc == 3) return engine::tell_what_is_lacking();
  if (word(1) == "store" && word(2) == "put" && argc == 3) return engine::take_chunks();
  if (word(1) == "store" && word(2) == "give" && argc == 4) return engine::give_left(argv[3]);
  if (word(1) == "attach" && argc == 5) return attach(argv[2], word(3) == "quiet", std::atoi(argv[4]));
  if (word(1) == "await" && argc == 4) return await(argv[2], std::strtod(argv[3], nullptr));
  if (word(1) == "stop" && argc == 5) return stop(argv[2], argv[3], word(4) == "kill");
  if (word(1) == "events" && argc == 3) return print_events(argv[2]);
  return std::nullopt;
}

}  // namespace phalanx::cli
