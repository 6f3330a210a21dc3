// The other end of sending.h: on the host whose store it is.
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "data/frames.h"
#include "data/store.h"
#include "engine/ssh/sending.h"
#include "job/layout.h"

namespace phalanx::engine::ssh {

namespace {

// Frames of standard input, up to the one that says it was all.
Status read_input(const data::Frames::OnFrame& on_frame) {
  data::Frames frames;
  std::string buffer(1u << 18, '\0');
  bool ended = false;
  while (!ended) {
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error{Code::unavailable, "the sender was cut off"};
    TRY(frames.feed(std::string_view(buffer).substr(0, static_cast<size_t>(n)),
                    [&](data::FrameKind kind, std::string_view bytes) -> Status {
                      ended = ended || kind == data::FrameKind::end;
                      return ended ? Status(Done{}) : on_frame(kind, bytes);
                    }));
  }
  return Done{};
}

Result<std::string> lacking() {
  data::Store store = TRY(data::Store::open(job::store_folder()));
  std::string bits;
  size_t bit = 0;
  TRY(read_input([&](data::FrameKind kind, std::string_view bytes) -> Status {
    if (kind != data::FrameKind::tree) return Error{Code::invalid, "lists of files are wanted"};
    const data::TreeWords words = TRY(data::read_tree_words(bytes));
    const data::Tree tree = TRY(store.keep_tree(words.name, words.encoded));
    for (const data::ChunkRef& ref : tree.chunks) {
      if (bit % 8 == 0) bits += '\0';
      if (!store.has(ref)) bits.back() = static_cast<char>(bits.back() | (1 << (bit % 8)));
      ++bit;
    }
    return Done{};
  }));
  return bits;
}

Status take() {
  data::Store store = TRY(data::Store::open(job::store_folder()));
  return read_input([&](data::FrameKind kind, std::string_view bytes) -> Status {
    if (kind != data::FrameKind::chunk) return Error{Code::invalid, "chunks are wanted"};
    const data::ChunkWords words = TRY(data::read_chunk(bytes));
    (void)TRY(data::decode(words.encoded, words.ref));
    return store.keep(words.ref, words.encoded);
  });
}

int answer(const Status& status) {
  if (!status) std::fprintf(stderr, "phalanx: %s\n", status.error().reason.c_str());
  return status ? 0 : 1;
}

}  // namespace

int tell_what_is_lacking() {
  const auto bits = lacking();
  if (!bits) return answer(bits.error());
  return answer(write_all(STDOUT_FILENO, *bits));
}

int take_chunks() { return answer(take()); }

}  // namespace phalanx::engine::ssh
