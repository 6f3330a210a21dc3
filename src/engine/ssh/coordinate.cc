// The coordinator of a job on the first of its hosts: detached, so that nobody need stay connected.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/files.h"
#include "engine/new_folder.h"
#include "engine/prospect.h"
#include "engine/remote/conduct.h"
#include "engine/ssh/ssh.h"
#include "job/layout.h"
#include "job/submitted.h"
#include "machine/machine.h"
#include "process/isolation.h"

namespace phalanx::engine::ssh {

namespace {

// The job's folder, whole, as the local engine makes it.
Result<NewFolder> make_folder(const remote::Order& order) {
  const job::Layout layout{order.allocation.folder};
  if (exists(layout.folder)) return taken(layout);
  NewFolder folder = TRY(NewFolder::make(layout));
  TRY(make_folders(folder.layout().user_logs()));
  TRY(make_folders(folder.layout().system_logs()));
  if (!order.job_text.empty()) TRY(write_file(folder.layout().job_file(order.job_text), order.job_text));
  for (const auto& [name, path] : order.allocation.outputs) TRY(make_folders(folder.place_of(path), 0755));
  if (!order.incoming.empty() && ::rename(order.incoming.c_str(), folder.layout().code().c_str()) != 0)
    return errno_error(order.incoming);
  job::Event first;
  first.time = order.submitted;
  first.kind = "submitted";
  first.data = job::submitted(order.allocation.job, machine::host_name(), order.allocation.nodes.size(),
                              order.world, order.spec.tasks.size(), order.foreground);
  TRY(folder.events().append(std::move(first)));
  TRY(folder.settle());
  return folder;
}

Status coordinate_or_why() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  remote::Order order = TRY(remote::read_order(text));
  const OwnersUmask umask;
  auto nodes = std::make_unique<remote::RemoteNodes>(remote::remote_plan(order), nullptr);
  const node::Meeting meeting = TRY(nodes->listen());
  NewFolder folder = TRY(make_folder(order));
  const auto pid = process::fork_child({folder.events().fd(), nodes->listening()}, [&] {
    ::setsid();
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
    return remote::conduct(std::move(order), std::move(folder.events()), std::move(nodes),
                           {"the system", UniqueFd()});
  });
  if (!pid) {
    (void)remove_tree(folder.layout().folder);
    return pid.error();
  }
  std::printf("%s\n", node::to_json(meeting).c_str());
  return Done{};
}

}  // namespace

int coordinate() {
  const Status done = coordinate_or_why();
  if (!done) std::fprintf(stderr, "phalanx: %s\n", done.error().reason.c_str());
  return done ? 0 : 1;
}

}  // namespace phalanx::engine::ssh
