#include "engine/slurm/slurm.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "engine/prospect.h"
#include "engine/remote/order.h"
#include "engine/remote/own_program.h"
#include "engine/slurm/queue.h"
#include "engine/slurm/script.h"
#include "job/event.h"
#include "job/layout.h"
#include "job/submitted.h"
#include "machine/machine.h"
#include "process/capture.h"
#include "spec/hostlist.h"
#include "spec/parse.h"

namespace phalanx::engine::slurm {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kSbatchLimit{60};  // it retries for itself while the controller restarts

// What Slurm will give, as far as that can be said: which machines is its choice. Of each node as many GPUs
// are asked for as processes want.
std::vector<plan::AllocatedNode> hoped_for(const spec::JobSpec& spec) {
  std::vector<plan::AllocatedNode> nodes(static_cast<size_t>(spec.resources.instance_count));
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "node-" + std::to_string(i);
    nodes[i].address = "node-" + std::to_string(i);
  }
  const std::vector<std::string> named = spec::named_nodes(spec);
  for (size_t i = 0; i < std::min(named.size(), nodes.size()); ++i)
    nodes[i].name = nodes[i].address = named[i];
  return nodes;
}

std::vector<std::string> environment_for_slurm(const std::vector<std::string>& submitted) {
  std::vector<std::string> lines;
  for (const std::string& line : submitted)
    if (!line.starts_with("SBATCH_")) lines.push_back(line);  // would win over what the script says
  return lines;
}

ScriptParts parts_of(const spec::JobSpec& spec, const std::string& name, std::string folder,
                     std::string program) {
  return {name, std::move(folder), std::move(program), spec.resources.instance_count, 0};
}

Status record(job::EventLog& events, const char* kind, json::object data) {
  job::Event event;
  event.time = wall_clock();
  event.kind = kind;
  event.data = std::move(data);
  return events.append(std::move(event));
}

// The number of the job. sbatch says why not in words that its users know.
Result<std::string> sbatch(const std::string& script, const std::vector<std::string>& environment) {
  auto ran = process::capture({"sbatch", "--parsable", "--export=NONE", script}, environment, kSbatchLimit);
  if (!ran && ran.error().code == Code::not_found)
    return Error{Code::unavailable, "Slurm is not installed here: there is no sbatch on PATH"};
  if (!ran) return std::move(ran).error().context("sbatch");
  std::string said = ran->output;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (ran->code != 0) return Error{Code::invalid, "Slurm refuses the job: " + said};
  const size_t line = said.rfind('\n') == std::string::npos ? 0 : said.rfind('\n') + 1;
  return said.substr(line, said.find(';', line) - line);  // "number;cluster"; warnings come before it
}

remote::Order order_of(Submission& submission, Prospect& prospect, const spec::Compute& compute) {
  remote::Order order;
  order.has_code = !submission.spec.code.empty();
  order.again = compute.requeue || submission.spec.requeue;
  order.spec = std::move(submission.spec);
  order.allocation = std::move(prospect.allocation);
  for (plan::AllocatedNode& node : order.allocation.nodes) node.address.clear();
  order.environment = std::move(prospect.environment.variables);
  order.directory = std::move(submission.directory);
  order.interface = compute.interface;
  order.world = prospect.plan.world;
  order.submitted = wall_clock();
  return order;
}

// Where all nodes see them: the jobs' folders, and this program.
std::string jobs_of(const spec::Compute& compute) {
  return compute.folder.empty() ? job::jobs_folder() : compute.folder + "/jobs";
}

std::string bin_of(const spec::Compute& compute) {  // of this user: all may use the folder
  return compute.folder.empty() ? job::home() + "/bin"
                                : compute.folder + "/bin-" + std::to_string(::geteuid());
}

// Among our own jobs, where `list` and all others look for it.
Status list_among_ours(const job::Layout& layout, const std::string& name) {
  const job::Layout ours = job::Layout::of(name);
  if (ours.folder == layout.folder) return Done{};
  TRY(make_folders(job::jobs_folder()));
  if (::symlink(layout.folder.c_str(), ours.folder.c_str()) != 0) return errno_error(ours.folder);
  return Done{};
}

// `nodes` of a compute are those that a job may have, and --nodelist of sbatch those that it must have:
// unless it takes all of them, the others are excluded.
Result<spec::Compute> within_its_nodes(const spec::JobSpec& spec, spec::Compute compute,
                                       const std::vector<std::string>& environment) {
  if (compute.nodes.empty() || !spec::named_nodes(spec).empty()) return compute;
  std::set<std::string> may;
  for (const std::string& range : compute.nodes)
    for (std::string& node : TRY(spec::expand_hostlist(range))) may.insert(std::move(node));
  const auto wanted = static_cast<size_t>(spec.resources.instance_count);
  if (wanted > may.size())
    return Error{Code::invalid, "the job wants " + std::to_string(wanted) + " nodes, and compute " +
                                    compute.name + " has " + std::to_string(may.size()) + " (its key nodes)"};
  if (wanted == may.size()) return compute;
  std::vector<std::string> others;
  for (const Node& node : TRY(Queue(environment).nodes()))
    if (!may.contains(node.name)) others.push_back(node.name);
  compute.nodes.clear();
  if (!others.empty()) compute.exclude.push_back(spec::fold_hostlist(others));
  return compute;
}

void forget(const job::Layout& layout, const std::string& name) {
  (void)remove_tree(layout.folder);
  (void)remove_tree(job::Layout::of(name).folder);
}

}  // namespace

Result<plan::Plan> preview(const Submission& submission, const spec::Compute&) {
  return TRY(look_ahead(submission, TRY(choose_name(submission.spec)), hoped_for(submission.spec))).plan;
}

std::string preview_script(const Submission& submission, const spec::Compute& compute,
                           const std::string& name) {
  const auto within = within_its_nodes(submission.spec, compute, submission.environment);
  return script(submission.spec, within ? *within : compute,
                parts_of(submission.spec, name, jobs_of(compute) + "/" + name,
                         remote::own_program_path(bin_of(compute))));
}

Result<Handle> submit(Submission submission, const spec::Compute& wanted, Interrupts& interrupts) {
  const std::string name = TRY(choose_name(submission.spec));
  const spec::Compute compute = TRY(within_its_nodes(submission.spec, wanted, submission.environment));
  submission.jobs = jobs_of(compute);
  Prospect prospect = TRY(look_ahead(submission, name, hoped_for(submission.spec)));
  const job::Layout layout = layout_of(submission, name);
  const std::vector<std::string> environment = environment_for_slurm(submission.environment);
  const OwnersUmask umask;
  interrupts.hold();
  const std::string program = TRY(remote::keep_own_program(bin_of(compute)));
  NewFolder folder = TRY(NewFolder::make(layout));
  TRY(fill_folder(submission, prospect, folder, interrupts));
  TRY(make_folders(folder.layout().system_logs()));
  const std::string batch =
      script(submission.spec, compute, parts_of(submission.spec, name, layout.folder, program));
  TRY(write_file(folder.layout().folder + "/sbatch.sh", batch, 0700));
  const std::vector<std::string> notes = prospect.plan.notes;
  const int nodes = submission.spec.resources.instance_count, world = prospect.plan.world;
  const remote::Order order = order_of(submission, prospect, compute);
  TRY(write_file(folder.layout().environment(), json::serialize(remote::to_json(order))));
  json::object first = job::submitted(name, machine::host_name(), static_cast<size_t>(nodes), world,
                                      order.spec.tasks.size(), false);
  first["compute"] = compute.name;
  TRY(record(folder.events(), "submitted", std::move(first)));
  if (interrupts.waiting() != 0) return Error{Code::unavailable, "interrupted"};
  TRY(folder.settle());
  const Status listed = list_among_ours(layout, name);
  const auto id = listed ? sbatch(layout.folder + "/sbatch.sh", environment) : listed.error();
  if (!id) {
    forget(layout, name);
    return id.error();
  }
  TRY(record(folder.events(), "queued", {{"scheduler", "slurm"}, {"id", *id}}));
  return Handle{name, layout.folder, UniqueFd(), notes};
}

}  // namespace phalanx::engine::slurm
