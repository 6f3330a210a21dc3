// control.h - the socket at which programs on this machine ask a coordinator for something. Inside
// `coordinator` only.
//
// One JSON object a line each way (engine/engine.h has the requests). A client that sends rubbish, or does
// not read, is closed and disturbs nobody.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <list>
#include <string>

#include "base/loop.h"
#include "base/unique_fd.h"

namespace phalanx::coordinator {

class Control {
 public:
  using Answer = std::function<boost::json::object(const boost::json::object& request)>;

  Control(Loop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {}
  ~Control();

  Status listen(const std::string& path);
  // A client that is connected already; `gone` is called when it closes.
  void adopt(UniqueFd client, std::function<void()> gone);
  void close_all();  // without calling `gone`

 private:
  struct Client {
    UniqueFd socket;
    std::string partial;
    std::function<void()> gone;
    Loop::Watch watch;
  };
  void accept();
  void on_client(std::list<Client>::iterator client);
  void answer_lines(Client& client);
  void close(std::list<Client>::iterator client);

  Loop& loop_;
  Answer answer_;
  std::string path_;
  UniqueFd listener_;
  Loop::Watch watch_;
  std::list<Client> clients_;
};

}  // namespace phalanx::coordinator
