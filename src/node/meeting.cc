// How a node learns where its coordinator is.
#include <boost/json.hpp>

#include "node/uplink.h"

namespace phalanx::node {

namespace json = boost::json;

namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return "";
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

std::string to_json(const Meeting& meeting) {
  return json::serialize(json::object{{"job", meeting.job},
                                      {"addresses", json::value_from(meeting.addresses)},
                                      {"port", meeting.port},
                                      {"secret", hex(meeting.secret)}});
}

Result<Meeting> read_meeting(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  const Error wrong{Code::invalid, "no meeting with a coordinator"};
  if (error || !value.is_object()) return wrong;
  const json::object& object = value.get_object();
  const auto *job = object.if_contains("job"), *addresses = object.if_contains("addresses"),
             *port = object.if_contains("port"), *secret = object.if_contains("secret");
  if (!job || !job->is_string() || !addresses || !addresses->is_array() || !port || !secret ||
      !secret->is_string())
    return wrong;
  Meeting meeting;
  meeting.job = std::string(job->get_string());
  for (const json::value& address : addresses->get_array()) {
    if (!address.is_string()) return wrong;
    meeting.addresses.emplace_back(address.get_string());
  }
  meeting.port = port->to_number<uint16_t>(error);
  meeting.secret = from_hex(std::string_view(secret->get_string()));
  if (error || meeting.addresses.empty() || meeting.secret.size() != 32) return wrong;
  return meeting;
}

}  // namespace phalanx::node
