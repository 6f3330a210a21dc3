// rank_log.h - the pipe that carries stdout and stderr of one rank, and the file it flows into.
//
// Bytes go from pipe to file by splice(2), so they are copied once and never enter this process. The file is
// not opened with O_APPEND, which splice refuses; its offset is shared with the guard's copy of the
// descriptor, which can therefore go on where the supervisor stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::node {

struct LogGap {  // bytes that could not be written
  uint64_t offset = 0, bytes = 0;
  std::string reason;
};

class RankLog {
 public:
  static Result<RankLog> open(const std::string& path);
  // Takes over both ends that another process had opened.
  static RankLog adopt(UniqueFd pipe, UniqueFd file);

  enum class State { more, empty, ended };  // more may wait; empty for now; all writers are gone
  // Moves what is in the pipe, at most `most` bytes. Never blocks on the pipe; a full disk is no error: bytes
  // are drained and counted as a gap.
  State drain(uint64_t most = 4u << 20);
  void drain_all();  // until empty or ended, or 64 MiB have come

  int pipe() const { return pipe_.get(); }
  int file() const { return file_.get(); }
  int writer() const { return writer_.get(); }
  void close_writer() { writer_.reset(); }
  void close();  // nothing more comes: its descriptors are given back
  bool ended() const { return ended_; }

  // A gap that has come to an end (bytes can be written again, or the pipe ended), once.
  std::optional<LogGap> take_gap();

  std::vector<std::string> last_lines(size_t most_lines = 20, size_t most_bytes = 8192) const;

 private:
  long move(uint64_t most);
  long copy(uint64_t most);
  long discard(uint64_t most, int reason);

  UniqueFd pipe_, writer_, file_;
  bool can_splice_ = true, ended_ = false, enlarged_ = false;
  std::optional<LogGap> gap_, closed_gap_;
};

}  // namespace phalanx::node
