// new_folder.h - a job's folder while it is being filled: beside where it will be, under a name that nobody
// takes for a job's. It gets the job's name when all is in it, so a job is seen whole or not at all.
//
// What a killed submission leaves is no job, and the next one clears it away.
#pragma once

#include "base/result.h"
#include "job/event.h"
#include "job/layout.h"

namespace phalanx::engine {

class NewFolder {
 public:
  // `job`: where it will be. The event log is opened here, since its lock says that the folder is in use.
  static Result<NewFolder> make(const job::Layout& job);
  NewFolder(NewFolder&& other) noexcept;
  ~NewFolder();  // removes it, unless it has the job's name by then

  const job::Layout& layout() const { return layout_; }  // where it is now
  std::string place_of(const std::string& path) const;   // where a path of the job is now
  job::EventLog& events() { return events_; }

  // Gives it the job's name. Code::invalid when there is a job of that name.
  Status settle();

 private:
  NewFolder(job::Layout job, job::Layout layout, job::EventLog events)
      : job_(std::move(job)), layout_(std::move(layout)), events_(std::move(events)) {}
  job::Layout job_, layout_;
  job::EventLog events_;
};

Error taken(const job::Layout& job);  // there is a job of that name

}  // namespace phalanx::engine
