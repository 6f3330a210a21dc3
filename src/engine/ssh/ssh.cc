#include "engine/ssh/ssh.h"

#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include "base/clock.h"
#include "base/files.h"
#include "data/parcel.h"
#include "data/source.h"
#include "engine/prospect.h"
#include "engine/remote/order.h"
#include "engine/remote/own_program.h"
#include "engine/ssh/connection.h"
#include "engine/ssh/elsewhere.h"
#include "engine/ssh/sending.h"
#include "job/layout.h"
#include "job/name.h"
#include "net/digest.h"
#include "node/uplink.h"
#include "process/gather.h"
#include "spec/parse.h"

namespace phalanx::engine::ssh {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kProbeLimit{30}, kUploadLimit{600}, kStartLimit{60};

std::string name_of(const spec::Host& host) { return host.name.substr(host.name.find('@') + 1); }

std::string names_of(const std::vector<spec::Host>& hosts) {
  std::string names;
  for (const spec::Host& host : hosts) names += (names.empty() ? "" : ", ") + name_of(host);
  return names;
}

// As many as the job wants, and among them those that it requires by name.
Result<std::vector<spec::Host>> hosts_for(const spec::JobSpec& spec, const spec::Compute& compute) {
  const auto wanted = static_cast<size_t>(spec.resources.instance_count);
  if (wanted > compute.hosts.size())
    return Error{Code::invalid, "the job wants " + std::to_string(wanted) + " nodes, and compute " +
                                    compute.name + " has " + std::to_string(compute.hosts.size()) + " hosts"};
  std::vector<std::string> named = spec::named_nodes(spec);
  std::vector<bool> chosen(compute.hosts.size(), false);
  for (size_t i = 0; i < compute.hosts.size(); ++i) {
    const auto same = std::find(named.begin(), named.end(), name_of(compute.hosts[i]));
    if (same == named.end()) continue;
    chosen[i] = true;
    named.erase(same);
  }
  if (!named.empty())
    return Error{Code::invalid, "the job requires node " + named.front() + ", and compute " + compute.name +
                                    " has no host of that name; its hosts are " + names_of(compute.hosts)};
  auto left = static_cast<long>(wanted) - std::count(chosen.begin(), chosen.end(), true);
  for (size_t i = 0; i < chosen.size() && left > 0; ++i)
    if (!chosen[i]) chosen[i] = true, --left;
  std::vector<spec::Host> hosts;  // in the order of the compute: the first is node 0
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) hosts.push_back(compute.hosts[i]);
  return hosts;
}

std::vector<plan::AllocatedNode> hoped_for(const std::vector<spec::Host>& hosts) {
  std::vector<plan::AllocatedNode> nodes;
  for (const spec::Host& host : hosts) {
    plan::AllocatedNode node;
    node.name = name_of(host);
    node.address = node.name;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// ---- what the hosts are, and the program on them ---------------------------------------------------

struct Facts {
  std::string machine, libc, home;
  bool has_program = false;
};

struct Program {
  std::string digest;  // SHA-256 of this program
  std::string in(const std::string& home) const { return home + "/bin/phalanx-" + digest.substr(0, 16); }
};

// In sh, whatever shell the user has there.
std::string probe(const Program& program, const std::string& folder) {
  return "home=" + (folder.empty() ? std::string("${PHALANX_HOME:-$HOME/.phalanx}") : in_shell(folder)) +
         "\nuname -m\ngetconf GNU_LIBC_VERSION 2>/dev/null || echo none\necho \"$home\"\ntest -x \"" +
         program.in("$home") + "\" && echo has || echo lacks\n";
}

Result<Facts> read_facts(const std::string& host, const Result<process::Answer>& answer) {
  if (!answer) return Error{answer.error().code, host + ": " + answer.error().reason};
  if (answer->code == 255) return Error{Code::unavailable, explain(host, answer->errors)};
  std::vector<std::string> lines;
  for (size_t at = 0; at < answer->output.size();) {
    const size_t end = std::min(answer->output.find('\n', at), answer->output.size());
    lines.push_back(answer->output.substr(at, end - at));
    at = end + 1;
  }
  if (answer->code != 0 || lines.size() < 4)
    return Error{Code::unavailable,
                 host + ": its shell does not run a command: " + answer->errors.substr(0, 300)};
  lines.erase(lines.begin(), lines.end() - 4);  // a profile may have greeted us first
  return Facts{lines[0], lines[1], lines[2], lines[3] == "has"};
}

// Every host that cannot be used is named, not the first alone.
Result<std::vector<Facts>> look_at(const Connection& ssh, const std::vector<spec::Host>& hosts,
                                   const Program& program, const std::string& folder,
                                   const std::vector<std::string>& environment) {
  std::vector<process::Question> questions;
  questions.reserve(hosts.size());
  for (const spec::Host& host : hosts)
    questions.push_back(ssh.question(host.name, "sh", probe(program, folder)));
  const auto answers = process::gather(questions, environment, kProbeLimit);
  utsname here{};
  ::uname(&here);
  std::vector<Facts> all;
  std::string wrong;
  const auto complain = [&](const std::string& text) { wrong += (wrong.empty() ? "" : "\n  ") + text; };
  for (size_t i = 0; i < hosts.size(); ++i) {
    auto facts = read_facts(hosts[i].name, answers[i]);
    if (!facts)
      complain(facts.error().reason);
    else if (facts->machine != here.machine)
      complain(hosts[i].name + ": is a " + facts->machine + ", and this program is for " + here.machine);
    else
      all.push_back(*std::move(facts));
  }
  if (!wrong.empty()) return Error{Code::unavailable, wrong};
  return all;
}

Status upload_program(const Connection& ssh, const std::vector<spec::Host>& hosts,
                      const std::vector<Facts>& facts, const Program& program,
                      const std::vector<std::string>& environment) {
  std::vector<process::Question> questions;
  std::vector<std::string> names;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (facts[i].has_program) continue;
    const std::string path = program.in(facts[i].home);
    const std::string bin = in_shell(facts[i].home + "/bin");
    const std::string script =
        "umask 077; mkdir -p " + bin + " && new=$(mktemp " + bin +
        "/.new.XXXXXX) && cat > \"$new\" && echo " + program.digest +
        "\"  $new\" | sha256sum --check --quiet && chmod 755 \"$new\" && mv \"$new\" " + in_shell(path) +
        " && " + in_shell(path) + " version || { rm -f \"$new\"; exit 1; }";
    questions.push_back({ssh.words(hosts[i].name, "sh -c " + in_shell(script)), "", "/proc/self/exe"});
    names.push_back(hosts[i].name);
  }
  const auto answers = process::gather(questions, environment, kUploadLimit);
  std::string wrong;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] && answers[i]->code == 0) continue;
    const std::string words = answers[i] ? answers[i]->errors : answers[i].error().reason;
    const bool old = words.find("GLIBC") != std::string::npos;
    wrong += (wrong.empty() ? "" : "\n  ") + names[i] +
             (old ? ": its C library is too old for this program, which was made with glibc " +
                        std::string(::gnu_get_libc_version())
                  : ": the program cannot be put there: " + words.substr(0, 300));
  }
  return wrong.empty() ? Status(Done{}) : Status(Error{Code::unavailable, wrong});
}

// ---- the job ---------------------------------------------------------------------------------------

Result<process::Answer> ask(const Connection& ssh, const std::string& host, process::Question question,
                            const std::vector<std::string>& environment, std::chrono::milliseconds limit) {
  auto answer = std::move(process::gather({std::move(question)}, environment, limit)[0]);
  if (!answer) return Error{answer.error().code, host + ": " + answer.error().reason};
  if (answer->code == 255) return Error{Code::unavailable, explain(host, answer->errors)};
  (void)ssh;
  return answer;
}

// ---- what the job needs of this machine ------------------------------------------------------------

struct Needs {
  std::vector<data::Parcel> parcels;
  std::vector<data::Source> sources;  // of each
};

Status add_need(Needs& needs, data::Parcel parcel, const std::string& path, const Interrupts& interrupts,
                std::vector<std::string>& notes) {
  data::Scan how;
  how.never = job::jobs_folder();
  how.stop = [&] { return interrupts.waiting() != 0; };
  auto source = data::Source::scan(path, how);
  if (!source) return std::move(source).error().context(parcel.what);
  note_left_out(parcel.what, source->left_out(), notes);
  parcel.tree = data::name_of(source->tree());
  parcel.bytes = source->tree().bytes();
  if (parcel.in_place) parcel.folder += "/" + data::hex(parcel.tree);
  needs.parcels.push_back(std::move(parcel));
  needs.sources.push_back(*std::move(source));
  return Done{};
}

// Inputs that are only read are given in place: the store's own copy, for all jobs that read the same.
Status add_inputs(Needs& needs, const spec::JobSpec& spec, Prospect& prospect, const Place& place,
                  std::map<std::string, std::string>& paths, const Interrupts& interrupts) {
  for (const std::string& name : prospect.inputs_here) {
    const std::string path = paths.at(name);
    const std::string& mode = spec.inputs.at(name).mode;
    data::Parcel parcel;
    parcel.what = "input " + name;
    parcel.in_place = mode != "download" && mode != "eval_download";
    parcel.folder = parcel.in_place ? place.home + "/store/inputs"
                                    : place.home + "/jobs/" + prospect.allocation.job + "/inputs/" + name;
    TRY(add_need(needs, std::move(parcel), path, interrupts, prospect.plan.notes));
    const std::string& folder = needs.parcels.back().folder;
    paths[name] = is_folder(path) ? folder : folder + path.substr(path.rfind('/'));
  }
  return Done{};
}

// The coordinator, detached. Where its nodes find it. It writes out the job's files first, which takes as
// long as they are large.
Result<std::string> start_coordinator(const Connection& ssh, const Place& place, const remote::Order& order,
                                      const std::vector<std::string>& environment) {
  constexpr uint64_t kSlowDisk = 10'000'000;  // bytes in a second
  uint64_t bytes = 0;
  for (const data::Parcel& parcel : order.parcels) bytes += parcel.bytes;
  const auto answer = TRY(
      ask(ssh, place.host,
          ssh.question(place.host, place.command("coordinate ssh"), json::serialize(remote::to_json(order))),
          environment, kStartLimit + std::chrono::seconds(bytes / kSlowDisk)));
  if (answer.code != 0)
    return Error{answer.code == kLacksData ? Code::not_found : Code::invalid,
                 place.host + ": " + own_words(answer.errors)};
  return answer.output;
}

void remove_there(const Connection& ssh, const Place& place, const std::string& folder,
                  const std::vector<std::string>& environment) {
  (void)ask(ssh, place.host, ssh.question(place.host, "exec rm -rf " + in_shell(folder)), environment,
            kStartLimit);
}

Status start_nodes(const Connection& ssh, const std::vector<spec::Host>& hosts,
                   const std::vector<Facts>& facts, const Program& program, const std::string& meeting,
                   const std::vector<std::string>& environment) {
  std::vector<process::Question> questions;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const Place place{hosts[i].name, facts[i].home, program.in(facts[i].home)};
    questions.push_back(ssh.question(place.host, place.command("node - " + std::to_string(i)), meeting));
  }
  const auto answers = process::gather(questions, environment, kStartLimit);
  std::string wrong;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] && answers[i]->code == 0) continue;
    wrong += (wrong.empty() ? "" : "\n  ") + (!answers[i] ? hosts[i].name + ": " + answers[i].error().reason
                                              : answers[i]->code == 255
                                                  ? explain(hosts[i].name, answers[i]->errors)
                                                  : hosts[i].name + ": " + own_words(answers[i]->errors));
  }
  return wrong.empty() ? Status(Done{}) : Status(Error{Code::unavailable, wrong});
}

// With a folder that all hosts see inputs are used in place; without one they are sent.
Paths paths_for(const spec::Compute& compute) { return compute.folder.empty() ? Paths::hosts : Paths::here; }

// A store that has been damaged is found out there, and gets once more what it lacks then.
Result<std::string> send_and_start(const Connection& ssh, const Place& place, remote::Order& order,
                                   Needs& needs, const Submission& submission,
                                   const std::vector<std::string>& environment,
                                   const Interrupts& interrupts) {
  for (const bool again : {false, true}) {
    if (!needs.sources.empty()) {
      const SentBytes sent = TRY(send_to(ssh, place, needs.sources, environment, interrupts, submission.say));
      order.sent += sent.bytes;
      order.kept = sent.kept;
    }
    if (interrupts.waiting() != 0) return Error{Code::unavailable, "interrupted"};
    auto meeting = start_coordinator(ssh, place, order, environment);
    if (meeting || again || meeting.error().code != Code::not_found) return meeting;
  }
  return Error{Code::internal, "no coordinator"};
}

Result<Program> own_program() { return Program{TRY(net::sha256_of_file("/proc/self/exe"))}; }

}  // namespace

Result<plan::Plan> preview(const Submission& submission, const spec::Compute& compute) {
  const auto hosts = TRY(hosts_for(submission.spec, compute));
  return TRY(look_ahead(submission, TRY(choose_name(submission.spec)), hoped_for(hosts), paths_for(compute)))
      .plan;
}

Result<Handle> submit(Submission submission, const spec::Compute& compute, Interrupts& interrupts) {
  const std::string name = TRY(choose_name(submission.spec));
  const auto hosts = TRY(hosts_for(submission.spec, compute));
  Prospect prospect = TRY(look_ahead(submission, name, hoped_for(hosts), paths_for(compute)));
  const std::vector<std::string> environment = submission.environment;
  const Connection ssh(compute);
  const Program program = TRY(own_program());
  const auto facts = TRY(look_at(ssh, hosts, program, compute.folder, environment));
  TRY(upload_program(ssh, hosts, facts, program, environment));
  const Place place{hosts[0].name, facts[0].home, program.in(facts[0].home)};

  const OwnersUmask umask;
  interrupts.hold();
  const job::Layout layout = job::Layout::of(name);
  NewFolder folder = TRY(NewFolder::make(layout));
  remote::Order order;
  order.has_code = !submission.spec.code.empty();
  Needs needs;
  if (order.has_code) {
    TRY(copy_code(submission, folder.layout(), interrupts, prospect.plan.notes));
    const std::string code = place.home + "/jobs/" + name + "/code";
    TRY(add_need(needs, {"code", {}, code, false, 0}, folder.layout().code(), interrupts,
                 prospect.plan.notes));
  }
  if (compute.folder.empty())
    TRY(add_inputs(needs, submission.spec, prospect, place, prospect.allocation.inputs, interrupts));
  order.parcels = needs.parcels;
  order.allocation = std::move(prospect.allocation);
  order.allocation.folder = place.home + "/jobs/" + name;
  order.allocation.attached_file = order.allocation.folder + "/hostfile";
  for (auto& [output, path] : order.allocation.outputs)
    if (path.starts_with(layout.folder + "/"))
      path = order.allocation.folder + path.substr(layout.folder.size());
  order.spec = std::move(submission.spec);
  order.environment = std::move(prospect.environment.variables);
  order.job_text = std::move(submission.job_text);
  order.directory = std::move(submission.directory);
  order.interface = compute.interface;
  order.world = prospect.plan.world;
  order.submitted = wall_clock();
  order.foreground = submission.foreground;

  const Elsewhere elsewhere{place.host, ssh.options(), place.home, place.program, compute.name};
  TRY(write_file(folder.layout().elsewhere(), to_json(elsewhere)));
  const auto meeting = send_and_start(ssh, place, order, needs, submission, environment, interrupts);
  if (!meeting) return meeting.error();
  const Status started = start_nodes(ssh, hosts, facts, program, *meeting, environment);
  if (!started) {
    (void)ask(ssh, place.host, ssh.question(place.host, place.command("cancel --kill " + in_shell(name))),
              environment, kStartLimit);
    remove_there(ssh, place, order.allocation.folder, environment);
    return started.error();
  }
  TRY(folder.settle());
  return Handle{name, layout.folder, UniqueFd(), prospect.plan.notes};
}

}  // namespace phalanx::engine::ssh
