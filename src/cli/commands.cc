#include "cli/command.h"

namespace phalanx::cli {
namespace {

constexpr CommandInfo kCommands[] = {
    {"run", "Run", "FILE [options]", "Run a job file and show what its processes print",
     "The job runs on, whatever happens to this terminal: `phalanx logs NAME --follow` looks again.\n"
     "Ctrl-C stops the job, a second Ctrl-C kills it. The exit code is the job's own; 125 when Phalanx "
     "refuses.\n"
     "With -o the job is printed at its end (with --detach at once), alone on standard output: what its\n"
     "processes print goes to standard error.\n"
     "FILE may be -: standard input, with paths relative to this folder.",
     "phalanx run job.yml\n"
     "phalanx run job.yml --set inputs.lr=0.01 --nodes 2 -n 4\n"
     "phalanx run job.yml --detach\n"
     "phalanx run job.yml --dry-run",
     Exit::refused, make_run},
    {"launch", "Run", "[options] [--] COMMAND...", "Start a command on nodes, without a job file",
     "What follows the first word that is no option is the command. It runs in this folder, with this\n"
     "environment, and the variables that torchrun would set (RANK, WORLD_SIZE, MASTER_ADDR, ...). Without\n"
     "--detach it ends when this program does. The exit code is the job's own; 125 when Phalanx refuses.",
     "phalanx launch -n 8 python train.py --lr 0.01\n"
     "phalanx launch -N 2 -n 4 -- python -m trainer\n"
     "phalanx launch -n 2 --env OMP_NUM_THREADS=1 ./program\n"
     "phalanx launch --hosts a:4,b:4 -- python train.py",
     Exit::refused, make_launch},
    {"exec", "Run", "[options] [--] COMMAND...",
     "Run a command on all nodes of a compute, outside of any job",
     "One word is a line for the shell (sh) there; several are a program and its arguments, as they are. "
     "Standard\n"
     "input goes to all nodes; what the command prints on standard error comes with its output.\n"
     "The exit code is the highest of all nodes: the command's own, 124 where the time limit stopped it, "
     "125\n"
     "where it did not run. Ctrl-C, or any other end of this program, ends the command on all nodes.",
     "phalanx exec --compute lab -- nvidia-smi -L\n"
     "phalanx exec --compute lab --folded 'df -h / | tail -n 1'\n"
     "phalanx exec --compute cluster --group gpu --timeout 60 --out logs -- dmesg\n"
     "phalanx exec --compute lab --sudo -- apt-get install -y python3-venv",
     Exit::refused, make_exec},
    {"python", "Run", "SCRIPT [ARGS...]", "Run a Python script that submits jobs to Azure ML, here instead",
     "What it imports of azure.ai.ml and azureml.core is the package phalanx, and nothing else changes.\n"
     "The Python is $PHALANX_PYTHON, or python3 in PATH; the package has to be installed there:\n"
     "`PYTHON -m pip install SOURCE_TREE`, the folder with Phalanx's sources.\n"
     "docs/azure-programs.md says what the names in a script mean here.",
     "phalanx python submit.py --epochs 3", Exit::refused, make_python},
    {"list", "Look", "[options]", "List jobs, newest first",
     "Jobs that are archived (`phalanx archive NAME`) are shown by --all and --archived alone.\n"
     "--metrics adds columns with the last value of metrics: of those named, else of the first three there "
     "are.",
     "phalanx list\nphalanx list --all -o json\nphalanx list --metrics loss,acc", Exit::usage, make_list},
    {"show", "Look", "[NAME] [options]", "Show a job: its state, nodes, ranks and why it ended",
     "Without NAME: the latest job. The beginning of a name is enough where it is the only one.",
     "phalanx show\nphalanx show neat_gas -o json", Exit::usage, make_show},
    {"logs", "Look", "[NAME] [options]", "Print what a job's processes printed",
     "Without NAME: the latest job. Prints rank by rank, all of rank 0 first; with --follow lines of all "
     "ranks as they come.",
     "phalanx logs\nphalanx logs neat_gas --rank 3 --tail 50\nphalanx logs neat_gas --task train\n"
     "phalanx logs neat_gas --follow",
     Exit::usage, make_logs},
    {"wait", "Look", "[NAME...] [options]", "Wait until jobs have ended",
     "Without NAME: for the latest job. The exit code is 0 where all of them completed, else that of the "
     "first\n"
     "named one that did not, as `phalanx run` gives it; 124 when the time of --timeout is over, and 125 "
     "where\n"
     "there is no such job. The jobs run on, whatever ends the waiting: Ctrl-C, --timeout, a closed "
     "terminal.",
     "phalanx wait neat_gas && phalanx download neat_gas\n"
     "phalanx wait first second --timeout 3600",
     Exit::refused, make_wait},
    {"metrics", "Look", "[NAME [METRIC...]] [options]", "Plot what a job's processes have logged",
     "Without NAME: the latest job. What counts is what they write with phalanx.log(loss=0.5), azureml's\n"
     "Run.get_context().log, with MLflow, or as lines into the file $PHALANX_METRICS: docs/environment.md.\n"
     "Without METRIC: the first six in the terminal, all of them elsewhere. -o table is the values in short.",
     "phalanx metrics\nphalanx metrics neat_gas loss --rank 0\nphalanx metrics neat_gas --png loss.png\n"
     "phalanx metrics neat_gas -o tsv",
     Exit::usage, make_metrics},
    {"nodes", "Look", "[--compute NAME] [options]", "Show the machines of a compute and what runs on them",
     "Without --compute: of the one where jobs run that name none.",
     "phalanx nodes\nphalanx nodes --compute cluster -o json", Exit::usage, make_nodes},
    {"compute", "Look", "list|show|check [NAME] [options]",
     "Show where jobs can run, and check that they would",
     "Computes are described in ~/.phalanx/computes.yml and ./phalanx.yml: docs/clusters.md.\n"
     "`check` asks every machine of it and names what would keep a job from starting, with the cure; exit "
     "code 1 "
     "then.",
     "phalanx compute list\nphalanx compute show cluster -o yaml\nphalanx compute check cluster", Exit::usage,
     make_compute},
    {"cluster", "Act", "up|status|down FILE [options]", "Make a Slurm cluster of hosts that answer ssh",
     "FILE names the head, the nodes and the shared folder: docs/clusters.md. `up` installs and configures "
     "what is\n"
     "missing, and a second `up` changes nothing; `down` stops it and takes that back, and keeps the shared "
     "folder's\n"
     "content.",
     "phalanx cluster up cluster.yml --dry-run\nphalanx cluster up cluster.yml\nphalanx cluster status "
     "cluster.yml",
     Exit::usage, make_cluster},
    {"cancel", "Act", "NAME... [options]", "Stop jobs",
     "Processes get SIGTERM, and after the job's stop_grace SIGKILL. Waits until they are gone.\n"
     "A job that has ended already is no error.",
     "phalanx cancel neat_gas\nphalanx cancel neat_gas --kill", Exit::usage, make_cancel},
    {"archive", "Act", "NAME... [options]", "Leave jobs out of `list`, or take that back",
     "Nothing of them is changed or deleted, and all other commands know them as before.",
     "phalanx archive neat_gas\nphalanx archive --restore neat_gas", Exit::usage, make_archive},
    {"download", "Act", "NAME [options]", "Copy outputs and logs of an ended job, laid out as Azure ML does",
     "DIR/artifacts/ gets ./outputs and ./logs of the working directory and the logs of the processes,\n"
     "DIR/named-outputs/NAME/ a named output. Nothing is overwritten without --force.",
     "phalanx download neat_gas\nphalanx download neat_gas --all -p results\nphalanx download neat_gas "
     "--output-name model",
     Exit::usage, make_download},
    {"validate", "Act", "FILE [options]", "Check a job file without running it",
     "Prints every problem with its line and column. Exit code 1 when there are any.",
     "phalanx validate job.yml\nphalanx validate job.yml --azureml", Exit::usage, make_validate},
    {"completion", "More", "bash|zsh", "Print a script that completes commands in a shell", "",
     "source <(phalanx completion bash)\nphalanx completion zsh > ~/.zfunc/_phalanx", Exit::usage,
     make_completion},
    {"version", "More", "[options]", "Print the version", "", "phalanx version\nphalanx version -o json",
     Exit::usage, make_version},
};

}  // namespace

std::span<const CommandInfo> commands() { return kCommands; }

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo& info : kCommands)
    if (name == info.name) return &info;
  return nullptr;
}

}  // namespace phalanx::cli
