// slots.h - this machine's CPUs and GPUs as slots that jobs of all users hold, and the queue before them.
//
// There is no daemon: a slot is a file, held by an open-file-description lock, and the kernel frees it at the
// death of the last process that has the descriptor (the coordinator and the guards of a job do). Waiting and
// running jobs have a ticket each, a locked file too, that says who wants what. OFD locks and not flock: a
// reader can ask whether one is held without taking it, so that looking at the queue never disturbs it.
//
//   $PHALANX_LOCKS, else /run/lock/phalanx, else /tmp/phalanx-locks   (1777)
//   +- cpu-0 ... gpu-0 ...          0666, empty; locked = held
//   +- tickets/UID-PID-N            0644, JSON; unlocked = left by the dead, ignored
//
// Order: priority, then the user who holds fewer slots, then age; only the first in the queue takes slots, so
// that a large job is not starved by small ones, nor one user by another's many.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::machine {

struct SlotRequest {
  std::string job;
  std::string home;  // where its jobs lie: who has another cannot find this one by its name
  int priority = 0;  // higher first
  int cpus = 1;      // how many of `allowed_cpus`
  std::vector<int> allowed_cpus;
  int gpus = 0;  // how many of `allowed_gpus`
  std::vector<int> allowed_gpus;
};

struct Slots {
  std::vector<int> cpus, gpus;
  std::vector<UniqueFd> locks;  // the slots are held while any copy of these lives
  // Frees them now, whoever else has copies: only for when nothing of the job lives any more.
  void unlock();
};

struct Standing {
  int wanted = 0, free = 0;
  // Jobs that are before us or hold what we need: "name", "name (pid 7, jobs in HOME)" of another home, or
  // "name of user (pid 7)".
  std::vector<std::string> ahead;
};

class SlotQueue {
 public:
  // Takes a ticket. Code::denied or unavailable when no lock folder can be had.
  static Result<SlotQueue> join(const SlotRequest& request);
  SlotQueue(SlotQueue&&) = default;

  // The slots, when it is our turn and they are free; else nothing, and standing() says why.
  Result<std::optional<Slots>> try_take();
  const Standing& standing() const { return standing_; }

  // Begins to look for changes; try again after it. The descriptor is readable when that is worth while;
  // drain() it then. Try each second too: the last closing of a lock comes after its notice.
  Result<int> watch();
  void drain();

  int ticket_fd() const { return ticket_.get(); }  // keep with the slots
  void leave();                                    // removes the ticket; its lock goes with the descriptor

 private:
  struct Ticket;
  SlotQueue(SlotRequest request, std::string folder)
      : request_(std::move(request)), folder_(std::move(folder)) {}
  Result<bool> make_ticket();
  Status write_ticket(int holds);
  std::string described(const Ticket& ticket) const;
  std::vector<Ticket> read_tickets() const;
  int count_free(const char* kind, const std::vector<int>& ids, int most) const;
  std::vector<UniqueFd> lock_some(const char* kind, const std::vector<int>& ids, int count,
                                  std::vector<int>& got) const;

  SlotRequest request_;
  std::string folder_, ticket_path_;
  UniqueFd ticket_, notice_;
  long long since_ns_ = 0;
  Standing standing_;
};

}  // namespace phalanx::machine
