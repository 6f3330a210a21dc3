#include "engine/new_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/files.h"
#include "job/name.h"

namespace phalanx::engine {
namespace {

constexpr const char* kStart = ".new_";  // of its name meanwhile; a job's name has no '.' at its start

bool is_abandoned(const std::string& folder) {
  constexpr time_t kYoung = 60;  // seconds: the log is locked a moment after the folder is there
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 && ::time(nullptr) - info.st_mtim.tv_sec > kYoung &&
         !job::is_locked(job::Layout{folder}.events());
}

void clear_abandoned(const std::string& jobs) {
  for (const std::string& name : list_folder(jobs).value_or({})) {
    if (name[0] != '.' && name > kStart) return;  // sorted: beyond them
    if (const std::string folder = jobs + "/" + name; name.starts_with(kStart) && is_abandoned(folder))
      (void)remove_tree(folder);
  }
}

Error unusable(const std::string& jobs, Error error) {
  if (jobs == job::jobs_folder())
    error.reason += "; jobs are kept there: PHALANX_HOME names another folder, one that can be written to";
  return error;
}

}  // namespace

Error taken(const job::Layout& job) {
  return {Code::invalid, "there is a job of that name already (" + job.folder + "); choose another name"};
}

Result<NewFolder> NewFolder::make(const job::Layout& job) {
  const std::string jobs = job.folder.substr(0, job.folder.rfind('/'));
  if (const Status made = make_folders(jobs); !made) return unusable(jobs, made.error());
  clear_abandoned(jobs);
  job::Layout layout{jobs + "/" + kStart + job::random_name()};
  if (::mkdir(layout.folder.c_str(), 0700) != 0) return unusable(jobs, errno_error(layout.folder));
  auto events = job::EventLog::open(layout.events());
  if (!events) {
    (void)remove_tree(layout.folder);
    return std::move(events).error();
  }
  return NewFolder(job, std::move(layout), *std::move(events));
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : job_(std::move(other.job_)),
      layout_(std::exchange(other.layout_, {})),
      events_(std::move(other.events_)) {}

NewFolder::~NewFolder() {
  if (!layout_.folder.empty() && layout_.folder != job_.folder) (void)remove_tree(layout_.folder);
}

std::string NewFolder::place_of(const std::string& path) const {
  return path.starts_with(job_.folder + "/") ? layout_.folder + path.substr(job_.folder.size()) : path;
}

Status NewFolder::settle() {
  // Fails on a folder that holds anything, as that of every job does: of two jobs that are given the same
  // name at the same moment one is refused.
  if (::rename(layout_.folder.c_str(), job_.folder.c_str()) != 0)
    return errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR ? taken(job_) : errno_error(job_.folder);
  layout_ = job_;
  return Done{};
}

}  // namespace phalanx::engine
