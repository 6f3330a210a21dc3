#include "process/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/files.h"
#include "process/capture.h"
#include "process/isolation.h"

namespace phalanx::process {
namespace {

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/phalanx-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { (void)remove_tree(path); }
};

void write_program(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

int exit_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Spawn, runs_a_program_with_its_output_environment_and_folder) {
  const Folder folder;
  const std::string out = folder.path + "/out";
  const UniqueFd file(::open(out.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  Spawn what;
  what.program = "/bin/sh";
  what.argv = {"sh", "-c", "echo $A; pwd; echo err >&2; exit 7", nullptr};
  what.env = {"A=b c", nullptr};
  what.directory = folder.path.c_str();
  what.output = file.get();
  const Spawned child = spawn(what);
  ASSERT_EQ(child.error, 0);
  EXPECT_EQ(exit_of(child.pid), 7);
  EXPECT_EQ(*read_file(out), "b c\n" + folder.path + "\nerr\n");
}

TEST(Spawn, children_lead_a_group_and_have_no_blocked_signals_and_none_of_our_descriptors) {
  const Folder folder;
  const UniqueFd ours(::open((folder.path + "/ours").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const auto answer = capture(
      {"/bin/sh", "-c", "ps -o pgid= -p $$; echo $$; grep SigBlk /proc/self/status; ls -l /proc/self/fd"},
      {"PATH=/usr/bin:/bin"}, std::chrono::seconds(20));
  ASSERT_TRUE(answer) << answer.error().reason;
  long group = 0, pid = 0;
  unsigned long long blocked = 1;
  ASSERT_EQ(std::sscanf(answer->output.c_str(), "%ld %ld SigBlk: %llx", &group, &pid, &blocked), 3)
      << answer->output;
  EXPECT_EQ(group, pid);
  EXPECT_EQ(blocked, 0u);
  EXPECT_EQ(answer->output.find(folder.path), std::string::npos) << answer->output;
}

TEST(Spawn, says_which_call_failed_and_leaves_no_child) {
  Spawn what;
  what.program = "/nowhere/program";
  what.argv = {"program", nullptr};
  what.env = {nullptr};
  Spawned child = spawn(what);
  EXPECT_EQ(child.error, ENOENT);
  EXPECT_STREQ(child.failed, "execve");
  what.directory = "/nowhere";
  child = spawn(what);
  EXPECT_EQ(child.error, ENOENT);
  EXPECT_STREQ(child.failed, "chdir");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Spawn, a_script_without_an_interpreter_line_is_run_by_the_shell) {
  const Folder folder;
  const std::string script = folder.path + "/script";
  write_program(script, "[ $# = 300 ] && exit $1\n", 0755);
  Spawn what;
  what.program = script;
  what.argv = std::vector<const char*>(301, "5");
  what.argv.push_back(nullptr);
  what.env = {nullptr};
  const Spawned child = spawn(what);
  ASSERT_EQ(child.error, 0);
  EXPECT_EQ(exit_of(child.pid), 5);
}

TEST(Spawner, starts_many_at_once_and_answers_in_order) {
  constexpr int kMany = 100;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::vector<int> answered;
  std::vector<pid_t> pids;
  {
    Spawner spawner(4);
    for (int i = 0; i < kMany; ++i) {
      Spawn what;
      what.program = "/bin/sh";
      what.argv = {"sh", "-c", "echo $NUMBER; exit 7", nullptr};
      what.own = {"NUMBER=" + std::to_string(i)};
      what.env = {what.own[0].c_str(), nullptr};
      what.output = writer.get();
      spawner.begin(std::move(what), [&, i](const Spawned& spawned) {
        EXPECT_EQ(spawned.error, 0);
        answered.push_back(i);
        pids.push_back(spawned.pid);
      });
    }
  }
  writer.reset();
  std::vector<int> in_order(kMany);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(answered, in_order);
  for (const pid_t pid : pids) EXPECT_EQ(exit_of(pid), 7);
  std::string output(4096, '\0');
  const ssize_t n = ::read(reader.get(), output.data(), output.size());  // each line was written at once
  ASSERT_GT(n, 0);
  std::istringstream lines(output.substr(0, static_cast<size_t>(n)));
  std::vector<int> numbers;
  for (int number = 0; lines >> number;) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, in_order);
}

TEST(Spawner, one_that_cannot_start_does_not_harm_the_others) {
  std::vector<Spawned> all;
  Spawner spawner(3);
  for (int i = 0; i < 9; ++i) {
    Spawn what;
    what.program = i % 3 == 1 ? "/nowhere/program" : "/bin/true";
    what.argv = {"program", nullptr};
    what.env = {nullptr};
    spawner.begin(std::move(what), [&](const Spawned& spawned) { all.push_back(spawned); });
  }
  spawner.finish();
  ASSERT_EQ(all.size(), 9u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].error, i % 3 == 1 ? ENOENT : 0);
    if (i % 3 != 1) {
      EXPECT_EQ(exit_of(all[i].pid), 0);
    }
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // what could not start is reaped
}

TEST(Spawner, children_have_the_open_files_limit_that_was_given_and_none_of_our_ignored_signals) {
  const rlimit limit{100, 100};
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignore, &before);
  Spawn what;
  what.program = "/bin/sh";
  what.argv = {"sh", "-c", "[ $(ulimit -n) = 100 ] && grep -q 'SigIgn:.0000000000000000' /proc/self/status",
               nullptr};
  what.env = {"PATH=/usr/bin:/bin", nullptr};
  what.open_files = &limit;
  const Spawned child = spawn(std::move(what));
  ::sigaction(SIGXFSZ, &before, nullptr);
  ASSERT_EQ(child.error, 0);
  EXPECT_EQ(exit_of(child.pid), 0);
}

TEST(FindProgram, follows_path_and_tells_missing_from_not_executable) {
  const Folder folder;
  write_program(folder.path + "/tool", "#!/bin/sh\n", 0755);
  write_program(folder.path + "/data", "x", 0644);
  EXPECT_EQ(*find_program("tool", "/nowhere:" + folder.path, "/"), folder.path + "/tool");
  EXPECT_EQ(*find_program("./tool", "", folder.path), folder.path + "/tool");
  EXPECT_EQ(find_program("nothing", "/bin", "/").error().code, Code::not_found);
  EXPECT_EQ(find_program("./data", "", folder.path).error().code, Code::denied);
  EXPECT_EQ(find_program(folder.path, "", "/").error().code, Code::denied);
  EXPECT_EQ(find_program("", "/bin", "/").error().code, Code::not_found);
}

TEST(WhyNotExecuted, NamesTheInterpreterThatIsNotThere) {
  const Folder folder;
  const std::string script = folder.path + "/x.sh";
  const struct {
    const char *first, *says;
  } cases[] = {
      {"#!/no/such/shell -x\n", "its interpreter /no/such/shell is not there"},
      {"#! /bin/sh\r\n", "its first line ends in CR LF, so its interpreter \"/bin/sh\\r\" is not there"},
      {"#!\n", "its dynamic loader is not there"},
      {"\x7f"
       "ELF",
       "its dynamic loader is not there"},
      {"", "its dynamic loader is not there"},
  };
  for (const auto& c : cases) {
    ASSERT_TRUE(write_file(script, c.first));
    EXPECT_NE(why_not_executed(script, ENOENT).find(c.says), std::string::npos) << c.says;
  }
  EXPECT_EQ(why_not_executed(script, EACCES), script + ": Permission denied");
  EXPECT_EQ(why_not_executed("/none", ENOENT), "/none: No such file or directory");
}

TEST(Capture, kills_what_does_not_end_in_time) {
  const auto answer =
      capture({"/bin/sh", "-c", "sleep 100"}, {"PATH=/usr/bin:/bin"}, std::chrono::milliseconds(50));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::timeout);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Isolation, a_namespace_dies_with_its_root) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  for (const Mode mode : {Mode::pid_namespace, Mode::user_namespace}) {
    const auto root = fork_root(mode, {writer.get()}, [&](const std::string&) {
      for (int i = 0; i < 3; ++i) {  // children in sessions of their own, as daemons are
        if (!fork_child({writer.get()}, [] {
              ::setsid();
              ::pause();
              return 0;
            }))
          return 1;
      }
      (void)write_all(writer.get(), "r");
      ::pause();
      return 0;
    });
    if (!root) {
      EXPECT_EQ(root.error().code, Code::denied);
      continue;  // this system refuses the mode; system tests say which modes they need
    }
    char ready = 0;
    ASSERT_EQ(::read(reader.get(), &ready, 1), 1);
    ::kill(*root, SIGKILL);
    EXPECT_EQ(exit_of(*root), 128 + SIGKILL);
  }
  writer.reset();
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);  // the last copy of the pipe is gone: so are all of them
}

TEST(Isolation, descendants_are_found_and_killed_through_double_forks) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  become_subreaper();
  const auto child = fork_child({writer.get()}, [&] {
    (void)fork_child({writer.get()}, [&] {
      ::setsid();
      (void)fork_child({writer.get()}, [&] {
        (void)write_all(writer.get(), "r");
        ::pause();
        return 0;
      });
      return 0;
    });
    ::pause();
    return 0;
  });
  ASSERT_TRUE(child);
  writer.reset();
  char byte = 0;
  ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
  kill_descendants(::getpid());
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

}  // namespace
}  // namespace phalanx::process
