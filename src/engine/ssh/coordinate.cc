// The coordinator of a job on the first of its hosts: detached, so that nobody need stay connected.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/files.h"
#include "data/store.h"
#include "engine/new_folder.h"
#include "engine/prospect.h"
#include "engine/remote/conduct.h"
#include "engine/ssh/ssh.h"
#include "job/layout.h"
#include "job/submitted.h"
#include "job/task_names.h"
#include "machine/machine.h"
#include "process/isolation.h"

namespace phalanx::engine::ssh {

namespace {

// All of it, so that it is sent at once. What is damaged is missing from then on.
void find_damage(data::Store& store, const remote::Order& order) {
  for (const data::Parcel& parcel : order.parcels)
    if (const auto tree = store.tree(parcel.tree))
      for (const data::ChunkRef& ref : tree->chunks) (void)store.content(ref);
}

// What the job needs, from this machine's store, which has been told to have it.
Status give_parcels(const remote::Order& order, const NewFolder& folder) {
  if (order.parcels.empty()) return Done{};
  data::Store store = TRY(data::Store::open(job::store_folder()));
  for (const data::Parcel& parcel : order.parcels) {
    const data::Tree tree = TRY(store.tree(parcel.tree));
    const Status given = parcel.in_place ? data::give_in_place(store, tree, parcel.folder)
                                         : data::give(store, tree, folder.place_of(parcel.folder), false);
    if (!given && given.error().code == Code::not_found) find_damage(store, order);
    TRY(given);
  }
  return Done{};
}

// As long as the job lives.
std::vector<UniqueFd> hold_inputs(const remote::Order& order) {
  std::vector<UniqueFd> held;
  const auto store = data::Store::open(job::store_folder());
  for (const data::Parcel& parcel : order.parcels)
    if (parcel.in_place && store)
      if (auto one = store->hold_input(parcel.tree)) held.push_back(*std::move(one));
  return held;
}

// The job's folder, whole, as the local engine makes it.
Result<NewFolder> make_folder(const remote::Order& order) {
  const job::Layout layout{order.allocation.folder};
  if (exists(layout.folder)) return taken(layout);
  NewFolder folder = TRY(NewFolder::make(layout));
  TRY(make_folders(folder.layout().user_logs()));
  TRY(make_folders(folder.layout().system_logs()));
  if (!order.job_text.empty()) TRY(write_file(folder.layout().job_file(order.job_text), order.job_text));
  TRY(job::keep_spec(order.spec, folder.layout(), !order.job_text.empty()));
  for (const auto& [name, path] : order.allocation.outputs) TRY(make_folders(folder.place_of(path), 0755));
  TRY(give_parcels(order, folder));
  job::Event first;
  first.time = order.submitted;
  first.kind = "submitted";
  first.data = job::submitted(order.allocation.job, machine::host_name(), order.allocation.nodes.size(),
                              order.world, order.spec.tasks.size(), order.foreground);
  TRY(folder.events().append(std::move(first)));
  if (!order.parcels.empty()) {
    job::Event sent;
    sent.kind = "sent";
    sent.data = {{"to", machine::host_name()}, {"bytes", order.sent}, {"kept", order.kept}};
    TRY(folder.events().append(std::move(sent)));
  }
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
    const std::vector<UniqueFd> held = order.parcels.empty() ? std::vector<UniqueFd>() : hold_inputs(order);
    const bool uses_store = !order.parcels.empty();
    const int code = remote::conduct(std::move(order), std::move(folder.events()), std::move(nodes),
                                     {"the system", UniqueFd()});
    if (uses_store) data::clean_up(job::store_folder());
    return code;
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
  return done ? 0 : done.error().code == Code::not_found ? kLacksData : 1;
}

}  // namespace phalanx::engine::ssh
