// rendezvous.h - the HttpStore where Horovod's Gloo meets, at an address of this node: its sockets, in the
// supervisor's loop. What a client sends is never trusted; one that asks for nothing keeps nobody waiting.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "mpi/http_store.h"

namespace phalanx::mpi {

class Rendezvous {
 public:
  explicit Rendezvous(Loop& loop) : loop_(loop) {}

  // On a port that is held for the job: bound, and not listened to.
  Status listen(const std::string& address, uint16_t port);

 private:
  struct Client {
    UniqueFd socket;
    std::string received, unsent;
    Loop::Watch watch;
  };
  using Place = std::list<Client>::iterator;
  void accept();
  void on_readable(Place client);
  void on_writable(Place client);

  Loop& loop_;
  HttpStore store_;
  UniqueFd listener_;
  Loop::Watch watch_;
  std::list<Client> clients_;
};

}  // namespace phalanx::mpi
