// control.h - what the coordinator of a job can be asked, and a connection to it.
//
// One JSON object a line each way:
//   {"do": "cancel", ...}                                   the keys of CancelRequest
//       -> {"ok": true} | {"ok": false, "error": ...}
//   {"do": "exec", "host": "node-1", "command": "..."}      launch: head; one for each connection, whose end
//                                                           ends it
//       -> {"output": "...", "error": false} ..., {"exit": 0, "why": ""} | {"ok": false, "error": ...}
//   {"do": "more", "bytes": 4096}                           so much of the output was read
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "job/exit.h"
#include "job/layout.h"

namespace phalanx::job {

// Code::unavailable when nobody listens there.
Result<UniqueFd> connect_control(const std::string& job_folder);

// Somebody wants the end of a job.
struct CancelRequest {
  std::string why = "cancel";   // or "interrupt", "terminate", "hangup": the signal that the submitter had
  std::string by = "somebody";  // a user's name
  bool kill = false;            // without the job's time of grace
};
boost::json::object to_json(const CancelRequest& request);
CancelRequest read_cancel(const boost::json::object& object);  // what is missing is as above

// The same as a note in the job's folder, where its coordinator is reached by a signal only.
Status leave_note(const CancelRequest& request, const Layout& layout);
std::optional<CancelRequest> read_note(const Layout& layout);  // nothing: nobody has left one

// Of a job that was canceled so; `why` can also be "timeout" or "signal".
Exit exit_of_cancel(const std::string& why);

}  // namespace phalanx::job
