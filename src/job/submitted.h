// submitted.h - the first event of a job: what was asked for, by whom.
#pragma once

#include <boost/json.hpp>
#include <string>

namespace phalanx::job {

std::string user_name();  // of whoever runs us, or his number

// The keys of "submitted". `host`: of the machine on which that was. `tasks`: how many; 0: it has ranks.
boost::json::object submitted(const std::string& name, const std::string& host, size_t nodes, int world,
                              size_t tasks, bool foreground);

}  // namespace phalanx::job
