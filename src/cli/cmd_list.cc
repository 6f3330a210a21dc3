// phalanx list: jobs, newest first.
#include <algorithm>
#include <ctime>

#include "base/files.h"
#include "cli/command.h"
#include "cli/harmless.h"
#include "cli/job_metrics.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "job/iso_time.h"
#include "job/layout.h"
#include "job/state.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

constexpr int kCommonly = 20;  // a screenful

class List : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_flag("-a,--all", all_, "All jobs, not only the newest 20, and archived ones too");
    app.add_flag("--archived", archived_, "Those that are archived (`phalanx archive`), and no others");
    add_count(app, "-n,--max", most_, 1, "At most so many");
    metrics_option_ = app.add_option("--metrics", list_,
                                     "Also the last values of these metrics: loss,acc; "
                                     "without a LIST those of the first three there are")
                          ->type_name("[LIST]")
                          ->expected(0, 1);
    output_.declare(app);
  }

  int run() override {
    if (!read_list())
      return fail("--metrics " + spec::shown(list_) + " names nothing between two commas",
                  static_cast<int>(Exit::usage));
    auto all = all_jobs();
    if (!all) return fail(all.error(), static_cast<int>(Exit::failed));
    std::vector<JobEntry>& jobs = *all;
    const size_t left_out = std::erase_if(jobs, [this](const JobEntry& job) { return !is_wanted(job); });
    const size_t found = jobs.size();
    const int most = most_ > 0 ? most_ : all_ ? 1 << 30 : kCommonly;
    if (jobs.size() > static_cast<size_t>(most)) jobs.resize(static_cast<size_t>(most));
    boost::json::array objects;
    std::vector<std::vector<std::string>> rows;
    std::vector<Summaries> logged;
    for (const JobEntry& job : jobs) {
      const auto view = view_of(job.folder);
      if (!view && view.error().code != Code::denied) continue;  // removed meanwhile
      if (!view) {
        objects.push_back({{"name", job.name},
                           {"state", nullptr},
                           {"archived", exists(job::Layout{job.folder}.archived())},
                           {"problem", view.error().reason}});
        rows.push_back({job.name, "cannot be read", "-", "-", "-", "-"});
        logged.emplace_back();
        continue;
      }
      objects.emplace_back(object_of(*view, job));
      rows.push_back(row_of(*view, job));
      logged.push_back(metrics_option_->count() > 0 ? summaries_of(*view, job) : Summaries());
    }
    const std::vector<std::string> columns = columns_of(logged);
    for (size_t i = 0; i < rows.size() && metrics_option_->count() > 0; ++i)
      add_metrics(logged[i], columns, objects[i].get_object(), rows[i]);
    const bool archived_are_told = output_.format() == Format::table && left_out > 0 && !archived_;
    if (!rows.empty() || !archived_are_told) print(objects, rows, columns);
    if (output_.format() == Format::table && jobs.size() < found && most_ == 0)
      say(std::to_string(found - jobs.size()) + " older ones: `phalanx list --all`");
    if (archived_are_told) say(std::to_string(left_out) + " archived: `phalanx list --archived`");
    return static_cast<int>(Exit::ok);
  }

 private:
  using Summaries = std::vector<metrics::Summary>;

  bool is_wanted(const JobEntry& job) const {
    return (all_ && !archived_) || exists(job::Layout{job.folder}.archived()) == archived_;
  }

  bool read_list() {
    for (size_t from = 0; !list_.empty() && from <= list_.size();) {
      const size_t end = std::min(list_.find(',', from), list_.size());
      if (end == from) return false;
      wanted_.push_back(list_.substr(from, end - from));
      from = end + 1;
    }
    return true;
  }

  static Summaries summaries_of(const job::JobView& view, const JobEntry& job) {
    const auto logged = metrics_of(view, job.folder);
    return logged ? metrics::summarize(logged->series) : Summaries();
  }

  // Those that were named, else the first that the newest jobs have.
  std::vector<std::string> columns_of(const std::vector<Summaries>& jobs) const {
    constexpr size_t kFirst = 3;
    std::vector<std::string> known;
    for (const Summaries& job : jobs)
      for (const metrics::Summary& one : job)
        if (std::find(known.begin(), known.end(), one.name) == known.end()) known.push_back(one.name);
    for (const std::string& name : wanted_)
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string meant = spec::nearest(name, known);
        say("none of these jobs has logged " + spec::shown(name) +
            (meant.empty() ? "" : "; did you mean " + spec::shown(meant) + "?"));
      }
    if (!wanted_.empty()) return wanted_;
    if (known.size() > kFirst) known.resize(kFirst);
    return known;
  }

  void add_metrics(Summaries all, const std::vector<std::string>& columns, boost::json::object& object,
                   std::vector<std::string>& row) const {
    if (!wanted_.empty())
      std::erase_if(all, [&](const metrics::Summary& one) {
        return std::find(columns.begin(), columns.end(), one.name) == columns.end();
      });
    object["metrics"] = metrics::to_json(all);
    for (const std::string& column : columns) {
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const metrics::Summary& one) { return one.name == column; });
      row.push_back(found == all.end() ? "-" : short_number(found->last));
    }
  }

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
    object["archived"] = exists(job::Layout{job.folder}.archived());
    object["folder"] = job.folder;
    return object;
  }

  static boost::json::value time_value(double seconds) {
    const std::string text = job::iso_time(seconds);
    return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
  }

  // For programs: of the columns for people, with times that need no reading.
  static std::vector<std::string> plain_row(const boost::json::object& object,
                                            const std::vector<std::string>& columns) {
    std::vector<std::string> row;
    for (const char* key : {"name", "state", "nodes", "world", "submitted", "seconds", "exit_code"}) {
      const auto* value = object.if_contains(key);
      row.push_back(value != nullptr ? to_cell(*value) : "");
    }
    for (const std::string& column : columns) {
      const auto* metric = object.at("metrics").get_object().if_contains(column);
      row.push_back(metric != nullptr ? to_cell(metric->get_object().at("last")) : "");
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

  void print(const boost::json::array& objects, const std::vector<std::vector<std::string>>& rows,
             const std::vector<std::string>& columns) const {
    const Terminal terminal = Terminal::of(1);
    switch (output_.format()) {
      case Format::json:
        return put(to_json_text(objects));
      case Format::yaml:
        return put(to_yaml(objects));
      case Format::tsv: {
        std::vector<std::vector<std::string>> plain;
        for (const auto& object : objects) plain.push_back(plain_row(object.get_object(), columns));
        return put(to_tsv(plain));
      }
      case Format::table:
        break;
    }
    if (rows.empty()) return say(archived_ ? "no job is archived" : "no jobs yet");
    std::vector<Column> titles{{"NAME", false, true}, {"STATE"},          {"SIZE", false, true},
                               {"SUBMITTED", true},   {"DURATION", true}, {"EXIT", true}};
    for (const std::string& column : columns) titles.push_back({harmless_word(column), true});
    put(to_table(titles, rows, terminal.is_terminal ? terminal.width : 0));
  }

  bool all_ = false, archived_ = false;
  int most_ = 0;
  std::string list_;
  std::vector<std::string> wanted_;
  const CLI::Option* metrics_option_ = nullptr;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace phalanx::cli
