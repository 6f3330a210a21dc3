#include "job/task_names.h"

#include <boost/json.hpp>

#include "base/files.h"
#include "job/outputs.h"
#include "job/state_parts.h"
#include "spec/job_json.h"

namespace phalanx::job {

Status keep_spec(const spec::JobSpec& spec, const Layout& layout, bool has_file) {
  if (spec.tasks.empty() && !has_file) return Done{};
  return write_file(layout.job_json(), boost::json::serialize(spec::to_json(spec)) + "\n");
}

void name_tasks(JobView& view, const Layout& layout) {
  const bool named = !view.tasks.empty() && !view.tasks[0].group.empty();
  const bool of_ranks = view.submitted > 0 && view.tasks.empty();
  if (named || of_ranks) return;
  const auto spec = spec_of(layout);
  if (!spec || spec->tasks.empty()) return;
  make_tasks(view, static_cast<int>(spec->tasks.size()));
  if (view.tasks.size() != spec->tasks.size()) return;  // a folder that hands from outside have mixed up
  if (view.world == 0) view.world = static_cast<int>(view.tasks.size());
  for (size_t i = 0; i < view.tasks.size(); ++i) {
    view.tasks[i].name = spec->tasks[i].name;
    view.tasks[i].group = spec->tasks[i].group;
    view.tasks[i].after = spec->tasks[i].depends_on;
  }
}

}  // namespace phalanx::job
