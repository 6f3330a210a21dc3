// engine.h - where a job runs. An engine gets one node process onto each node and knows no frameworks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/interrupts.h"
#include "plan/plan.h"
#include "spec/job_spec.h"

namespace phalanx::engine {

struct Submission {
  spec::JobSpec spec;
  std::string job_text;                  // the file as written; empty for `phalanx launch`
  std::vector<std::string> environment;  // "NAME=value" of the submitter
  std::string directory;                 // `launch`: where ranks run; empty: a copy of the code per node
  int watched_rank = -1;    // whose lines alone are wanted; an error where the job has no such rank
  bool foreground = false;  // the job ends when the submitter does (control connection closed)
};

struct Handle {
  std::string name;
  std::string folder;              // absolute
  UniqueFd control;                // a connection to the coordinator; connect() says what can be asked
  std::vector<std::string> notes;  // worth a line each to the user before the job starts
};

// What a job would get and run here, without starting anything: `--dry-run`.
Result<plan::Plan> preview(const Submission& submission);

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

// Where programs on this machine ask a coordinator for something. One JSON object a line each way:
//   {"do": "cancel", "by": "ann", "why": "cancel" | "interrupt" | "terminate" | "hangup", "kill":
//   false}
//       -> {"ok": true} | {"ok": false, "error": ...}
//   {"do": "exec", "host": "node-1", "command": "..."}    (launch: head; one for each connection, whose end
//   ends it)
//       -> {"output": "...", "error": false} ..., {"exit": 0, "why": ""} | {"ok": false, "error": ...}
//   {"do": "more", "bytes": 4096}    so much of the output was read
Result<UniqueFd> connect(const std::string& job_folder);

}  // namespace phalanx::engine
