#include "mpi/http_store.h"

#include <algorithm>
#include <charconv>

namespace phalanx::mpi {

namespace {

constexpr size_t kMostHeader = 16u << 10;
constexpr size_t kMostHeld = 256u << 20;  // 10000 ranks put 20 MB or so

std::string reply(std::string_view status, std::string_view body = "") {
  std::string text = "HTTP/1.0 ";
  text.append(status).append("\r\nContent-Length: ").append(std::to_string(body.size()));
  return text.append("\r\n\r\n").append(body);
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The text before `mark`, which it takes away from `rest` with the mark; all of it where there is none.
std::string_view take(std::string_view& rest, std::string_view mark) {
  const size_t end = rest.find(mark);
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + mark.size());
  return taken;
}

// 0 without a Content-Length, none when it is no number.
std::optional<size_t> body_length(std::string_view headers) {
  while (!headers.empty()) {
    std::string_view value = take(headers, "\r\n");
    if (!same_word(take(value, ":"), "Content-Length")) continue;
    while (value.starts_with(' ')) value.remove_prefix(1);
    size_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    return length;
  }
  return 0;
}

}  // namespace

std::optional<std::string> HttpStore::answer(std::string_view received) {
  const size_t header_end = received.find("\r\n\r\n");
  if (std::min(header_end, received.size()) > kMostHeader)
    return reply("431 Request Header Fields Too Large");
  if (header_end == received.npos) return std::nullopt;
  std::string_view headers = received.substr(0, header_end);
  std::string_view version = take(headers, "\r\n");
  const std::string_view method = take(version, " "), path = take(version, " ");
  const auto length = body_length(headers);
  if (!version.starts_with("HTTP/1.") || !length) return reply("400 Bad Request");
  if (*length > kMostHeld) return reply("413 Content Too Large");
  const std::string_view body = received.substr(header_end + 4);
  if (body.size() < *length) return std::nullopt;
  return perform(method, path, body.substr(0, *length));
}

std::string HttpStore::perform(std::string_view method, std::string_view path, std::string_view body) {
  if (!path.starts_with('/') || std::count(path.begin(), path.end(), '/') != 2)
    return reply("400 Bad Request");  // /SCOPE/KEY
  if (method == "PUT") return put(path, body);
  if (method == "GET") {
    const auto found = values_.find(path);
    return found == values_.end() ? reply("404 Not Found") : reply("200 OK", found->second);
  }
  if (method != "DELETE") return reply("501 Not Implemented");
  // A rank takes itself away, and with it the name of its host, which Gloo keeps under another key.
  remove(path);
  const size_t slash = path.rfind('/');
  remove(std::string(path.substr(0, slash + 1)) + "rank_" + std::string(path.substr(slash + 1)));
  return reply("200 OK");
}

std::string HttpStore::put(std::string_view path, std::string_view body) {
  remove(path);
  if (held_ + path.size() + body.size() > kMostHeld) return reply("507 Insufficient Storage");
  held_ += path.size() + body.size();
  values_.emplace(path, body);
  return reply("200 OK");
}

void HttpStore::remove(std::string_view path) {
  const auto found = values_.find(path);
  if (found == values_.end()) return;
  held_ -= found->first.size() + found->second.size();
  values_.erase(found);
}

}  // namespace phalanx::mpi
