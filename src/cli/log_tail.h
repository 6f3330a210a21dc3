// log_tail.h - new bytes of many rank logs, each from where it was left. Few descriptors, however many ranks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "job/layout.h"

namespace phalanx::cli {

// Where the last `lines` lines of a file start.
off_t tail_start(int fd, int lines);

class LogTails {
 public:
  // Logs of one attempt; of tasks the first is number 0 here. `only`: these alone; empty: all. `last` >= 0:
  // of what is there already so many lines of each.
  void start(const job::Layout& layout, int world, int attempt, const std::vector<int>& only, int last = -1,
             bool tasks = false);

  void touch(int rank);                         // its file may have grown
  void touch_file(std::string_view file_name);  // the same, by "std_log_process_3.txt"
  void touch_all();
  bool any_touched() const { return !touched_.empty(); }

  // Reads at most a few hundred KiB of the touched logs; `use(rank, bytes)` for each piece. Logs read to
  // their end are no longer touched.
  template <class Use>
  void read(Use use) {
    std::vector<int> still;
    for (const int rank : std::exchange(touched_, {})) {
      Tail& tail = tails_[static_cast<size_t>(rank)];
      if (const std::string_view bytes = next(rank, tail); !bytes.empty()) {
        use(rank, bytes);
        still.push_back(rank);
      } else {
        tail.touched = false;
      }
    }
    touched_.insert(touched_.end(), still.begin(), still.end());
  }

 private:
  struct Tail {
    UniqueFd fd;
    uint64_t offset = 0;
    bool touched = false, wanted = true;
  };
  std::string_view next(int rank, Tail& tail);
  std::string path_of(int rank) const;

  job::Layout layout_;
  int world_ = 0, attempt_ = 0;
  bool tasks_ = false;
  std::vector<Tail> tails_;
  std::vector<int> touched_;
  int open_ = 0;
  std::string buffer_;
};

}  // namespace phalanx::cli
