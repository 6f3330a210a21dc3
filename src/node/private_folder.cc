#include "node/private_folder.h"

#include <boost/json.hpp>

#include "base/files.h"
#include "data/frames.h"
#include "node/uplink.h"

namespace phalanx::node {

Status PrivateFolder::make(const std::vector<std::string>& folders) {
  for (const char* name : {"/user_logs", "/system_logs"}) TRY(make_folders(folder_ + name));
  for (const std::string& path : folders) TRY(make_folders(path, 0755));
  mirror_.emplace(folder_ + "/user_logs");
  mirror();
  return Done{};
}

// Logs, while there is room on the way.
void PrivateFolder::mirror() {
  constexpr size_t kWindow = 1u << 20;
  constexpr std::chrono::milliseconds kTick{100};
  while (channels_.pending(kLogChannel) < kWindow) {
    const std::string records = mirror_->next(kWindow);
    if (records.empty()) break;
    channels_.write(kLogChannel, records);
  }
  if (!sending_) mirroring_ = loop_.after(kTick, [this] { mirror(); });
}

void PrivateFolder::send_what_is_left() {
  if (sending_) return;
  sending_ = true;
  mirroring_.cancel();
  for (std::string records; !(records = mirror_->next(1u << 20)).empty();)
    channels_.write(kLogChannel, records);
  channels_.end(kLogChannel);
  const std::string own = "nodes/" + std::to_string(node_) + "/wd";
  data::Scan how;
  how.follow = false;
  how.only = {"outputs", "mlflow", own + "/outputs", own + "/logs"};
  auto left = data::Source::scan(folder_, how);
  if (!left) return end(left.error().reason);
  if (left->tree().entries.empty()) return end("");
  channels_.write(kDataChannel,
                  data::tree_frame(data::name_of(left->tree()), data::encode_tree(left->tree())));
  left_ = *std::move(left);
  send_outputs();
}

void PrivateFolder::more() {
  if (left_ && !ended_) send_outputs();
}

void PrivateFolder::send_outputs() {
  constexpr size_t kWindow = 4u << 20;
  const auto& chunks = left_->tree().chunks;
  while (chunk_ < chunks.size() && channels_.pending(kDataChannel) < kWindow) {
    const auto content = left_->content(chunk_);
    if (!content) return end(content.error().reason);
    channels_.write(kDataChannel, data::chunk_frame(chunks[chunk_++], data::encode(*content)));
  }
  if (chunk_ == chunks.size()) end("");
}

void PrivateFolder::end(const std::string& trouble) {
  if (!trouble.empty())
    channels_.write(
        kDataChannel,
        data::frame(data::FrameKind::words, boost::json::serialize(boost::json::object{{"lost", trouble}})));
  ended_ = true;
  channels_.end(kDataChannel);
  channels_.end(kGuardChannel);
}

}  // namespace phalanx::node
