#include "net/greeting.h"

namespace phalanx::net {

namespace json = boost::json;

std::string greeting(const json::object& words) { return json::serialize(words) + "\n"; }

Result<std::optional<json::object>> Greeting::feed(std::string_view bytes) {
  constexpr size_t kMost = 1u << 20;
  unread_ += bytes;
  const size_t end = unread_.find('\n');
  if (end == std::string::npos) {
    if (unread_.size() > kMost) return Error{Code::invalid, "a greeting without end"};
    return std::optional<json::object>();
  }
  boost::system::error_code error;
  json::value words = json::parse(std::string_view(unread_).substr(0, end), error);
  if (error || !words.is_object()) return Error{Code::invalid, "a greeting that is no JSON object"};
  unread_.erase(0, end + 1);
  return std::optional<json::object>(std::move(words.get_object()));
}

}  // namespace phalanx::net
