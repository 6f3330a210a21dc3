// http_store.h - the rendezvous of Horovod's Gloo, the server's side: keys and values behind a little HTTP.
// Pure: bytes in, bytes out; sockets are the caller's.
//
// A rank puts its addresses (PUT /SCOPE/RANK), asks for those of the others until they are there (GET, 404
// while they are not), and takes its own away when all are connected (DELETE). Contract: Horovod's
// runner/http/http_server.py and common/gloo/http_store.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace phalanx::mpi {

class HttpStore {
 public:
  // The whole answer, once `received`, all that has come over one connection, is a whole request or can never
  // be one. A connection carries one request.
  std::optional<std::string> answer(std::string_view received);

 private:
  std::string perform(std::string_view method, std::string_view path, std::string_view body);
  std::string put(std::string_view path, std::string_view body);
  void remove(std::string_view path);

  std::map<std::string, std::string, std::less<>> values_;
  size_t held_ = 0;  // bytes of keys and values
};

}  // namespace phalanx::mpi
