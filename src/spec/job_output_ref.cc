#include "spec/job_output_ref.h"

namespace phalanx::spec {
namespace {

// Takes the text up to the next '/' off the front of `rest`.
std::string segment(std::string_view& rest) {
  const size_t slash = rest.find('/');
  std::string out(rest.substr(0, slash));
  rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
  return out;
}

}  // namespace

std::optional<JobOutputRef> parse_job_output(std::string_view uri) {
  constexpr std::string_view kPrefix = "azureml://jobs/";
  if (!uri.starts_with(kPrefix)) return {};
  uri.remove_prefix(kPrefix.size());
  JobOutputRef ref;
  ref.name = segment(uri);
  if (segment(uri) != "outputs") return {};
  ref.output = segment(uri);
  if (ref.name.empty() || ref.output.empty()) return {};
  if (uri.empty()) return ref;
  if (segment(uri) != "paths") return {};
  ref.path = uri;
  return ref;
}

}  // namespace phalanx::spec
