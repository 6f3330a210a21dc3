// secure_stream.h - bytes over a TCP connection that only the two who share a secret can read, write or
// begin. One thread, in a loop; never blocks.
//
// TLS 1.3 with an external pre-shared key (RFC 8446 2.2) and an ephemeral key exchange, without certificates:
// the trust store is empty, and a handshake in which the key was not used is an error at both ends. A
// stranger gets nothing but the end of the connection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::net {

inline constexpr size_t kSecretSize = 32;  // bytes
Result<std::string> random_secret();
std::string random_token();  // 32 hexadecimal digits

class SecureStream {
 public:
  enum class Role { client, server };
  struct Calls {
    std::function<void()> ready;  // the peer has proven the secret
    std::function<void(std::string_view bytes)> bytes;
    std::function<void(const std::string& why)> closed;  // once; "" is the peer's orderly end
    // What had to wait is with the network now; for senders that can wait.
    std::function<void()> drained = {};
  };
  // `socket` may still be connecting. `identity` is public, and the same at both ends: the name of the job.
  // Callbacks come from the loop and must not destroy the stream.
  SecureStream(Loop& loop, UniqueFd socket, Role role, const std::string& identity, const std::string& secret,
               Calls calls);
  ~SecureStream();
  SecureStream(const SecureStream&) = delete;
  SecureStream& operator=(const SecureStream&) = delete;

  void set_calls(Calls calls);        // who is called from the next callback on; also from within one
  void send(std::string_view bytes);  // before ready(): waits
  size_t unsent() const { return unsent_.size() - sent_; }
  bool closed() const { return !socket_; }
  int socket() const { return socket_.get(); }

 private:
  struct Keys;
  struct Session;
  void on_ready(uint32_t events);
  bool handshake();  // false: not yet, or closed
  void read_some();
  void write_some();
  void want(int error);
  void close(const std::string& why);
  template <class Use>
  void call(Use use);

  Loop& loop_;
  UniqueFd socket_;
  std::shared_ptr<const Calls> calls_;  // shared: a callback may set others while it runs
  std::unique_ptr<Session> session_;
  std::string unsent_;
  size_t sent_ = 0;  // of unsent_, which is not moved up for each piece
  bool connected_ = false, secured_ = false, wants_write_ = false;
  Loop::Watch watch_;
};

}  // namespace phalanx::net
