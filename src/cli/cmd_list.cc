// phalanx list: jobs, newest first.
#include <algorithm>
#include <ctime>

#include "cli/command.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "job/iso_time.h"
#include "job/state.h"

namespace phalanx::cli {
namespace {

constexpr int kCommonly = 20;  // a screenful

class List : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_flag("-a,--all", all_, "All jobs, not only the newest 20");
    add_count(app, "-n,--max", most_, 1, "At most so many");
    output_.declare(app);
  }

  int run() override {
    auto all = all_jobs();
    if (!all) return fail(all.error(), static_cast<int>(Exit::failed));
    std::vector<JobEntry>& jobs = *all;
    const size_t found = jobs.size();
    const int most = most_ > 0 ? most_ : all_ ? 1 << 30 : kCommonly;
    if (jobs.size() > static_cast<size_t>(most)) jobs.resize(static_cast<size_t>(most));
    boost::json::array objects;
    std::vector<std::vector<std::string>> rows;
    for (const JobEntry& job : jobs) {
      const auto view = view_of(job.folder);
      if (!view && view.error().code != Code::denied) continue;  // removed meanwhile
      if (!view) {
        objects.push_back({{"name", job.name}, {"state", nullptr}, {"problem", view.error().reason}});
        rows.push_back({job.name, "cannot be read", "-", "-", "-", "-"});
        continue;
      }
      objects.emplace_back(object_of(*view, job));
      rows.push_back(row_of(*view, job));
    }
    print(objects, rows);
    if (output_.format() == Format::table && jobs.size() < found && most_ == 0)
      say(std::to_string(found - jobs.size()) + " older ones: `phalanx list --all`");
    return static_cast<int>(Exit::ok);
  }

 private:
  static boost::json::object object_of(const job::JobView& view, const JobEntry& job) {
    boost::json::object object{{"name", job.name},
                               {"state", to_text(view.state)},
                               {"nodes", view.nodes_wanted},
                               {"world", view.world},
                               {"submitted", time_value(job.submitted)},
                               {"started", time_value(view.started)},
                               {"ended", time_value(view.ended)}};
    const double end = view.ended > 0 ? view.ended : static_cast<double>(::time(nullptr));
    object["seconds"] = view.started > 0 ? boost::json::value(std::max(end - view.started, 0.0)) : nullptr;
    object["exit_code"] = view.exit_code ? boost::json::value(*view.exit_code) : nullptr;
    object["waiting_for"] = view.waiting_for;
    object["folder"] = job.folder;
    return object;
  }

  static boost::json::value time_value(double seconds) {
    const std::string text = job::iso_time(seconds);
    return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
  }

  // For programs: of the columns for people, with times that need no reading.
  static std::vector<std::string> plain_row(const boost::json::object& object) {
    std::vector<std::string> row;
    for (const char* key : {"name", "state", "nodes", "world", "submitted", "seconds", "exit_code"}) {
      const auto* value = object.if_contains(key);
      row.push_back(value != nullptr ? to_cell(*value) : "");
    }
    return row;
  }

  static std::vector<std::string> row_of(const job::JobView& view, const JobEntry& job) {
    const auto now = static_cast<double>(::time(nullptr));
    const double end = view.ended > 0 ? view.ended : now;
    return {job.name,
            state_words(view),
            view.world > 0 ? shape(view) : "-",
            age(job.submitted, now),
            view.started > 0 ? duration(end - view.started) : "-",
            view.exit_code ? std::to_string(*view.exit_code) : "-"};
  }

  void print(const boost::json::array& objects, const std::vector<std::vector<std::string>>& rows) const {
    const Terminal terminal = Terminal::of(1);
    switch (output_.format()) {
      case Format::json:
        return put(to_json_text(objects));
      case Format::yaml:
        return put(to_yaml(objects));
      case Format::tsv: {
        std::vector<std::vector<std::string>> plain;
        for (const auto& object : objects) plain.push_back(plain_row(object.get_object()));
        return put(to_tsv(plain));
      }
      case Format::table:
        break;
    }
    if (rows.empty()) return say("no jobs yet");
    const std::vector<Column> titles{{"NAME", false, true}, {"STATE"},          {"SIZE", false, true},
                                     {"SUBMITTED", true},   {"DURATION", true}, {"EXIT", true}};
    put(to_table(titles, rows, terminal.is_terminal ? terminal.width : 0));
  }

  bool all_ = false;
  int most_ = 0;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace phalanx::cli
