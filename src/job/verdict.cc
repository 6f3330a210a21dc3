#include "job/verdict.h"

#include <csignal>
#include <cstring>
#include <string_view>

namespace phalanx::job {
namespace {

// A guess is taken from the first row that fits; text from the log says more than a bare signal, so it comes
// first.
struct Hint {
  std::string_view said;  // in one of the last lines; empty: any
  std::string_view also;  // in the same line; empty: any
  int signal;             // 0: any
  int code;               // -1: any
  std::string_view hint;
};
constexpr std::string_view kPort =
    "a fixed port is in use on that node, by another job or by a program left over (`ss -ltnp` names it); "
    "ports such as 29500 are shared by all jobs; the port in MASTER_PORT is held for this one, for one "
    "server";
constexpr std::string_view kNoPmix =
    "Open MPI found no PMIx server, since no libpmix could be used: install one (libpmix2), name its file in "
    "PHALANX_LIBPMIX, or start the program by its own mpirun (launch: head)";
constexpr std::string_view kProcesses =
    "no more processes and threads were allowed: raise `ulimit -u` or the container's limit (pids.max), or "
    "use "
    "fewer processes, threads (OMP_NUM_THREADS) and data loader workers";
constexpr std::string_view kPython =
    "there may be a python3 where there is no python; or activate the environment that has it (`. "
    "VENV/bin/activate`) and submit again";
constexpr std::string_view kInterpreter =
    "name an interpreter that is there in the script's first line, or start the script with one: bash SCRIPT";
constexpr std::string_view kCarriageReturn =
    "the script has the line ends of Windows: `sed -i 's/\\r$//' SCRIPT` takes them out";
constexpr Hint kHints[] = {
    {"CUDA out of memory", "", 0, -1,
     "the GPU's memory was full: use a smaller batch, or fewer processes per GPU; `nvidia-smi` shows who "
     "else is on it"},
    {"torch.OutOfMemoryError", "", 0, -1,
     "the GPU's memory was full: use a smaller batch, or fewer processes per GPU; `nvidia-smi` shows who "
     "else is on it"},
    {"Duplicate GPU detected", "", 0, -1,
     "two ranks of one node chose the same GPU: call "
     "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])), and do not start more processes per node "
     "than it has GPUs"},
    {"Found no NVIDIA driver", "", 0, -1,
     "no GPU can be used on that node: run with its CPUs (gloo as backend), or look at `nvidia-smi`"},
    {"terminate called without an active exception", "", 0, -1,
     "a thread of a library still ran when the process ended. With Gloo: call "
     "torch.distributed.destroy_process_group() at the end, and keep the last work until then "
     "(`last = dist.barrier(async_op=True); last.wait()`)"},
    {"connection to the C10d store has failed", "", 0, -1,
     "the rendezvous was kept by another job on the same port, or by a node that has ended: "
     "--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT is this job's alone"},
    {"EADDRINUSE", "", 0, -1, kPort},
    {"ddress already in use", "", 0, -1, kPort},
    {"ModuleNotFoundError", "", 0, -1,
     "the job's Python does not have that module: it is the one that was active when the job was "
     "submitted, or that environments.yml names. Install the module there (python -m pip install ...), or "
     "activate the environment that has it and submit again"},
    {"Too many open files", "", 0, -1,
     "a process had as many files open as `ulimit -n` allows: raise it (`ulimit -n 65536`, or nofile in "
     "/etc/security/limits.conf), or start fewer processes or data loader workers"},
    {"ork: ", "Resource temporarily unavailable", 0, -1, kProcesses},
    {"clone", "Resource temporarily unavailable", 0, -1, kProcesses},
    {"can't start new thread", "", 0, -1, kProcesses},
    {"can't open file", "No such file", 0, 2,
     "that file is not where the job runs, in a copy of the folder that `code:` names: paths are relative to "
     "it"},
    {"Argument list too long", "", 0, -1,
     "the command or a variable is longer than Linux takes (131,071 bytes each), or all together are: put "
     "what is long into a file"},
    {"environment variable RANK expected", "", 0, -1,
     "torch.distributed reads RANK, which a job with distribution type mpi does not set: use type pytorch "
     "(PyTorchConfiguration), or set it from MPI's variables as docs/frameworks.md shows"},
    {"No space left on device", "", 0, -1,
     "a disk is full: `df -h` shows which (the job folder, /tmp and /dev/shm are the usual ones)"},
    {"unable to mmap", "shared memory", 0, -1,
     "/dev/shm is full: use fewer data loader workers, or make it larger (`df -h /dev/shm`)"},
    {"insufficient shared memory", "", 0, -1,
     "/dev/shm is full: use fewer data loader workers, or make it larger (`df -h /dev/shm`)"},
    {"Watchdog caught collective operation timeout", "", 0, -1,
     "one rank waited for another that never came to the same collective: look for a rank that stopped "
     "earlier, or that took another branch; TORCH_DISTRIBUTED_DEBUG=DETAIL names the collective"},
    {"NCCL", "unhandled system error", 0, -1,
     "NCCL could not talk between GPUs or nodes: run again with NCCL_DEBUG=INFO; NCCL_SOCKET_IFNAME "
     "chooses the network interface"},
    {"ncclInternalError", "", 0, -1, "run again with NCCL_DEBUG=INFO, which says what NCCL tried"},
    {"ncclSystemError", "", 0, -1,
     "NCCL could not talk between GPUs or nodes: run again with NCCL_DEBUG=INFO; NCCL_SOCKET_IFNAME "
     "chooses the network interface"},
    {"ncclRemoteError", "", 0, -1,
     "another rank ended or lost its network first: look at the logs of the other ranks"},
    {"Unreachable in file ext3x_client", "", 0, -1, kNoPmix},
    {"mpi_init:startup:internal-failure", "", 0, -1, kNoPmix},
    {"PMIx_Init failed", "", 0, -1, kNoPmix},
    {"NCCL error", "", 0, -1, "run again with NCCL_DEBUG=INFO, which says what NCCL tried"},
    {"Connection reset by peer", "", 0, -1, "another rank ended first: look at the logs of the other ranks"},
    {"python: not found", "", 0, 127, kPython},
    {"python: command not found", "", 0, 127, kPython},
    {"env: ", "python", 0, 127, kPython},
    {"^M: bad interpreter", "", 0, -1, kCarriageReturn},
    {"\\r", "No such file or directory", 0, 127, kCarriageReturn},
    {"its first line ends in CR LF", "", 0, 126, kCarriageReturn},
    {"bad interpreter", "", 0, -1, kInterpreter},
    {"its interpreter", "is not there", 0, 126, kInterpreter},
    {"is a folder, not a program", "", 0, 126, "name the program in it"},
    {"its dynamic loader", "", 0, 126, "use one that was built for this system, or build it here"},
    {"Permission denied", "", 0, 126,
     "make the file executable (`chmod +x`), or start it with its interpreter"},
    {"", "", SIGKILL, -1,
     "Phalanx did not send this signal: somebody did, or the kernel or a container's limit took the memory "
     "back (`dmesg -T | grep -i oom` says so)"},
    {"", "", SIGBUS, -1,
     "often /dev/shm is full, which data loader workers use: use fewer of them, or make it larger (`df -h "
     "/dev/shm`)"},
    {"", "", SIGSEGV, -1,
     "a crash in native code: PYTHONFAULTHANDLER=1 prints the Python line; libraries built for different "
     "versions of each other are the usual cause"},
    {"", "", SIGABRT, -1,
     "a library gave up: its message stands in the log above; PYTHONFAULTHANDLER=1 prints the Python line"},
    {"", "", SIGILL, -1, "a library was built for another kind of CPU than this node's"},
    {"", "", 0, 126,
     "the command is there but cannot be executed: is it executable (`chmod +x`), for this CPU, and no "
     "folder?"},
    {"", "", 0, 127,
     "the command was not found: check its spelling and PATH; programs of the job's own code need ./ before "
     "them; of a script that is there, the interpreter in its first line is not"},
};
constexpr std::string_view kOutOfMemory =
    "the node ran out of memory and the kernel killed the process: use a smaller batch or fewer data "
    "loader workers, or fewer processes per node";

bool fits(const Hint& hint, std::optional<int> code, std::optional<int> signal, const std::string& line) {
  return (hint.signal == 0 || signal == hint.signal) && (hint.code == -1 || code == hint.code) &&
         line.find(hint.said) != std::string::npos && line.find(hint.also) != std::string::npos;
}

const boost::json::value* find(const boost::json::object& object, std::string_view key) {
  return object.if_contains(key);
}

std::string text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<int> number_of(const boost::json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return static_cast<int>(value->get_int64());
}

}  // namespace

boost::json::object to_json(const Verdict& verdict) {
  boost::json::object object{
      {"text", verdict.text}, {"hint", verdict.hint}, {"exit_code", verdict.exit_code}};
  if (!verdict.reason.empty()) object["reason"] = verdict.reason;
  if (verdict.rank >= 0) object["rank"] = verdict.rank;
  if (verdict.node >= 0) object["node"] = verdict.node;
  if (verdict.task > 0) object["task"] = verdict.task;
  if (!verdict.task_name.empty()) object["task_name"] = verdict.task_name;
  if (!verdict.host.empty()) object["host"] = verdict.host;
  if (verdict.code) object["code"] = *verdict.code;
  if (verdict.signal) object["signal"] = *verdict.signal;
  if (verdict.tie) object["tie"] = true;
  boost::json::array lines;
  for (const std::string& line : verdict.last_lines) lines.emplace_back(line);
  object["last_lines"] = std::move(lines);
  return object;
}

Verdict verdict_from_json(const boost::json::object& object) {
  Verdict verdict;
  verdict.text = text_of(object, "text");
  verdict.reason = text_of(object, "reason");
  verdict.hint = text_of(object, "hint");
  verdict.host = text_of(object, "host");
  verdict.exit_code = number_of(object, "exit_code").value_or(0);
  verdict.rank = number_of(object, "rank").value_or(-1);
  verdict.node = number_of(object, "node").value_or(-1);
  verdict.task = number_of(object, "task").value_or(0);
  verdict.task_name = text_of(object, "task_name");
  verdict.code = number_of(object, "code");
  verdict.signal = number_of(object, "signal");
  const auto* tie = find(object, "tie");
  verdict.tie = tie != nullptr && tie->is_bool() && tie->get_bool();
  const auto* lines = find(object, "last_lines");
  if (lines == nullptr || !lines->is_array()) return verdict;
  for (const auto& line : lines->get_array())
    if (line.is_string()) verdict.last_lines.emplace_back(line.get_string());
  return verdict;
}

int shell_code(std::optional<int> code, std::optional<int> signal) {
  return signal ? 128 + *signal : code.value_or(0);
}

std::string describe_exit(std::optional<int> code, std::optional<int> signal) {
  if (!signal) return "exited with code " + std::to_string(code.value_or(0));
  const char* name = ::sigabbrev_np(*signal);  // no name for real-time signals
  return "was killed by signal " + std::to_string(*signal) + (name ? std::string(" (SIG") + name + ")" : "");
}

std::string hint_for(std::optional<int> code, std::optional<int> signal, bool oom,
                     const std::vector<std::string>& last_lines) {
  if (oom) return std::string(kOutOfMemory);
  if (!signal && code.value_or(0) == 0) return "";
  static const std::string kNothing;
  for (const Hint& hint : kHints) {
    if (hint.said.empty() && fits(hint, code, signal, kNothing)) return std::string(hint.hint);
    if (hint.said.empty()) continue;
    for (const std::string& line : last_lines)
      if (fits(hint, code, signal, line)) return std::string(hint.hint);
  }
  return "";
}

}  // namespace phalanx::job
