// The other end of sending.h: on the host whose store it is.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/files.h"
#include "data/frames.h"
#include "data/source.h"
#include "data/store.h"
#include "data/writer.h"
#include "engine/ssh/sending.h"
#include "job/layout.h"

namespace phalanx::engine::ssh {

namespace {

// Frames of a file or pipe, up to the one that says it was all.
Status read_frames(int from, const data::Frames::OnFrame& on_frame) {
  data::Frames frames;
  std::string buffer(1u << 18, '\0');
  bool ended = false;
  while (!ended) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
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
  TRY(read_frames(STDIN_FILENO, [&](data::FrameKind kind, std::string_view bytes) -> Status {
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
  return read_frames(STDIN_FILENO, [&](data::FrameKind kind, std::string_view bytes) -> Status {
    if (kind != data::FrameKind::chunk) return Error{Code::invalid, "chunks are wanted"};
    const data::ChunkWords words = TRY(data::read_chunk(bytes));
    (void)TRY(data::decode(words.encoded, words.ref));
    return store.keep(words.ref, words.encoded);
  });
}

// Outputs and logs; not the code, nor what the submitter has of his own.
Status write_left(const std::string& folder) {
  data::Scan how;
  how.follow = false;
  how.only = {"user_logs", "system_logs", "outputs", "mlflow", "job.json", "plan.json", "job.yml"};
  for (const std::string& node : list_folder(folder + "/nodes").value_or({}))
    for (const char* name : {"/wd/outputs", "/wd/logs"}) how.only.push_back("nodes/" + node + name);
  data::Source left = TRY(data::Source::scan(folder, how));
  TRY(write_all(STDOUT_FILENO, data::tree_frame(data::name_of(left.tree()), data::encode_tree(left.tree()))));
  for (size_t i = 0; i < left.tree().chunks.size(); ++i) {
    const std::string content = TRY(left.content(i));
    TRY(write_all(STDOUT_FILENO, data::chunk_frame(left.tree().chunks[i], data::encode(content))));
  }
  return write_all(STDOUT_FILENO, data::frame(data::FrameKind::end));
}

bool is_left(const data::Entry& entry) {
  constexpr std::string_view kNames[] = {"user_logs", "system_logs", "outputs",   "mlflow",
                                         "nodes",     "job.json",    "plan.json", "job.yml"};
  const std::string_view first = std::string_view(entry.path).substr(0, entry.path.find('/'));
  return std::find(std::begin(kNames), std::end(kNames), first) != std::end(kNames);
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

int give_left(const std::string& job) { return answer(write_left(job::Layout::of(job).folder)); }

Status unpack_left(const std::string& file, const std::string& job_folder) {
  const UniqueFd from = TRY(open_file(file, O_RDONLY));
  std::optional<data::Writer> writer;
  TRY(read_frames(from.get(), [&](data::FrameKind kind, std::string_view bytes) -> Status {
    if (kind == data::FrameKind::tree && !writer) {
      data::Tree tree = TRY(data::decode_tree(TRY(data::read_tree_words(bytes)).encoded));
      if (!std::all_of(tree.entries.begin(), tree.entries.end(), is_left))
        return Error{Code::invalid, "the host sends what is not the job's"};
      writer.emplace(TRY(data::Writer::begin(std::move(tree), job_folder, data::Writer::Kind::own)));
      return Done{};
    }
    if (kind != data::FrameKind::chunk || !writer || !writer->next())
      return Error{Code::invalid, "the host talks nonsense"};
    const data::ChunkWords words = TRY(data::read_chunk(bytes));
    return writer->write(TRY(data::decode(words.encoded, *writer->next())));
  }));
  return writer && writer->done() ? Status(Done{}) : Status(Error{Code::unavailable, "not all has come"});
}

}  // namespace phalanx::engine::ssh
