// local.h - the local engine: a job on this machine, as one process tree per node. Nothing needs to be set
// up.
#pragma once

#include "base/result.h"
#include "engine/engine.h"

namespace phalanx::engine::local {

// As those of engine.h.
Result<plan::Plan> preview(const Submission& submission);
Result<Handle> submit(Submission submission, Interrupts& interrupts);

}  // namespace phalanx::engine::local
