#include "coordinator/first_failure.h"

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace phalanx::coordinator {

namespace {

std::string describe(const Failure& failure) {
  if (!failure.text.empty()) return failure.text;
  const std::string who =
      failure.task > 0 ? "task " + failure.task_name : "rank " + std::to_string(failure.rank);
  return who + " (node " + std::to_string(failure.node) + ", " + failure.host + ") " +
         job::describe_exit(failure.code, failure.signal);
}

}  // namespace

job::Verdict FirstFailure::verdict() const {
  CHECK(any());
  const auto aborted = [&](const Failure& failure) {
    return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& other) {
      return other.called_abort && other.rank == failure.rank;
    });
  };
  const auto first =
      std::min_element(failures_.begin(), failures_.end(), [&](const Failure& a, const Failure& b) {
        return std::pair(aborted(a), a.at) < std::pair(aborted(b), b.at);
      });
  job::Verdict verdict;
  verdict.text = describe(*first);
  std::vector<std::string> said = first->last_lines;
  for (const std::string& more : {first->text, first->reason})
    if (!more.empty()) said.push_back(more);
  verdict.reason = first->reason;
  // What never ran has no code of its own, and is explained as well.
  const auto exit = first->code || first->text.empty() ? first->code : std::optional(first->exit_code);
  verdict.hint = first->hint.empty() ? job::hint_for(exit, first->signal, first->oom, said) : first->hint;
  verdict.exit_code = first->text.empty() ? job::shell_code(first->code, first->signal) : first->exit_code;
  verdict.rank = first->rank;
  verdict.node = first->node;
  verdict.task = first->task;
  verdict.task_name = first->task_name;
  verdict.host = first->host;
  verdict.code = first->code;
  verdict.signal = first->signal;
  verdict.last_lines = first->last_lines;
  for (const Failure& other : failures_)
    if (&other != &*first && other.node != first->node &&
        other.at - first->at <= other.clock_error + first->clock_error &&
        other.clock_error + first->clock_error > 0)
      verdict.tie = true;
  if (verdict.tie)
    verdict.text += std::string(verdict.task > 0 ? " (another task" : " (another rank") +
                    " failed at the same time, as far as the nodes' clocks can tell)";
  return verdict;
}

}  // namespace phalanx::coordinator
