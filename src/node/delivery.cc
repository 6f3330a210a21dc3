#include "node/delivery.h"

#include <unordered_set>

namespace phalanx::node {

Delivery::Delivery(Loop& loop, std::string job, std::string secret, std::vector<data::Parcel> parcels,
                   Calls calls)
    : loop_(loop), job_(std::move(job)), secret_(std::move(secret)), calls_(std::move(calls)) {
  for (data::Parcel& parcel : parcels) {
    pieces_.emplace_back();
    pieces_.back().parcel = std::move(parcel);
  }
}

Result<uint16_t> Delivery::open(const std::string& store_folder) {
  store_folder_ = store_folder;
  store_.emplace(TRY(data::Store::open(store_folder)));
  for (const Piece& piece : pieces_)
    if (piece.parcel.in_place) held_.push_back(TRY(store_->hold_input(piece.parcel.tree)));
  giver_ = std::make_unique<data::Giver>(loop_, job_, secret_, *store_, false);
  return giver_->listen();
}

void Delivery::begin(std::vector<data::Sender> senders) {
  taker_ = std::make_unique<data::Taker>(
      loop_, job_, secret_, *store_,
      data::Taker::Calls{
          [this](const data::Digest& name, const data::Tree& tree) { on_tree(name, tree); },
          [this](const data::ChunkRef& ref, const std::string& content) { on_chunk(ref, content); },
          [this](const std::string& why) { fail(why); }});
  for (Piece& piece : pieces_) {
    auto tree = store_->tree(piece.parcel.tree);
    if (!tree) {
      taker_->want_tree(piece.parcel.tree);
      continue;
    }
    piece.tree = *std::move(tree);
    look(piece);
  }
  taker_->begin(std::move(senders));
  later_ = loop_.after(std::chrono::milliseconds(0), [this] { go_on(); });
}

void Delivery::stop_giving() {
  giver_.reset();
  store_.reset();
}

void Delivery::on_tree(const data::Digest& name, const data::Tree& tree) {
  for (Piece& piece : pieces_) {
    if (piece.parcel.tree != name || piece.tree) continue;
    piece.tree = tree;
    look(piece);
  }
  giver_->more();
  later_ = loop_.after(std::chrono::milliseconds(0), [this] { go_on(); });
}

// What of it must come. Chunks, even where the input itself is here already: others may want them of us.
void Delivery::look(Piece& piece) {
  std::vector<data::ChunkRef> missing;
  for (const data::ChunkRef& ref : piece.tree->chunks) {
    if (taker_->wants(ref)) continue;
    if (store_->has(ref))
      counted_.kept += ref.size;
    else
      missing.push_back(ref);
  }
  taker_->want(missing);
}

void Delivery::on_chunk(const data::ChunkRef& ref, const std::string& content) {
  giver_->more();
  for (Piece& piece : pieces_) {
    if (piece.done) continue;
    // As it comes, so that it need not be read again.
    if (piece.writer && piece.writer->next() && *piece.writer->next() == ref)
      if (const Status written = piece.writer->write(content); !written)
        return fail(store_->explain(written.error(), piece.parcel.bytes).reason);
    break;
  }
  if (!later_) later_ = loop_.after(std::chrono::milliseconds(0), [this] { go_on(); });
}

// A little at a time: this process has others to answer.
void Delivery::go_on() {
  later_.cancel();
  if (over_) return;
  size_t budget = 8u << 20;
  for (Piece& piece : pieces_) {
    if (piece.done || fill(piece, budget)) continue;
    if (!over_ && budget == 0) later_ = loop_.after(std::chrono::milliseconds(0), [this] { go_on(); });
    return;
  }
  over_ = true;
  counted_.received = taker_->received();
  taker_.reset();
  calls_.done(counted_);
}

bool Delivery::fill(Piece& piece, size_t& budget) {
  const auto refused = [&](const Error& error) {
    fail(piece.parcel.what + ": " + store_->explain(error, piece.parcel.bytes).reason);
    return false;
  };
  if (!piece.tree) return false;
  if (!piece.writer)
    if (const Status started = start(piece); !started) return refused(started.error());
  if (piece.done) return true;
  while (const data::ChunkRef* next = piece.writer->next()) {
    if (budget < next->size) budget = 0;
    if (budget == 0 || taker_->wants(*next)) return false;
    const auto content = store_->content(*next);
    if (!content) {
      if (content.error().code != Code::not_found) return refused(content.error());
      counted_.kept -= std::min<uint64_t>(counted_.kept, next->size);
      taker_->want({*next});  // it was damaged
      return false;
    }
    budget -= next->size;
    if (const Status written = piece.writer->write(*content); !written) return refused(written.error());
  }
  if (const Status ended = end(piece); !ended) return refused(ended.error());
  return true;
}

Status Delivery::start(Piece& piece) {
  const data::Parcel& parcel = piece.parcel;
  if (parcel.in_place && data::looks_like(*piece.tree, parcel.folder)) {
    piece.done = true;
    return Done{};
  }
  piece.made = parcel.in_place ? data::unfinished(parcel.folder) : parcel.folder;
  piece.writer.emplace(TRY(data::Writer::begin(
      *piece.tree, piece.made, parcel.in_place ? data::Writer::Kind::read_only : data::Writer::Kind::own)));
  return Done{};
}

Status Delivery::end(Piece& piece) {
  piece.done = true;
  piece.writer.reset();
  return piece.parcel.in_place ? data::finish(piece.made, piece.parcel.folder) : Status(Done{});
}

void Delivery::fail(const std::string& why) {
  if (std::exchange(over_, true)) return;
  later_.cancel();
  calls_.failed(why);
}

}  // namespace phalanx::node
