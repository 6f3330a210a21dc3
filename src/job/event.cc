#include "job/event.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/files.h"
#include "job/text.h"

namespace phalanx::job {
namespace {

bool is_reserved(std::string_view key) {
  return key == "time" || key == "event" || key == "task" || key == "attempt";
}

// As people write numbers (1753000000.25), where Boost.JSON writes 1.75300000025E9.
void append_value(std::string& line, const boost::json::value& value) {
  if (!value.is_double() || !std::isfinite(value.get_double())) {
    line += boost::json::serialize(value);
    return;
  }
  char digits[400];  // a double in fixed notation has at most 309 digits before its point
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value.get_double(), std::chars_format::fixed);
  line.append(digits, end.ptr);
}

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  const auto microseconds = time.tv_nsec / 1000;
  return static_cast<double>(time.tv_sec) + static_cast<double>(microseconds) * 1e-6;
}

int small_int(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_int64()) return 0;
  const int64_t number = value->get_int64();
  return number < 0 || number > 1 << 30 ? 0 : static_cast<int>(number);
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Whether the last writer died in the middle of a line.
bool ends_in_line(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

std::string to_line(const Event& event) {
  std::string line = "{\"time\":";
  append_value(line, event.time);
  line += ",\"event\":" + boost::json::serialize(event.kind);
  line += ",\"task\":" + std::to_string(event.task) + ",\"attempt\":" + std::to_string(event.attempt);
  for (const auto& [key, value] : event.data) {
    if (is_reserved(key)) continue;
    line += "," + boost::json::serialize(boost::json::string(key)) + ":";
    append_value(line, value);
  }
  line += "}\n";
  return as_utf8(std::move(line));  // a rank's last lines may be any bytes
}

Result<Event> parse_event(const std::string& line) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(line, error);
  if (error) return Error{Code::invalid, "not JSON: " + error.message()};
  if (!value.is_object()) return Error{Code::invalid, "not a JSON object"};
  Event event;
  event.data = std::move(value.get_object());
  const auto* kind = event.data.if_contains("event");
  if (kind == nullptr || !kind->is_string()) return Error{Code::invalid, "no key \"event\""};
  event.kind = std::string(kind->get_string());
  const auto* time = event.data.if_contains("time");
  if (time != nullptr && time->is_number()) event.time = time->to_number<double>();
  event.task = small_int(event.data, "task");
  event.attempt = small_int(event.data, "attempt");
  for (const char* key : {"time", "event", "task", "attempt"}) event.data.erase(key);
  return event;
}

Result<EventLog> EventLog::open(const std::string& path) {
  UniqueFd fd = TRY(open_file(path, O_RDWR | O_CREAT | O_APPEND, 0600));
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES)
      return Error{Code::unavailable, path + ": another coordinator of this job is alive"};
    return errno_error(path + ": lock");
  }
  const bool torn = ends_in_line(fd.get());
  return EventLog(std::move(fd), torn);
}

Status EventLog::reserve(uint64_t bytes) {
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  if (end >= 0 && ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, end, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT))
    return errno_error("no room for the job's events");
  return Done{};
}

Status EventLog::append(Event event) {
  if (event.time == 0) event.time = now();
  std::string line = to_line(event);
  if (torn_) line.insert(0, "\n");  // the half line before it becomes one that readers skip
  ssize_t written;
  do written = ::write(fd_.get(), line.data(), line.size());
  while (written < 0 && errno == EINTR);
  if (written < 0) return errno_error("event log");
  torn_ = static_cast<size_t>(written) != line.size();
  if (torn_) return Error{Code::internal, "event log: the disk took half a line"};
  return Done{};
}

bool is_locked(const std::string& events_path) {
  const auto fd = open_file(events_path, O_RDONLY | O_NONBLOCK);  // what is no file is not waited for
  if (!fd) return false;
  struct flock lock = whole_file(F_WRLCK);
  return ::fcntl(fd->get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::vector<Event> EventReader::next() {
  std::vector<Event> events;
  if (!fd_) {
    auto fd = open_file(path_, O_RDONLY | O_NONBLOCK);
    if (!fd) return events;
    fd_ = std::move(*fd);
  }
  constexpr size_t kPiece = 16384;  // on the heap: a stack may be small (ulimit -s)
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  for (;;) {
    const ssize_t n = ::read(fd_.get(), buffer.get(), kPiece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    partial_.append(buffer.get(), static_cast<size_t>(n));
    if (static_cast<size_t>(n) < kPiece) break;  // saves the read that would return 0
  }
  size_t start = 0;
  for (size_t end; (end = partial_.find('\n', start)) != std::string::npos; start = end + 1) {
    if (auto event = parse_event(partial_.substr(start, end - start))) events.push_back(std::move(*event));
  }
  partial_.erase(0, start);
  return events;
}

}  // namespace phalanx::job
