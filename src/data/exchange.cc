#include "data/exchange.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

namespace phalanx::data {

namespace {

constexpr std::chrono::milliseconds kAlive{1000};
constexpr std::chrono::milliseconds kSilence{4000};  // several of those
constexpr std::chrono::milliseconds kGrace{500};
constexpr std::chrono::milliseconds kPatience{60000};  // with nothing from anybody
constexpr std::chrono::milliseconds kPause{200};       // between two rounds of all addresses
constexpr size_t kWindow = 1u << 20;                   // on the way to one guest
constexpr size_t kMostGuests = 4096;

}  // namespace

// ---- who gives -------------------------------------------------------------------------------------

Result<uint16_t> Giver::listen() {
  listener_ = TRY(net::listen_anywhere());
  listening_ = loop_.watch(listener_.socket.get(), EPOLLIN, [this](uint32_t) { accept(); });
  tick();
  return listener_.port;
}

// Whoever waits hears that it is not in vain.
void Giver::tick() {
  tick_ = loop_.after(kAlive, [this] { tick(); });
  for (Guest& guest : guests_)
    if (!guest.over && guest.stream->unsent() == 0) guest.stream->send(frame(FrameKind::alive));
}

void Giver::accept() {
  for (;;) {
    UniqueFd socket(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || guests_.size() >= kMostGuests) return;
    guests_.emplace_back();
    Guest& guest = guests_.back();
    guest.stream = std::make_unique<net::SecureStream>(
        loop_, std::move(socket), net::SecureStream::Role::server, identity_, secret_,
        net::SecureStream::Calls{[] {},
                                 [this, &guest](std::string_view bytes) {
                                   if (guest.over) return;
                                   const Status fed =
                                       guest.frames.feed(bytes, [&](FrameKind kind, std::string_view body) {
                                         return on_frame(guest, kind, body);
                                       });
                                   if (!fed) part_with(guest);
                                 },
                                 [this, &guest](const std::string&) { part_with(guest); },
                                 [this, &guest] {
                                   if (!guest.over) serve(guest);
                                 }});
  }
}

// Not from within its own callbacks.
void Giver::part_with(Guest& guest) {
  guest.over = true;
  sweep_ = loop_.after(std::chrono::milliseconds(0),
                       [this] { guests_.remove_if([](const Guest& one) { return one.over; }); });
}

Status Giver::on_frame(Guest& guest, FrameKind kind, std::string_view bytes) {
  if (kind == FrameKind::want_tree && bytes.size() == sizeof(Digest)) {
    Digest name{};
    std::copy(bytes.begin(), bytes.end(), name.begin());
    guest.trees.push_back(name);
  } else if (kind == FrameKind::want) {
    for (const ChunkRef& ref : TRY(read_want(bytes))) guest.wanted.push_back(ref);
  } else {
    return Error{Code::invalid, "a guest who does not ask"};
  }
  serve(guest);
  return Done{};
}

void Giver::more() {
  for (Guest& guest : guests_)
    if (!guest.over) serve(guest);
}

void Giver::serve(Guest& guest) {
  std::string lists;  // sent when we are through: sending may call us again
  std::erase_if(guest.trees, [&](const Digest& name) {
    const auto encoded = store_.encoded_tree(name);
    if (encoded) lists += tree_frame(name, *encoded);
    return static_cast<bool>(encoded);
  });
  if (!lists.empty()) guest.stream->send(lists);
  while (!guest.over && !guest.wanted.empty() && guest.stream->unsent() < kWindow)
    if (!give_one(guest)) break;
}

// Of the first that are wanted what there is.
bool Giver::give_one(Guest& guest) {
  constexpr size_t kAhead = 64;
  for (size_t i = 0; i < std::min(guest.wanted.size(), kAhead); ++i) {
    const ChunkRef ref = guest.wanted[i];
    if (store_.has(ref)) {
      if (const auto encoded = store_.encoded(ref)) {
        guest.wanted.erase(guest.wanted.begin() + static_cast<long>(i));
        sent_ += encoded->size();
        guest.stream->send(chunk_frame(ref, *encoded));
        return true;
      }
    }
    if (complete_) {
      part_with(guest);
      return false;
    }
  }
  return false;
}

// ---- who takes -------------------------------------------------------------------------------------

void Taker::begin(std::vector<Sender> senders) {
  senders_ = std::move(senders);
  deadline_ = Loop::now() + kPatience;
  if (!idle()) dial();
}

void Taker::want_tree(const Digest& name) {
  if (std::find(trees_.begin(), trees_.end(), name) != trees_.end()) return;
  trees_.push_back(name);
  if (ready_)
    stream_->send(frame(FrameKind::want_tree, {reinterpret_cast<const char*>(name.data()), name.size()}));
}

void Taker::want(const std::vector<ChunkRef>& chunks) {
  std::vector<ChunkRef> added;
  for (const ChunkRef& ref : chunks)
    if (wanted_.emplace(key(ref), ref).second) added.push_back(ref);
  order_.insert(order_.end(), added.begin(), added.end());
  if (ready_)
    for (const std::string& bytes : want_frames(added)) stream_->send(bytes);
  else if (!added.empty() && !stream_ && !pause_ && !senders_.empty())
    dial();
}

void Taker::fail(const std::string& why) {
  if (failed_) return;
  failed_ = true;
  silence_.cancel();
  calls_.failed(why);
}

void Taker::dial() {
  pause_.cancel();
  if (failed_ || idle()) return;
  if (senders_.empty()) return fail("nobody has what the job needs");
  if (Loop::now() > deadline_) return fail("nobody gives what the job needs: " + trouble_);
  const Sender& sender = senders_[sender_ % senders_.size()];
  const std::string address =
      sender.addresses.empty() ? sender.host : sender.addresses[address_ % sender.addresses.size()];
  auto socket = net::begin_connect(address, sender.port);
  if (!socket) return next(socket.error().reason);
  old_.reset();
  silence_ = loop_.after(kSilence, [this] { next("does not answer"); });
  stream_ = std::make_unique<net::SecureStream>(
      loop_, *std::move(socket), net::SecureStream::Role::client, identity_, secret_,
      net::SecureStream::Calls{[this] { on_ready(); }, [this](std::string_view bytes) { on_bytes(bytes); },
                               [this](const std::string& why) { next(why.empty() ? "closed" : why); }});
}

// Not from within a callback of the stream that is given up: it is kept until the next dial.
void Taker::next(const std::string& why) {
  if (failed_) return;
  silence_.cancel();
  if (stream_) old_ = std::move(stream_);
  ready_ = false;
  frames_ = Frames();
  if (senders_.empty()) return;
  const Sender& sender = senders_[sender_ % senders_.size()];
  trouble_ = sender.host + ": " + why;
  bool round = false;
  if (++address_ >= sender.addresses.size()) {
    address_ = 0;
    round = ++sender_ % senders_.size() == 0;
  }
  pause_ = loop_.after(round ? kPause : std::chrono::milliseconds(0), [this] { dial(); });
}

void Taker::on_ready() {
  ready_ = true;
  for (const Digest& name : trees_)
    stream_->send(frame(FrameKind::want_tree, {reinterpret_cast<const char*>(name.data()), name.size()}));
  std::erase_if(order_, [this](const ChunkRef& ref) { return !wants(ref); });
  for (const std::string& bytes : want_frames(order_)) stream_->send(bytes);
}

void Taker::on_bytes(std::string_view bytes) {
  if (!ready_) return;
  deadline_ = Loop::now() + kPatience;
  // Once more: where a slow disk has held us up, what was said meanwhile is there, and only not read yet.
  silence_ = loop_.after(
      kSilence, [this] { silence_ = loop_.after(kGrace, [this] { next("gives no sign of life"); }); });
  const Status fed =
      frames_.feed(bytes, [this](FrameKind kind, std::string_view body) { return on_frame(kind, body); });
  if (!fed && !failed_) next(fed.error().reason);
  if (idle()) silence_.cancel();
}

Status Taker::on_frame(FrameKind kind, std::string_view bytes) {
  if (failed_) return Error{Code::unavailable, "nothing is wanted any more"};
  if (kind == FrameKind::tree) return on_tree(bytes);
  if (kind == FrameKind::chunk) return on_chunk(bytes);
  return kind == FrameKind::alive ? Status(Done{}) : Status(Error{Code::invalid, "talks nonsense"});
}

Status Taker::on_tree(std::string_view bytes) {
  const TreeWords words = TRY(read_tree_words(bytes));
  const auto wanted = std::find(trees_.begin(), trees_.end(), words.name);
  if (wanted == trees_.end()) return Done{};
  auto tree = store_.keep_tree(words.name, words.encoded);
  if (!tree && tree.error().code != Code::invalid) fail(tree.error().reason);  // it is this machine's fault
  if (!tree) return tree.error();
  trees_.erase(wanted);
  received_ += bytes.size();
  calls_.tree(words.name, *std::move(tree));
  return Done{};
}

Status Taker::on_chunk(std::string_view bytes) {
  const ChunkWords words = TRY(read_chunk(bytes));
  if (!wants(words.ref)) return Done{};
  const auto content = decode(words.encoded, words.ref);
  if (!content) return Error{Code::invalid, "what came was damaged"};
  if (const Status kept = store_.keep(words.ref, words.encoded); !kept) {
    fail(kept.error().reason);
    return kept.error();
  }
  wanted_.erase(key(words.ref));
  received_ += bytes.size();
  calls_.chunk(words.ref, *content);
  return Done{};
}

}  // namespace phalanx::data
