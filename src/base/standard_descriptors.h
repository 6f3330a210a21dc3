// standard_descriptors.h - 0, 1 and 2 as we were started with them.
#pragma once

namespace phalanx {

// Whether it was closed: what open_standard_descriptors() has put there takes all and keeps nothing.
bool was_closed(int fd);

}  // namespace phalanx
