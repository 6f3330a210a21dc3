#include <chrono>

#include "engine/check/checker.h"
#include "engine/ssh/connection.h"

namespace phalanx::engine::check {

Result<Report> Checker::ssh() {
  const ssh::Connection connection(compute_);
  std::vector<size_t> others;
  for (const spec::Host& host : compute_.hosts) {
    if (!report_.nodes.empty()) others.push_back(report_.nodes.size());
    report_.nodes.push_back({host.name, true, {}, true});
  }
  const auto words = [&](const std::string& host, const std::string& text) {
    return connection.question(host, "sh -s", text);
  };
  const auto failure = [&](NodeReport& node, const process::Answer& answer) {
    constexpr int kSshItself = 255;
    if (answer.code == kSshItself && ssh::no_such_host(answer.errors))
      return fail(node, "there is no machine of that name",
                  "correct `hosts` of " + compute_.name + ", or name it in /etc/hosts or ~/.ssh/config");
    std::string text = answer.code == kSshItself
                           ? ssh::explain(node.name, answer.errors)
                           : "its shell does not run a command: " + last_line(answer.errors);
    if (text.starts_with(node.name + ": ")) text.erase(0, node.name.size() + 2);
    fail(node, text);
  };
  Question first = question_;
  first.leaves_token = true;
  ask({0}, first, words, failure);
  if (!report_.nodes[0].facts && !question_.folder.empty())
    question_.folder.clear();  // nothing to compare with
  ask(others, question_, words, failure);
  if (!question_.folder.empty())
    (void)process::gather({{connection.words(compute_.hosts[0].name, farewell(question_.folder)), "", ""}},
                          environment_, std::chrono::seconds(30));
  return finish();
}

}  // namespace phalanx::engine::check
