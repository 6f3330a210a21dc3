// engine.h - where a job runs. An engine gets one node process onto each node and knows no frameworks.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/interrupts.h"
#include "job/state.h"
#include "plan/plan.h"
#include "spec/compute.h"
#include "spec/job_spec.h"

namespace phalanx::engine {

struct Submission {
  spec::JobSpec spec;
  std::string job_text;                  // the file as written; empty for `phalanx launch`
  std::vector<std::string> environment;  // "NAME=value" of the submitter
  std::string directory;                 // `launch`: where ranks run; empty: a copy of the code per node
  int watched_rank = -1;  // whose lines alone are wanted; an error where the job has no such rank
  std::optional<spec::Compute> hosts;  // `--hosts`
  bool all_nodes = false;              // `launch` without -N: all that an allocation of Slurm around us has
  std::string jobs;         // where the engine wants the job's folder; empty: among the jobs of $PHALANX_HOME
  std::string compute;      // `--compute`; empty: what the job file names, or the default
  bool foreground = false;  // the job ends when the submitter does (control connection closed)
  std::function<void(const std::string& line)> say;  // what takes a while, while it does
};

struct Handle {
  std::string name;
  std::string folder;              // absolute
  UniqueFd control;                // a connection to the coordinator; as of connect()
  std::vector<std::string> notes;  // worth a line each to the user before the job starts
};

// Whether the job's inputs are sent to where it will run: whole paths that are not on this machine are of the
// machines there.
bool sends_inputs(const Submission& submission);

// What a job would get and run, without starting anything: `--dry-run`.
struct Preview {
  plan::Plan plan;
  std::string script;  // that a scheduler would be given; "" where there is none
};
Result<Preview> preview(const Submission& submission);

// What the environment that the job names is on this machine, as `submit` would say it. Code::invalid where
// environments.yml is wrong, or what it names is not there. Sources the script of `activate:`.
Result<std::vector<std::string>> environment_notes(const spec::JobSpec& spec,
                                                   const std::vector<std::string>& submitted);

// Makes the job folder, copies the code, starts the coordinator. When it fails nothing is left behind.
// Code::invalid: the job asks for what this machine cannot give; the message says which and the cure.
// `interrupts` are held from the moment something is made. One that comes before the coordinator takes all
// back, and is an error. A later one waits there for the caller, who has the handle by which the job is
// stopped.
Result<Handle> submit(Submission submission, Interrupts& interrupts);

// A job whose coordinator and folder are on another machine: `phalanx WORDS` is to be run there, with our
// standard input and outputs. Nothing: the job is here. Else the exit code; Code::unavailable where it cannot
// be reached, or the connection breaks. SIGINT, SIGTERM and SIGHUP ask `on_signal` (false: leave at once), if
// given; a terminal's Ctrl-C goes there. At the deadline it is left too.
Result<std::optional<int>> run_elsewhere(
    const std::string& job_folder, const std::vector<std::string>& words,
    const std::function<bool(int signal)>& on_signal = {},
    std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

// What `phalanx WORDS` prints there. Nothing: the job, or all that it has left, is here.
Result<std::optional<std::string>> printed_elsewhere(const std::string& job_folder,
                                                     const std::vector<std::string>& words);

// A job as it stands, wherever its folder is and whoever has it. As job::read_job; Code::unavailable where
// the machine that has it cannot be reached, or does not answer within the limit.
Result<job::JobView> view_of(const std::string& job_folder, double patience_seconds = 8,
                             std::chrono::seconds limit = std::chrono::seconds(15));

// Asks for the end of a job whose coordinator does not listen on this machine: by its scheduler.
// Code::unavailable where it has none.
Status cancel_elsewhere(const job::JobView& view, const std::string& job_folder, const std::string& why,
                        bool kill);

// Where a job's folder is: on another machine, or (host "") here, also once it was fetched.
struct Place {
  std::string host, folder;
};
Place place_of(const std::string& job_folder);

// Outputs and logs of an ended job that is on another machine, into its folder here.
Status fetch(const std::string& job_folder);

// To the coordinator of a job on this machine. What it can be asked: job/control.h.
Result<UniqueFd> connect(const std::string& job_folder);

}  // namespace phalanx::engine
