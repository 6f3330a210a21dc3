// The keys of an event, as a reader takes them.
#include "job/iso_time.h"
#include "job/state_parts.h"

namespace phalanx::job {

std::string text_of(const Object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<int64_t> number_of(const Object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_uint64() && value->get_uint64() <= INT64_MAX)
    return static_cast<int64_t>(value->get_uint64());
  if (!value->is_int64()) return std::nullopt;
  return value->get_int64();
}

int int_of(const Object& data, std::string_view key, int otherwise) {
  const auto number = number_of(data, key);
  return number && *number >= INT32_MIN && *number <= INT32_MAX ? static_cast<int>(*number) : otherwise;
}

double seconds_of(const Object& data, std::string_view key, double otherwise) {
  const auto* value = data.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : otherwise;
}

bool flag_of(const Object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

boost::json::value time_json(double seconds) {
  const std::string text = iso_time(seconds);
  return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
}

}  // namespace phalanx::job
