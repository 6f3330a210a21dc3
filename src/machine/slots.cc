#include "machine/slots.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>

#include "base/files.h"

namespace phalanx::machine {

namespace json = boost::json;

struct SlotQueue::Ticket {
  std::string file, job, home;
  unsigned uid = 0;
  int pid = 0;
  int priority = 0, holds = 0;
  long long since_ns = 0;
};

namespace {

constexpr uint64_t kMostTicket = 4096;  // a ticket is some 200 bytes; another user may have written anything
constexpr size_t kMostTickets = 4096;

// A folder for everybody, which nobody else can rename away: 1777, ours or root's or made so by another user.
Status make_shared_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 01777) == 0) {
    if (::chmod(path.c_str(), 01777) != 0) return errno_error(path);  // the umask does not apply
    return Done{};
  }
  if (errno != EEXIST) return errno_error(path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_error(path);
  if (!S_ISDIR(info.st_mode)) return Error{Code::denied, path + ": is not a folder"};
  if (::access(path.c_str(), W_OK | X_OK) != 0) return errno_error(path);
  return Done{};
}

Result<std::string> lock_folder() {
  std::vector<std::string> candidates;
  if (const char* given = std::getenv("PHALANX_LOCKS"))
    candidates = {given};
  else
    candidates = {"/run/lock/phalanx", "/tmp/phalanx-locks"};
  std::string reasons;
  for (const std::string& folder : candidates) {
    Status status = make_shared_folder(folder);
    if (status) status = make_shared_folder(folder + "/tickets");
    if (status) return folder;
    reasons += (reasons.empty() ? "" : "; ") + status.error().reason;
  }
  return Error{Code::unavailable, "no folder for the slots of this machine: " + reasons +
                                      "; name one in PHALANX_LOCKS that can be written to, the same for "
                                      "everybody who shares the machine"};
}

bool lock(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

bool is_locked(int fd) {
  struct flock whole {};
  whole.l_type = F_RDLCK;
  return ::fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

// A ticket of a process of ours that has died. Under its lock: it may be one that is just being made, whose
// maker then sees that it has lost it.
void remove_left(const std::string& ticket) {
  const UniqueFd fd(::open(ticket.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd && lock(fd.get())) ::unlink(ticket.c_str());
}

bool has_name(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

// A slot's file, made at first need. Not O_CREAT on one that exists: protected_regular refuses that for
// another user's file in a sticky folder.
UniqueFd open_slot(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd || errno != ENOENT) return fd;
  fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd)
    ::fchmod(fd.get(), 0666);
  else if (errno == EEXIST)
    fd.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return fd;
}

// Of a ticket, in which another user may have written anything.
std::string text_of(const json::object& object, const char* key) {
  constexpr size_t kMost = 255;
  const json::value* found = object.if_contains(key);
  if (!found || !found->is_string()) return "?";
  return std::string(std::string_view(found->get_string()).substr(0, kMost));
}

// "UID-PID-N"; 0 where it is not so.
int pid_in(const std::string& ticket_name) {
  const size_t begin = ticket_name.find('-') + 1;
  int pid = 0;
  std::from_chars(ticket_name.data() + begin, ticket_name.data() + ticket_name.size(), pid);
  return pid;
}

std::string user_name(unsigned uid) {
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_name;
  return std::to_string(uid);
}

}  // namespace

void Slots::unlock() {
  struct flock whole {};
  whole.l_type = F_UNLCK;
  for (const UniqueFd& held : locks) ::fcntl(held.get(), F_OFD_SETLK, &whole);
  locks.clear();
}

Result<SlotQueue> SlotQueue::join(const SlotRequest& request) {
  SlotQueue queue(request, TRY(lock_folder()));
  while (!TRY(queue.make_ticket())) {
  }
  TRY(queue.write_ticket(0));
  return queue;
}

// Whether it could be locked before somebody took it for one left by the dead.
Result<bool> SlotQueue::make_ticket() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  since_ns_ = now.tv_sec * 1'000'000'000ll + now.tv_nsec;
  const std::string name =
      std::to_string(::geteuid()) + "-" + std::to_string(::getpid()) + "-" + std::to_string(since_ns_);
  ticket_path_ = folder_ + "/tickets/" + name;
  ticket_ = TRY(open_file(ticket_path_, O_RDWR | O_CREAT | O_EXCL, 0644));
  if (lock(ticket_.get())) return has_name(ticket_.get());
  if (errno != EAGAIN && errno != EACCES) return errno_error(ticket_path_);
  return false;
}

Result<int> SlotQueue::watch() {
  notice_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notice_) return errno_error("inotify");
  ::inotify_add_watch(notice_.get(), (folder_ + "/tickets").c_str(),
                      IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR);
  return notice_.get();
}

Status SlotQueue::write_ticket(int holds) {
  const json::object ticket{{"job", request_.job},
                            {"home", request_.home},
                            {"uid", ::geteuid()},
                            {"priority", request_.priority},
                            {"since_ns", since_ns_},
                            {"holds", holds},
                            {"wants", request_.cpus + request_.gpus}};
  std::string text = json::serialize(ticket);
  text.resize(std::max<size_t>(text.size(), 256), ' ');  // one length: a reader never sees a mix of two
  if (::pwrite(ticket_.get(), text.data(), text.size(), 0) < 0) return errno_error(ticket_path_);
  return Done{};
}

std::vector<SlotQueue::Ticket> SlotQueue::read_tickets() const {
  std::vector<Ticket> tickets;
  const auto names = list_folder(folder_ + "/tickets");
  if (!names) return tickets;
  for (const std::string& name : *names) {
    if (tickets.size() >= kMostTickets) break;
    const std::string path = folder_ + "/tickets/" + name;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (path != ticket_path_ && !is_locked(fd.get())) {
      if (info.st_uid == ::geteuid()) remove_left(path);
      continue;
    }
    char text[kMostTicket];
    const ssize_t n = ::read(fd.get(), text, sizeof text);
    if (n <= 0) continue;
    boost::system::error_code error;
    const json::value value = json::parse({text, static_cast<size_t>(n)}, error);
    if (error || !value.is_object()) continue;
    const json::object& object = value.get_object();
    const auto number = [&](const char* key) -> long long {
      const json::value* found = object.if_contains(key);
      return found && found->is_int64() ? found->get_int64() : 0;
    };
    tickets.push_back({path, text_of(object, "job"), text_of(object, "home"), info.st_uid, pid_in(name),
                       static_cast<int>(number("priority")), static_cast<int>(number("holds")),
                       number("since_ns")});
  }
  return tickets;
}

std::vector<UniqueFd> SlotQueue::lock_some(const char* kind, const std::vector<int>& ids, int count,
                                           std::vector<int>& got) const {
  std::vector<UniqueFd> locks;
  for (const int id : ids) {
    if (static_cast<int>(locks.size()) == count) break;
    UniqueFd fd = open_slot(folder_ + "/" + kind + "-" + std::to_string(id));
    if (!fd || !lock(fd.get())) continue;
    locks.push_back(std::move(fd));
    got.push_back(id);
  }
  return locks;
}

int SlotQueue::count_free(const char* kind, const std::vector<int>& ids, int most) const {
  int free = 0;
  for (const int id : ids) {
    const UniqueFd fd = open_slot(folder_ + "/" + kind + "-" + std::to_string(id));
    if (free < most && fd && !is_locked(fd.get())) ++free;
  }
  return free;
}

std::string SlotQueue::described(const Ticket& ticket) const {
  const std::string pid = " (pid " + std::to_string(ticket.pid);
  if (ticket.uid != ::geteuid()) return ticket.job + " of " + user_name(ticket.uid) + pid + ")";
  return ticket.home == request_.home ? ticket.job : ticket.job + pid + ", jobs in " + ticket.home + ")";
}

Result<std::optional<Slots>> SlotQueue::try_take() {
  const std::vector<Ticket> tickets = read_tickets();
  std::map<unsigned, int> held;
  for (const Ticket& ticket : tickets) held[ticket.uid] += ticket.holds;
  const auto key = [&](int priority, unsigned uid, long long since) {
    return std::tuple(-priority, held[uid], since);
  };
  const auto mine = key(request_.priority, ::geteuid(), since_ns_);
  standing_ = {request_.cpus + request_.gpus, 0, {}};
  bool first = true;
  for (const Ticket& ticket : tickets) {
    if (ticket.file == ticket_path_) continue;
    const bool waits_before = ticket.holds == 0 && key(ticket.priority, ticket.uid, ticket.since_ns) < mine;
    if (waits_before) first = false;
    if (waits_before || ticket.holds > 0) standing_.ahead.push_back(described(ticket));
  }
  if (!first) {  // only look: a lock tried here could make the first in the queue miss its turn
    standing_.free = count_free("cpu", request_.allowed_cpus, request_.cpus) +
                     count_free("gpu", request_.allowed_gpus, request_.gpus);
    return std::optional<Slots>{};
  }
  Slots slots;
  slots.locks = lock_some("cpu", request_.allowed_cpus, request_.cpus, slots.cpus);
  std::vector<UniqueFd> gpus = lock_some("gpu", request_.allowed_gpus, request_.gpus, slots.gpus);
  for (UniqueFd& fd : gpus) slots.locks.push_back(std::move(fd));
  standing_.free = static_cast<int>(slots.locks.size());
  if (standing_.free < standing_.wanted) return std::optional<Slots>{};
  TRY(write_ticket(standing_.wanted));
  return std::optional<Slots>(std::move(slots));
}

void SlotQueue::drain() {
  char buffer[4096];
  while (::read(notice_.get(), buffer, sizeof buffer) > 0) {
  }
}

void SlotQueue::leave() {
  if (!ticket_path_.empty()) ::unlink(ticket_path_.c_str());
  ticket_path_.clear();
}

}  // namespace phalanx::machine
