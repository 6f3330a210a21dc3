#include "engine/nodes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "base/files.h"
#include "engine/slurm/slurm.h"
#include "engine/ssh/sending.h"
#include "engine/ssh/ssh.h"
#include "node/uplink.h"
#include "process/isolation.h"

namespace phalanx::engine {

namespace {

int complain(const std::string& why) {
  std::fprintf(stderr, "phalanx: %s\n", why.c_str());
  return 1;
}

}  // namespace

int be_node_of_slurm(const std::string& meeting_file) {
  const auto text = read_file(meeting_file);
  const auto meeting = text ? node::read_meeting(*text) : Result<node::Meeting>(text.error());
  if (!meeting) return complain(meeting.error().reason);
  const char* place = std::getenv("SLURM_NODEID");
  return node::run_uplink(*meeting, place ? std::atoi(place) : -1, [](const std::string& why) {
    if (!why.empty()) complain(why);
  });
}

int be_detached_node(int place) {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto meeting = node::read_meeting(text);
  if (!meeting) return complain(meeting.error().reason);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return complain("pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const auto pid = process::fork_child({writer.get()}, [&] {
    ::setsid();
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
    return node::run_uplink(*meeting, place, [&](const std::string& why) {
      (void)write_all(writer.get(), why.empty() ? "+" : "-" + why);
      writer.reset();
    });
  });
  writer.reset();
  if (!pid) return complain(pid.error().reason);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = ::read(reader.get(), buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(n));
  if (said == "+") return 0;
  return complain(said.empty() ? "the node ended at once" : said.substr(1));
}

int coordinate_in_slurm(const std::string& folder) { return slurm::coordinate(folder); }

int coordinate_for_ssh() { return ssh::coordinate(); }

int tell_what_is_lacking() { return ssh::tell_what_is_lacking(); }
int take_chunks() { return ssh::take_chunks(); }
int give_left(const std::string& job) { return ssh::give_left(job); }

}  // namespace phalanx::engine
