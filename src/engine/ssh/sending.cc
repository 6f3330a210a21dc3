#include "engine/ssh/sending.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <unordered_set>

#include "base/files.h"
#include "data/frames.h"
#include "process/gather.h"
#include "process/isolation.h"
#include "process/pipe.h"

namespace phalanx::engine::ssh {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kAskLimit{600};
constexpr std::chrono::hours kSendLimit{240};  // ssh notices a dead connection much sooner

Result<process::Answer> ask(const Place& place, process::Question question,
                            const std::vector<std::string>& environment, std::chrono::milliseconds limit,
                            const Interrupts& interrupts) {
  auto answer = std::move(process::gather({std::move(question)}, environment, limit, {},
                                          [&] { return interrupts.waiting() != 0; })[0]);
  if (interrupts.waiting() != 0) return Error{Code::unavailable, "interrupted"};
  if (!answer) return Error{answer.error().code, place.host + ": " + answer.error().reason};
  if (answer->code == 255) return Error{Code::unavailable, explain(place.host, answer->errors)};
  return answer;
}

struct Lacking {
  std::vector<std::pair<size_t, size_t>> chunks;  // source, chunk
  uint64_t bytes = 0, kept = 0;
};

Result<Lacking> ask_what_is_lacking(const Connection& ssh, const Place& place,
                                    const std::vector<data::Source>& sources,
                                    const std::vector<std::string>& environment,
                                    const Interrupts& interrupts) {
  std::string lists;
  for (const data::Source& source : sources)
    lists += data::tree_frame(data::name_of(source.tree()), data::encode_tree(source.tree()));
  lists += data::frame(data::FrameKind::end);
  const auto answer = TRY(ask(place, ssh.question(place.host, place.command("store lacks"), std::move(lists)),
                              environment, kAskLimit, interrupts));
  if (answer.code != 0) return Error{Code::unavailable, place.host + ": " + own_words(answer.errors)};
  Lacking lacking;
  std::unordered_set<std::string> seen;
  size_t bit = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto& chunks = sources[i].tree().chunks;
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk, ++bit) {
      if (bit / 8 >= answer.output.size())
        return Error{Code::unavailable, place.host + ": does not say what its store lacks"};
      const bool lacks = (static_cast<unsigned char>(answer.output[bit / 8]) >> (bit % 8)) & 1;
      if (!lacks) lacking.kept += chunks[chunk].size;
      if (!lacks || !seen.insert(data::hex(chunks[chunk].digest)).second) continue;
      lacking.chunks.emplace_back(i, chunk);
      lacking.bytes += chunks[chunk].size;
    }
  }
  return lacking;
}

// In a process of its own: ssh sends what it has while the next is compressed.
Result<uint64_t> write_chunks(std::vector<data::Source>& sources, const Lacking& lacking, int to) {
  uint64_t sent = 0;
  for (const auto& [source, chunk] : lacking.chunks) {
    const std::string content = TRY(sources[source].content(chunk));
    const std::string bytes = data::chunk_frame(sources[source].tree().chunks[chunk], data::encode(content));
    TRY(write_all(to, bytes));
    sent += bytes.size();
  }
  TRY(write_all(to, data::frame(data::FrameKind::end)));
  return sent;
}

// The writer's last words: {"sent": bytes} or {"error": why}.
Result<uint64_t> read_report(int from) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(from, buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return Error{Code::internal, "what sends the files has died"};
  if (const auto* why = value.get_object().if_contains("error"); why && why->is_string())
    return Error{Code::invalid, std::string(why->get_string())};
  return value.at("sent").to_number<uint64_t>(error);
}

std::string harmless_utf8(std::string text) {  // names of files are bytes of any kind
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x80 || static_cast<unsigned char>(c) < 0x20) c = '?';
  return text;
}

Result<uint64_t> send_chunks(const Connection& ssh, const Place& place, std::vector<data::Source>& sources,
                             const Lacking& lacking, const std::vector<std::string>& environment,
                             const Interrupts& interrupts) {
  process::Pipe stream = TRY(process::make_pipe()), report = TRY(process::make_pipe());
  const pid_t writer = TRY(process::fork_child({stream.writer.get(), report.writer.get()}, [&] {
    ::signal(SIGPIPE, SIG_IGN);
    const auto sent = write_chunks(sources, lacking, stream.writer.get());
    (void)write_all(report.writer.get(),
                    json::serialize(sent ? json::object{{"sent", *sent}}
                                         : json::object{{"error", harmless_utf8(sent.error().reason)}}));
    return sent ? 0 : 1;
  }));
  stream.writer.reset();
  report.writer.reset();
  const process::Question question{ssh.words(place.host, place.command("store put")), "",
                                   "/proc/self/fd/" + std::to_string(stream.reader.get())};
  const auto answer = ask(place, question, environment, kSendLimit, interrupts);
  stream.reader.reset();  // the writer ends, whatever it was doing
  auto sent = read_report(report.reader.get());
  ::waitpid(writer, nullptr, 0);
  if (!answer) return answer.error();
  if (answer->code != 0 && (sent || sent.error().reason.find("Broken pipe") != std::string::npos))
    return Error{Code::unavailable, place.host + ": " + own_words(answer->errors)};
  return sent;
}

}  // namespace

std::string own_words(std::string words) {
  constexpr std::string_view kOwn = "phalanx: ";
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.starts_with(kOwn) ? words.substr(kOwn.size()) : words;
}

Result<SentBytes> send_to(const Connection& ssh, const Place& place, std::vector<data::Source>& sources,
                          const std::vector<std::string>& environment, const Interrupts& interrupts,
                          const std::function<void(const std::string&)>& say) {
  constexpr uint64_t kWorthALine = 32u << 20, kMega = 1'000'000;
  const Lacking lacking = TRY(ask_what_is_lacking(ssh, place, sources, environment, interrupts));
  SentBytes sent{0, lacking.kept};
  if (lacking.chunks.empty()) return sent;
  if (say && lacking.bytes > kWorthALine)
    say("sending " + std::to_string(lacking.bytes / kMega) + " MB to " + place.host +
        (lacking.kept > kMega ? " (" + std::to_string(lacking.kept / kMega) + " MB are there already)" : ""));
  sent.bytes = TRY(send_chunks(ssh, place, sources, lacking, environment, interrupts));
  return sent;
}

}  // namespace phalanx::engine::ssh
