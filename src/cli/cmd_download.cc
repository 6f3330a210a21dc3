// phalanx download: outputs and logs of an ended job, laid out as `az ml job download` does.
#include <filesystem>
#include <map>

#include "base/files.h"
#include "cli/command.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "job/layout.h"
#include "job/outputs.h"
#include "job/snapshot.h"
#include "job/state.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

struct Copy {
  std::string from, to;
};

// The first file of `copy` that is at its target already, or "".
std::string conflict(const Copy& copy) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(copy.from, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error) && !at->is_symlink(error)) continue;
    std::string target = copy.to + at->path().string().substr(copy.from.size());
    if (std::filesystem::exists(std::filesystem::symlink_status(target, error))) return target;
    error.clear();
  }
  return "";
}

class Download : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", name_)->required();
    add_exact(app, exact_);
    app.add_option("-p,--download-path", path_, "Where to; this folder otherwise")->type_name("DIR");
    app.add_option("--output-name", output_name_, "This named output only")->type_name("NAME");
    app.add_flag("--all", all_, "The logs, ./outputs, and all named outputs");
    app.add_flag("--force", force_, "Overwrite files that are there already");
  }

  int run() override {
    const auto found = find_job(name_, exact_);
    if (!found) return fail(found.error(), kFailed);
    const auto view = view_of(found->folder);
    if (!view) return fail(view.error(), kFailed);
    if (!job::is_final(view->state))
      return fail(found->name + " has not ended yet (" + to_text(view->state) + "): its files are in " +
                      found->folder,
                  kFailed);
    if (const Status fetched = engine::fetch(found->folder); !fetched) return fail(fetched.error(), kFailed);
    const auto copies = choose({found->folder});
    if (!copies) return fail(copies.error(), kFailed);
    if (copies->empty()) return fail(found->name + " has left nothing to download", kFailed);
    return copy_all(*copies);
  }

 private:
  static constexpr int kFailed = static_cast<int>(Exit::failed);

  Result<std::vector<Copy>> choose(const job::Layout& layout) const {
    const std::string target = absolute(path_);
    std::vector<Copy> copies;
    const auto add = [&](const std::string& from, const std::string& to) {
      if (is_folder(from)) copies.push_back({from, target + to});
    };
    const std::map<std::string, std::string> outputs = job::named_outputs(layout);
    if (!output_name_.empty()) {
      const std::string folder = TRY(output_called(output_name_, outputs));
      add(folder, "/named-outputs/" + output_name_);
      if (!all_) return copies;
    }
    for (const std::string& node : list_folder(layout.folder + "/nodes").value_or({})) {
      const std::string work = layout.folder + "/nodes/" + node + "/wd",
                        to = node == "0" ? "" : "/node_" + node;
      add(work + "/outputs", "/artifacts" + to + "/outputs");
      add(work + "/logs", "/artifacts" + to + "/logs");
    }
    add(layout.user_logs(), "/artifacts/user_logs");
    add(layout.system_logs(), "/artifacts/system_logs");
    add(layout.mlflow(), "/artifacts/mlflow");
    if (all_)
      for (const auto& [name, folder] : outputs)
        if (name != output_name_) add(folder, "/named-outputs/" + name);
    return copies;
  }

  static Result<std::string> output_called(const std::string& name,
                                           const std::map<std::string, std::string>& outputs) {
    std::vector<std::string> names;
    names.reserve(outputs.size());
    for (const auto& [known, folder] : outputs) names.push_back(known);
    const auto found = outputs.find(name);
    if (found == outputs.end())
      return Error{Code::not_found,
                   "there is no output " + spec::shown(name) +
                       (names.empty() ? ": the job has none" : "; there are: " + spec::join(names))};
    if (!is_folder(found->second))
      return Error{Code::not_found,
                   "output " + name + " lies in " + found->second + ", which is no folder (any more)"};
    return found->second;
  }

  int copy_all(const std::vector<Copy>& copies) const {
    if (!force_)
      for (const Copy& copy : copies)
        if (const std::string there = conflict(copy); !there.empty())
          return fail(
              there + " is there already: nothing was copied; --force overwrites, -p chooses another folder",
              kFailed);
    for (const Copy& copy : copies) {
      if (const Status made = make_folders(copy.to, 0777); !made) return fail(made.error(), kFailed);
      if (const Status copied = job::copy_folder(copy.from, copy.to); !copied)
        return fail(copied.error(), kFailed);
      put(copy.to + "\n");
    }
    return static_cast<int>(Exit::ok);
  }

  std::string name_, path_ = ".", output_name_;
  bool exact_ = false;
  bool all_ = false, force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_download() { return std::make_unique<Download>(); }

}  // namespace phalanx::cli
