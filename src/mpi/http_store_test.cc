#include "mpi/http_store.h"

#include <gtest/gtest.h>

namespace phalanx::mpi {
namespace {

// As Horovod's client writes it.
std::string request(const std::string& method, const std::string& path, const std::string& body = "") {
  return method + " " + path +
         " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ask(HttpStore& store, const std::string& text) { return store.answer(text).value_or("(more)"); }

const std::string kOk = "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
const std::string kAbsent = "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n";

TEST(HttpStore, gives_what_was_put_until_it_is_taken_away) {
  HttpStore store;
  const std::string value("\0\r\n\r\n\xff", 6);
  EXPECT_EQ(ask(store, request("GET", "/global/0")), kAbsent);
  EXPECT_EQ(ask(store, request("PUT", "/global/0", value)), kOk);
  EXPECT_EQ(ask(store, request("PUT", "/global/rank_0", "node-0")), kOk);
  EXPECT_EQ(ask(store, request("GET", "/global/0")), "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\n" + value);
  EXPECT_EQ(ask(store, request("GET", "/local_node-0/0")), kAbsent);  // another scope
  EXPECT_EQ(ask(store, request("PUT", "/global/0", "new")), kOk);
  EXPECT_EQ(ask(store, request("GET", "/global/0")), "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nnew");
  EXPECT_EQ(ask(store, request("DELETE", "/global/0")), kOk);
  EXPECT_EQ(ask(store, request("GET", "/global/0")), kAbsent);
  EXPECT_EQ(ask(store, request("GET", "/global/rank_0")), kAbsent);
  EXPECT_EQ(ask(store, request("DELETE", "/global/0")), kOk);  // twice is no trouble
}

TEST(HttpStore, waits_for_the_rest_of_a_request) {
  HttpStore store;
  const std::string whole = request("PUT", "/global/0", "value");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(store.answer(std::string_view(whole).substr(0, length))) << length;
  EXPECT_EQ(ask(store, whole), kOk);
}

TEST(HttpStore, takes_headers_in_any_case_and_does_without_a_length) {
  HttpStore store;
  EXPECT_EQ(ask(store, "PUT /a/b HTTP/1.1\r\ncontent-length:  2\r\nX: y\r\n\r\nhi"), kOk);
  EXPECT_EQ(ask(store, "GET /a/b HTTP/1.0\r\n\r\n"), "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi");
}

TEST(HttpStore, says_what_it_cannot_do) {
  HttpStore store;
  const auto status = [&](const std::string& text) { return ask(store, text).substr(9, 3); };
  for (const char* path : {"", "/", "/scope", "/a/b/c", "scope/key", "*"})
    EXPECT_EQ(status(request("GET", path)), "400") << path;
  EXPECT_EQ(status("\r\n\r\n"), "400");
  EXPECT_EQ(status("GET /a/b SPDY/3\r\n\r\n"), "400");
  for (const char* length : {"", "-1", "1x", "99999999999999999999999"})
    EXPECT_EQ(status("PUT /a/b HTTP/1.1\r\nContent-Length: " + std::string(length) + "\r\n\r\n"), "400");
  EXPECT_EQ(status("PUT /a/b HTTP/1.1\r\nContent-Length: 300000000\r\n\r\n"), "413");
  EXPECT_EQ(status(request("POST", "/a/b")), "501");
  EXPECT_EQ(status(std::string(17u << 10, 'x')), "431");
}

}  // namespace
}  // namespace phalanx::mpi
