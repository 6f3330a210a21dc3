// private_folder.h - a job's folder on a machine that does not see the coordinator's: its logs go there while
// the job runs, what it leaves when it has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "data/source.h"
#include "net/channels.h"
#include "node/mirror.h"

namespace phalanx::node {

class PrivateFolder {
 public:
  PrivateFolder(Loop& loop, net::Channels& channels, std::string folder, int node)
      : loop_(loop), channels_(channels), folder_(std::move(folder)), node_(node) {}
  // Makes it, with the folders that ranks expect.
  Status make(const std::vector<std::string>& folders);
  // Nothing runs here any more: the rest of the logs, and outputs. Ends the guard's channel behind them.
  void send_what_is_left();
  void more();  // there may be room on the way

 private:
  void mirror();
  void send_outputs();
  void end(const std::string& trouble);

  Loop& loop_;
  net::Channels& channels_;
  const std::string folder_;
  const int node_;
  std::optional<MirrorSource> mirror_;
  Loop::Timer mirroring_;
  bool sending_ = false, ended_ = false;
  std::optional<data::Source> left_;
  size_t chunk_ = 0;
};

}  // namespace phalanx::node
