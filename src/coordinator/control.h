// control.h - the socket at which programs on this machine ask a coordinator for something. Inside
// `coordinator` only.
//
// One JSON object a line each way (job/control.h has the requests). A client that sends rubbish, or does
// not read, is closed and disturbs nobody.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/unique_fd.h"

namespace phalanx::coordinator {

class Control {
 public:
  // Nothing: the answer comes later, by send().
  using Answer =
      std::function<std::optional<boost::json::object>(uint64_t client, const boost::json::object& request)>;
  using Gone = std::function<void(uint64_t client)>;

  Control(Loop& loop, Answer answer, Gone gone)
      : loop_(loop), answer_(std::move(answer)), gone_(std::move(gone)) {}
  ~Control();

  Status listen(const std::string& path);
  // A client that is connected already; `gone` is called when it closes.
  void adopt(UniqueFd client, std::function<void()> gone);
  void send(uint64_t client, const boost::json::object& message);
  void close_all();  // without calling `gone`

 private:
  struct Client {
    uint64_t id = 0;
    UniqueFd socket;
    std::string partial, unsent;
    std::function<void()> gone;
    Loop::Watch watch;
  };
  void accept();
  void on_client(std::list<Client>::iterator client);
  void on_readable(std::list<Client>::iterator client);
  void answer_lines(Client& client);
  void queue(Client& client, const boost::json::object& message);
  void write_some(Client& client);
  void close(std::list<Client>::iterator client);

  Loop& loop_;
  Answer answer_;
  Gone gone_;
  uint64_t last_client_ = 0;
  std::string path_;
  UniqueFd listener_;
  Loop::Watch watch_;
  std::list<Client> clients_;
};

}  // namespace phalanx::coordinator
