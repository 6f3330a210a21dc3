// ssh.h - the ssh engine: a list of hosts, the first of which runs the coordinator.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "spec/compute.h"

namespace phalanx::engine::ssh {

// As those of engine.h.
Result<plan::Plan> preview(const Submission& submission, const spec::Compute& compute);
Result<Handle> submit(Submission submission, const spec::Compute& compute, Interrupts& interrupts);

// On the first host: the order on standard input, the meeting on standard output; the coordinator is detached
// then. The exit code.
int coordinate();
// That of it where the store turned out to lack something that it had: send again.
inline constexpr int kLacksData = 4;

}  // namespace phalanx::engine::ssh
