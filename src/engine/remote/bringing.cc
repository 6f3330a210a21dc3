// What goes to and comes from nodes that do not see the job's folder: the code, their logs, and what they
// leave.
#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"
#include "engine/remote/remote_nodes.h"
#include "node/node.h"
#include "process/capture.h"

extern char** environ;

namespace phalanx::engine::remote {

namespace {

std::vector<std::string> own_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; *line; ++line) lines.emplace_back(*line);
  return lines;
}

}  // namespace

void RemoteNodes::on_channel_bytes(size_t place, int channel, std::string_view bytes) {
  Node& node = nodes_[place];
  if (channel < 2 && node.pumps[channel]) node.pumps[channel]->write(bytes);
  if (!node.is_private) return;
  if (channel == node::kLogChannel) on_log(place, bytes);
  if (channel != node::kArchiveChannel) return;
  if (!node.archive) {
    auto file = open_file(left_of(place), O_WRONLY | O_CREAT | O_TRUNC);
    if (file) node.archive = *std::move(file);
  }
  if (node.archive) (void)write_all(node.archive.get(), bytes);
}

// The guard's end is told when all that its node has left is here.
void RemoteNodes::on_channel_end(size_t place, int channel) {
  Node& node = nodes_[place];
  node.ended[channel] = true;
  if (channel == node::kSupervisorChannel && node.pumps[channel]) node.pumps[channel]->end();
  if (channel == node::kArchiveChannel) unpack(place);
  const bool all = node.ended[node::kLogChannel] && node.ended[node::kArchiveChannel];
  if (node.ended[node::kGuardChannel] && (all || !node.is_private) && node.pumps[node::kGuardChannel])
    node.pumps[node::kGuardChannel]->end();
}

void RemoteNodes::on_log(size_t place, std::string_view records) {
  const auto keep = [&](const std::string& file, uint64_t offset, std::string_view bytes) {
    const auto log = open_file(plan_.folder + "/user_logs/" + file, O_WRONLY | O_CREAT);
    if (!log) return;
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n =
          ::pwrite(log->get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n <= 0) return;  // a full disk here: the node has it all
      done += static_cast<size_t>(n);
    }
  };
  if (!nodes_[place].logs.feed(records, keep)) detach(place);
}

std::string RemoteNodes::left_of(size_t place) const {
  return plan_.folder + "/.left_" + std::to_string(place) + ".tar.gz";
}

void RemoteNodes::unpack(size_t place) {
  constexpr std::chrono::seconds kLimit{600};
  if (!nodes_[place].archive) return;
  nodes_[place].archive.reset();
  (void)process::capture({"tar", "-xzf", left_of(place), "-C", plan_.folder}, own_environment(), kLimit);
  ::unlink(left_of(place).c_str());
}

// Packed once, for all that want it.
Status RemoteNodes::pack_code() {
  constexpr std::chrono::seconds kLimit{600};
  if (code_) return Done{};
  const std::string archive = plan_.folder + "/.code.tar.gz";
  const auto packed = TRY(process::capture({"tar", "-C", plan_.folder + "/code", "-czf", archive, "."},
                                           own_environment(), kLimit));
  if (packed.code != 0) return Error{Code::internal, "tar cannot pack the code: " + packed.output};
  code_ = TRY(open_file(archive, O_RDONLY));
  ::unlink(archive.c_str());
  return Done{};
}

// No more at a time than the network takes.
void RemoteNodes::send_code(size_t place, uint64_t offset) {
  constexpr size_t kWindow = 4u << 20, kPiece = 1u << 20;
  constexpr std::chrono::milliseconds kTick{5};
  net::Channels& channels = *nodes_[place].channels;
  while (channels.pending(node::kArchiveChannel) < kWindow) {
    std::string piece(kPiece, '\0');
    const ssize_t n = ::pread(code_.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    if (n <= 0) return channels.end(node::kArchiveChannel);
    channels.write(node::kArchiveChannel, std::string_view(piece).substr(0, static_cast<size_t>(n)));
    offset += static_cast<uint64_t>(n);
  }
  nodes_[place].sending = loop_->after(kTick, [this, place, offset] { send_code(place, offset); });
}

void RemoteNodes::detach(size_t place) {
  nodes_[place].channels->detach();
  nodes_[place].attached = false;
  nodes_[place].detached = Loop::now();
}

bool RemoteNodes::still_brings(size_t place) const {
  if (place >= nodes_.size()) return false;
  const Node& node = nodes_[place];
  if (!node.is_private || (node.ended[node::kLogChannel] && node.ended[node::kArchiveChannel])) return false;
  return node.attached || Loop::now() - node.detached < node::kLease + node::kLostSlack;
}

}  // namespace phalanx::engine::remote
