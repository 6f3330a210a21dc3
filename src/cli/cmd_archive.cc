// phalanx archive: leaves jobs out of `list`, and takes that back.
#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/command.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "job/layout.h"

namespace phalanx::cli {
namespace {

class Archive : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", names_)->required();
    add_exact(app, exact_);
    app.add_flag("--restore", restore_, "Take it back: `list` shows them again");
  }

  int run() override {
    const auto jobs = find_jobs(names_, exact_);  // all names are right, or nothing is done
    if (!jobs) return fail(jobs.error(), static_cast<int>(Exit::failed));
    bool ok = true;
    for (const JobEntry& job : *jobs)
      if (const Status done = mark(job::Layout{job.folder}.archived()); !done) {
        say(job.name + ": " + done.error().reason);
        ok = false;
      }
    return static_cast<int>(ok ? Exit::ok : Exit::failed);
  }

 private:
  Status mark(const std::string& file) const {
    if (!restore_) return write_file(file, "");
    return ::unlink(file.c_str()) == 0 || errno == ENOENT ? Status(Done{}) : Status(errno_error(file));
  }

  std::vector<std::string> names_;
  bool restore_ = false, exact_ = false;
};

}  // namespace

std::unique_ptr<Command> make_archive() { return std::make_unique<Archive>(); }

}  // namespace phalanx::cli
