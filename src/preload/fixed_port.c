// fixed_port.c - the library that the processes of a job load (LD_PRELOAD) when a port that their program has
// written down is another's on this machine: they get one that is held for the job, and see the one that they
// asked for.
//
//   PHALANX_FIXED_PORT=54965:40123   what programs ask for, and what they get
//
// bind() changes it at any address, connect() only at addresses of this machine: the same port of another
// machine is what it says. getsockname() and getpeername() change it back. Only for TCP.
//
// It names no library that it needs, so it can be loaded beside any C library, older or newer than the one
// here. The work is done by the next definition of these functions (a sanitizer's, say); where the C library
// cannot tell which that is, by the kernel. Nothing here allocates or locks, so that a signal handler may
// call it.
#define _DEFAULT_SOURCE  // and not _GNU_SOURCE, with which glibc declares other parameters
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern char** environ;
extern void* dlsym(void* handle, const char* name) __attribute__((weak));  // in libdl before glibc 2.34

// ---- what there is to change ------------------------------------------------------------------------

struct pair {
  unsigned short asked, given;  // asked: 0 where nothing is to change
};

static unsigned known;  // both, as asked << 16 | given; 0: not read yet
static const unsigned kNothing = 1;

static const char* number(const char* text, unsigned* value) {
  for (*value = 0; *text >= '0' && *text <= '9' && *value <= 65535; ++text)
    *value = *value * 10 + (unsigned)(*text - '0');
  return text;
}

static unsigned from_environment(void) {
  static const char name[] = "PHALANX_FIXED_PORT=";
  for (char** line = environ; *line; ++line) {
    if (strncmp(*line, name, sizeof name - 1) != 0) continue;
    unsigned asked, given = 0;
    const char* rest = number(*line + sizeof name - 1, &asked);
    if (*rest == ':') rest = number(rest + 1, &given);
    if (*rest == 0 && asked - 1 < 65535 && given - 1 < 65535) return asked << 16 | given;
  }
  return kNothing;
}

static struct pair ports(void) {
  unsigned both = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (both == 0 && environ) __atomic_store_n(&known, both = from_environment(), __ATOMIC_RELAXED);
  return (struct pair){(unsigned short)(both >> 16), (unsigned short)both};
}

// ---- addresses --------------------------------------------------------------------------------------

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_storage room;
};

// Where the port is in an IP address of so many bytes; null in any other.
static in_port_t* port_in(union address* address, socklen_t size) {
  if (!address || size < sizeof(sa_family_t)) return NULL;
  if (address->any.sa_family == AF_INET && size >= sizeof address->v4) return &address->v4.sin_port;
  if (address->any.sa_family == AF_INET6 && size >= offsetof(struct sockaddr_in6, sin6_scope_id))
    return &address->v6.sin6_port;
  return NULL;
}

static int is_tcp(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// Whether the kernel would deliver to this machine what is sent there: it knows all addresses, and all rules.
static int routed_here(sa_family_t family, const void* bytes, unsigned short count) {
  struct {
    struct nlmsghdr head;
    struct rtmsg route;
    struct rtattr destination;
    unsigned char bytes[16];
  } ask = {0};
  ask.head.nlmsg_len = (unsigned)offsetof(__typeof__(ask), bytes) + count;
  ask.head.nlmsg_type = RTM_GETROUTE;
  ask.head.nlmsg_flags = NLM_F_REQUEST;
  ask.route.rtm_family = (unsigned char)family;
  ask.route.rtm_dst_len = (unsigned char)(count * 8);
  ask.destination.rta_type = RTA_DST;
  ask.destination.rta_len = (unsigned short)(sizeof ask.destination + count);
  memcpy(ask.bytes, bytes, count);
  struct {
    struct nlmsghdr head;
    struct rtmsg route;
    unsigned char rest[1024];
  } answer = {0};
  const int fd = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return 0;
  const int here = syscall(SYS_sendto, fd, &ask, ask.head.nlmsg_len, 0, NULL, 0) > 0 &&
                   syscall(SYS_recvfrom, fd, &answer, sizeof answer, 0, NULL, NULL) > 0 &&
                   answer.head.nlmsg_type == RTM_NEWROUTE && answer.route.rtm_type == RTN_LOCAL;
  syscall(SYS_close, fd);
  return here;
}

static int is_here_v4(const unsigned char* bytes) {
  static const unsigned char any[4];
  return bytes[0] == 127 || memcmp(bytes, any, sizeof any) == 0 || routed_here(AF_INET, bytes, 4);
}

static int is_here(const union address* address) {
  if (address->any.sa_family == AF_INET) return is_here_v4((const unsigned char*)&address->v4.sin_addr);
  const struct in6_addr* ip = &address->v6.sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(ip)) return is_here_v4(ip->s6_addr + 12);
  return IN6_IS_ADDR_LOOPBACK(ip) || IN6_IS_ADDR_UNSPECIFIED(ip) || routed_here(AF_INET6, ip, 16);
}

// Whether the socket's port is one of this machine; `own`: its address cannot be another's. errno is as
// before.
static int is_ours(int fd, const union address* address, int own) {
  const int before = errno;
  const int ours = is_tcp(fd) && (own || is_here(address));
  errno = before;
  return ours;
}

// ---- the functions ----------------------------------------------------------------------------------

enum { kBind, kConnect, kSockName, kPeerName, kFunctions };
static void* next[kFunctions];

static void* next_of(int function) {
  static const char names[kFunctions][12] = {"bind", "connect", "getsockname", "getpeername"};
  void* found = __atomic_load_n(&next[function], __ATOMIC_RELAXED);
  if (!found && dlsym) {
    void* const after_this_library = (void*)-1;  // RTLD_NEXT
    found = dlsym(after_this_library, names[function]);
    __atomic_store_n(&next[function], found, __ATOMIC_RELAXED);
  }
  return found;
}

// At the start, since dlsym() locks; a library that comes before this one finds all done at its first call.
__attribute__((constructor)) static void prepare(void) {
  ports();
  for (int function = 0; function < kFunctions; ++function) next_of(function);
}

// bind() and connect(). The address is the caller's, so that a copy is changed.
static int to_given(int function, long number, int fd, const struct sockaddr* address, socklen_t size) {
  int (*const call)(int, const struct sockaddr*, socklen_t) = next_of(function);
  const struct pair pair = ports();
  union address copy;
  in_port_t* port = NULL;
  if (pair.asked && address && size <= sizeof copy) {
    memcpy(&copy, address, size);
    port = port_in(&copy, size);
  }
  if (port && ntohs(*port) == pair.asked && is_ours(fd, &copy, function == kBind)) {
    *port = htons(pair.given);
    address = &copy.any;
  }
  return call ? call(fd, address, size) : (int)syscall(number, fd, address, size);
}

// getsockname() and getpeername().
static int from_given(int function, long number, int fd, struct sockaddr* address, socklen_t* size) {
  int (*const call)(int, struct sockaddr*, socklen_t*) = next_of(function);
  const socklen_t room = size ? *size : 0;
  const int result = call ? call(fd, address, size) : (int)syscall(number, fd, address, size);
  const struct pair pair = ports();
  if (result != 0 || !pair.asked) return result;
  union address* const found = (union address*)address;
  in_port_t* port = port_in(found, room < *size ? room : *size);
  if (port && ntohs(*port) == pair.given && is_ours(fd, found, function == kSockName))
    *port = htons(pair.asked);
  return 0;
}

EXPORT int bind(int fd, const struct sockaddr* address, socklen_t size) {
  return to_given(kBind, SYS_bind, fd, address, size);
}

EXPORT int connect(int fd, const struct sockaddr* address, socklen_t size) {
  return to_given(kConnect, SYS_connect, fd, address, size);
}

EXPORT int getsockname(int fd, struct sockaddr* address, socklen_t* size) {
  return from_given(kSockName, SYS_getsockname, fd, address, size);
}

EXPORT int getpeername(int fd, struct sockaddr* address, socklen_t* size) {
  return from_given(kPeerName, SYS_getpeername, fd, address, size);
}
