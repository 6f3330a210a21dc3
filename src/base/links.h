// links.h - where symbolic links lead.
#pragma once

#include <optional>
#include <string>

namespace phalanx {

// Where the link at `path` (relative, through folders that are no links) leads to in the folder `top`, as a
// path from there without links; nothing where that is no file or folder in it, or is not reached by relative
// links alone. If there is one, a copy of all of `top` can keep the link as it is.
std::optional<std::string> leads_inside(int top, const std::string& path);

}  // namespace phalanx
