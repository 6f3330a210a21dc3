#include "job/layout.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "spec/xml.h"

namespace phalanx::job {
namespace {

std::string zero_padded(int number, size_t width) {
  std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

}  // namespace

std::string home() {
  if (const char* set = std::getenv("PHALANX_HOME"); set != nullptr && *set != '\0') return absolute(set);
  const char* user_home = std::getenv("HOME");
  if (user_home != nullptr && *user_home == '/') return absolute(std::string(user_home) + "/.phalanx");
  const passwd* entry = ::getpwuid(::getuid());
  return absolute((entry != nullptr ? std::string(entry->pw_dir) : std::string("/tmp")) + "/.phalanx");
}

std::string jobs_folder() { return home() + "/jobs"; }
std::string store_folder() { return home() + "/store"; }

Layout Layout::of(const std::string& job_name) { return {jobs_folder() + "/" + job_name}; }

std::string Layout::job_file(std::string_view text) const {
  return folder + (spec::looks_like_xml(text) ? "/job.xml" : "/job.yml");
}

std::string Layout::task_log(int task, int count, int attempt) const {
  return user_logs(attempt) + "/std_log_task_" + zero_padded(task, std::to_string(count).size()) + ".txt";
}

std::string Layout::user_logs(int attempt) const {
  const std::string logs = folder + "/user_logs";
  return attempt == 0 ? logs : logs + "/retry_" + zero_padded(attempt, 3);
}

std::string Layout::rank_log(int rank, int world, int attempt) const {
  if (world <= 1) return user_logs(attempt) + "/std_log.txt";
  const size_t width = std::to_string(world - 1).size();
  return user_logs(attempt) + "/std_log_process_" + zero_padded(rank, width) + ".txt";
}

}  // namespace phalanx::job
