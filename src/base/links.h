// links.h - where symbolic links lead.
#pragma once

#include <string>

namespace phalanx {

// Whether the link at `path` (relative, through folders that are no links) leads to a file or folder in the
// folder `top`, by relative links alone: then a copy of all of `top` can keep it as it is.
bool leads_inside(int top, const std::string& path);

}  // namespace phalanx
