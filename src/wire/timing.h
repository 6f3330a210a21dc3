// timing.h - how long coordinator and node wait for a sign of life of one another (contract: docs/ending.md).
//
// A supervisor that hears nothing from the coordinator for kLease kills its ranks; a guard that hears nothing
// from its supervisor for kLease + kGuardSlack kills them all. The coordinator counts a node as lost after
// kLease + kLostSlack, so it never starts anew beside ranks that still live.
#pragma once

#include <chrono>

namespace phalanx::wire {

inline constexpr std::chrono::milliseconds kHeartbeat{1000};
inline constexpr std::chrono::milliseconds kLease{5000};
inline constexpr std::chrono::milliseconds kPrepareLease{20000};  // instead, while a node receives its files
inline constexpr std::chrono::milliseconds kGuardSlack{1000};     // the supervisor gets to act first
inline constexpr std::chrono::milliseconds kLostSlack{2000};

static_assert(kLease >= 3 * kHeartbeat);
static_assert(kLostSlack > kGuardSlack);

}  // namespace phalanx::wire
