// layout.h - where everything of a job lies. The only place that knows file names of a job folder.
//
//   $PHALANX_HOME (default ~/.phalanx)                                    0700
//   +- environments.yml            names of environments -> this machine's Pythons
//   +- computes.yml                names of computes -> where jobs can run
//   +- store/                      what has come from other machines, by content (data/store.h)
//   +- jobs/.new_*/                a job folder that is being filled; no job yet
//   +- jobs/NAME/                  one job folder = the truth about one job, readable with cat      0700
//      +- job.yml                  the file as it was submitted (absent for `phalanx launch`); job.xml where
//      |                           it is a job of HPC Pack
//      +- job.json                 the checked JobSpec (spec::to_json)
//      +- plan.json                who runs what (plan::to_json)
//      +- events.jsonl             what happened, one JSON object a line; locked by the living coordinator
//      +- elsewhere.json           instead of all below: the job is on another machine, and which
//      |                           (ssh computes)
//      +- archived                 empty: `list` leaves the job out (`phalanx archive`)
//      +- control                  socket of the coordinator (cancel); gone when it is
//      +- cancel.json              who wants its end, where the coordinator is reached by a signal only
//      |                           (Slurm)
//      +- environment.0600         submitter's environment and secret; deleted at the end
//      +- code/                    snapshot of the user's code
//      +- nodes/0/wd/              working directory of node 0: a copy of code/ (./outputs, ./logs are kept)
//      +- hostfiles/task_N         nodes of a task, for its CCP_MPI_HOSTFILE
//      +- lib/fixed_port.so        what its processes load where a fixed port of theirs is another's
//      +- outputs/NAME/            named outputs
//      +- user_logs/std_log.txt    one process; std_log_process_N.txt (zero-padded) for several;
//      |                           of a job of tasks std_log_task_N.txt, N from 1 (zero-padded);
//      |                           attempt k > 0 in user_logs/retry_00k/
//      |                           beside them metrics_rank_N.jsonl, or metrics_task_N.jsonl: what it has
//      |                           logged
//      +- mlflow/rank_N/           the file store of one process that logs through MLflow (or task_N)
//      +- metrics.json             of a job that ended on another machine: its metrics, once they were asked
//      |                           for
//      +- system_logs/             coordinator.log, node_0.log: Phalanx's own words
#pragma once

#include <string>
#include <string_view>

namespace phalanx::job {

std::string home();  // $PHALANX_HOME or ~/.phalanx
std::string jobs_folder();
std::string store_folder();

struct Layout {
  std::string folder;  // absolute

  static Layout of(const std::string& job_name);

  // Of the file as it was submitted, by what it is.
  std::string job_file(std::string_view text) const;
  std::string job_json() const { return folder + "/job.json"; }
  std::string plan_json() const { return folder + "/plan.json"; }
  std::string events() const { return folder + "/events.jsonl"; }
  std::string elsewhere() const { return folder + "/elsewhere.json"; }
  std::string archived() const { return folder + "/archived"; }  // is there: `list` leaves the job out
  std::string control() const { return folder + "/control"; }
  std::string cancel_request() const { return folder + "/cancel.json"; }
  std::string environment() const { return folder + "/environment.0600"; }
  std::string code() const { return folder + "/code"; }
  std::string working_directory(int node) const { return folder + "/nodes/" + std::to_string(node) + "/wd"; }
  std::string output(const std::string& name) const { return folder + "/outputs/" + name; }
  std::string system_logs() const { return folder + "/system_logs"; }
  std::string user_logs(int attempt = 0) const;
  // Beginning of the names of the files that ranks and tasks log metrics to; `plan` adds "rank_N.jsonl".
  std::string metrics_files(int attempt = 0) const { return user_logs(attempt) + "/metrics_"; }
  std::string mlflow() const { return folder + "/mlflow"; }
  std::string metrics_json() const { return folder + "/metrics.json"; }
  // Of `world` processes in all; Azure ML's names.
  std::string rank_log(int rank, int world, int attempt = 0) const;
  // Of `count` tasks; the first is 1.
  std::string task_log(int task, int count, int attempt = 0) const;
  std::string hostfile(int task) const { return folder + "/hostfiles/task_" + std::to_string(task); }
};

}  // namespace phalanx::job
