#include "node/guard_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace phalanx::node {

namespace {
constexpr size_t kMostInPacket = 252;  // the kernel passes at most 253 descriptors at a time
}

Result<GuardPair> make_guard_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno_error("socketpair");
  return GuardPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool send_alive(int fd) {
  // A guard that is stopped must not stop us: a full socket is fine, it has signs of life enough to read.
  return ::send(fd, ".", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EAGAIN;
}

bool send_logs(int fd, const std::vector<std::pair<int, int>>& pipes_and_files) {
  for (size_t begin = 0; begin < pipes_and_files.size();) {
    const size_t pairs = std::min(pipes_and_files.size() - begin, kMostInPacket / 2);
    std::vector<int> fds;
    for (size_t i = begin; i < begin + pairs; ++i) {
      fds.push_back(pipes_and_files[i].first);
      fds.push_back(pipes_and_files[i].second);
    }
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    char byte = 'L';
    iovec data{&byte, 1};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    ssize_t n;
    do n = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) return false;
    begin += pairs;
  }
  return true;
}

bool send_forget(int fd, uint32_t log) {
  char packet[1 + sizeof log] = {'F'};
  std::memcpy(packet + 1, &log, sizeof log);
  ssize_t n;
  do n = ::send(fd, packet, sizeof packet, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n > 0;
}

Received receive(int fd) {
  Received received;
  char packet[1 + sizeof(uint32_t)];
  iovec data{packet, sizeof packet};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostInPacket * sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    received.nothing = true;
    return received;
  }
  if (n <= 0) {
    received.closed = true;
    return received;
  }
  if (static_cast<size_t>(n) == sizeof packet && packet[0] == 'F')
    std::memcpy(&received.forgotten.emplace(), packet + 1, sizeof(uint32_t));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::vector<int> fds(count);
    std::memcpy(fds.data(), CMSG_DATA(header), count * sizeof(int));
    for (size_t i = 0; i + 1 < count; i += 2)
      received.logs.emplace_back(UniqueFd(fds[i]), UniqueFd(fds[i + 1]));
  }
  return received;
}

}  // namespace phalanx::node
