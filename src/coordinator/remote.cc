// Commands on other nodes for a launcher on the first one (launch: head): what would otherwise be ssh.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "coordinator/coordinator.h"

namespace phalanx::coordinator {

namespace json = boost::json;

// Host files, and the folder of programs by whose names this program acts as ssh (cli/remote_shell.h).
Status Coordinator::make_agents() const {
  TRY(write_file(job_.allocation.attached_file, plan_->hostfile));
  TRY(write_file(job_.allocation.attached_file + ".hydra", plan_->hydra_hostfile));
  TRY(make_folders(plan_->agents));
  const std::string program = TRY(read_link("/proc/self/exe"));
  for (const char* name : {"ssh", "rsh", "pdsh"})
    if (::symlink(program.c_str(), (plan_->agents + "/" + name).c_str()) != 0 && errno != EEXIST)
      return errno_error(plan_->agents);
  return Done{};
}

// -1: no such node, or several.
int Coordinator::node_called(const std::string& name) const {
  int found = -1;
  for (size_t i = 0; i < job_.allocation.nodes.size(); ++i) {
    const plan::AllocatedNode& node = job_.allocation.nodes[i];
    if (node.name == name) return static_cast<int>(i);
    if (node.address != name && node.host != name) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

std::optional<json::object> Coordinator::on_exec(uint64_t client, const json::object& request) {
  const auto text = [&](const char* key) {
    const json::value* value = request.if_contains(key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  const std::string host = text("host");
  const int node = node_called(host);
  const auto refuse = [](const std::string& why) { return json::object{{"ok", false}, {"error", why}}; };
  if (!start_sent_ || stopping_ || finalizing_) return refuse("the job is not running");
  if (node < 0) {
    std::string names;
    for (const plan::AllocatedNode& known : job_.allocation.nodes)
      names += (names.empty() ? "" : ", ") + known.name;
    return refuse(host + " is no node of this job; its nodes are " + names);
  }
  const uint64_t id = ++last_remote_;
  remotes_[id] = {client, static_cast<size_t>(node)};
  send(nodes_[static_cast<size_t>(node)], wire::to_json(wire::Exec{id, text("command")}));
  return std::nullopt;  // the answers come from the node
}

void Coordinator::on_more(uint64_t client, const json::object& request) {
  const json::value* bytes = request.if_contains("bytes");
  if (!bytes || !bytes->is_int64() || bytes->get_int64() < 0) return;
  for (const auto& [id, remote] : remotes_)
    if (remote.client == client)
      send(nodes_[remote.node], wire::to_json(wire::ExecMore{id, static_cast<uint64_t>(bytes->get_int64())}));
}

void Coordinator::client_gone(uint64_t client) {
  for (const auto& [id, remote] : remotes_)
    if (remote.client == client) send(nodes_[remote.node], wire::to_json(wire::ExecHangUp{id}));
}

void Coordinator::on_exec_output(const wire::ExecOutput& output) {
  const auto found = remotes_.find(output.id);
  if (found != remotes_.end())
    control_.send(found->second.client, {{"output", output.data}, {"error", output.error}});
}

void Coordinator::on_exec_ended(const wire::ExecEnded& ended) {
  const auto found = remotes_.find(ended.id);
  if (found == remotes_.end()) return;
  control_.send(found->second.client, {{"exit", ended.code}, {"why", ended.error}});
  remotes_.erase(found);
}

}  // namespace phalanx::coordinator
