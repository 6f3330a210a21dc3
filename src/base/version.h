// version.h - which Phalanx this is. Coordinator and node compare it: they must be of the same build.
#pragma once

namespace phalanx {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr const char* kBuild = "phalanx 0.1.0";

}  // namespace phalanx
