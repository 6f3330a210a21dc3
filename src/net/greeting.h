// greeting.h - the first words on a connection: one JSON object each way, a line each, before the channels.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::net {

std::string greeting(const boost::json::object& words);

class Greeting {
 public:
  // Nothing yet; or the words, and what came behind them is rest(). An error on a line that is too long or no
  // object.
  Result<std::optional<boost::json::object>> feed(std::string_view bytes);
  std::string rest() && { return std::move(unread_); }

 private:
  std::string unread_;
};

}  // namespace phalanx::net
