// prospect.h - what every engine does before a job starts: looks ahead without changing anything, then fills
// the job's folder.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/bindings.h"
#include "engine/engine.h"
#include "engine/environment.h"
#include "engine/interrupts.h"
#include "engine/new_folder.h"
#include "plan/plan.h"
#include "process/arguments.h"

namespace phalanx::engine {

// A job that is about to be: all that can be known without changing anything.
struct Prospect {
  plan::Allocation allocation;
  plan::Plan plan;
  JobEnvironment environment;
  std::vector<std::string> inputs_here;  // names of the inputs that are files or folders of this machine
};

// The name that the job asks for, or a random one. Code::invalid where it cannot be, or there is a job of
// that name.
Result<std::string> choose_name(const spec::JobSpec& spec);

// Where the job's folder will be.
job::Layout layout_of(const Submission& submission, const std::string& name);

// `nodes`: what the engine gives, or hopes for. Code::invalid: the job cannot run so, with the cure; its
// size is that of a job that no machine could start.
Result<Prospect> look_ahead(const Submission& submission, const std::string& name,
                            std::vector<plan::AllocatedNode> nodes, Paths paths = Paths::here);

// Whether the job's commands and variables fit into `most` bytes (process/arguments.h); the error says the
// cure. What only a node adds, as MPI's variables, is not counted: it is small, and that node says the same.
Status check_size(const Prospect& prospect, const process::ArgumentLimits& most);

// The job's code, into its folder. `notes` get what the user might miss in the copy.
Status copy_code(const Submission& submission, const job::Layout& layout, const Interrupts& interrupts,
                 std::vector<std::string>& notes);

// The note that these paths of `what` do not come along; none where there are none.
void note_left_out(const std::string& what, const std::vector<std::string>& paths,
                   std::vector<std::string>& notes);

// Everything in the job folder that is there before the coordinator. An interrupt that waits ends it.
Status fill_folder(const Submission& submission, Prospect& prospect, NewFolder& folder,
                   const Interrupts& interrupts);

// Whatever the submitter's umask: what belongs to the job can be read and written by its owner, who else
// could neither look at it nor remove it. Ranks have it so too.
class OwnersUmask {
 public:
  OwnersUmask() : before_(::umask(0077)) { ::umask(before_ & 0077); }
  ~OwnersUmask() { ::umask(before_); }
  OwnersUmask(const OwnersUmask&) = delete;
  OwnersUmask& operator=(const OwnersUmask&) = delete;

 private:
  mode_t before_;
};

}  // namespace phalanx::engine
