// What a plan looks like from outside: its steps, and its buffers in the arena.
#pragma once

#include <vector>

#include "jitney/session.h"
#include "runtime/plan_cache.h"

namespace jitney {

/// The plan's steps in their order, and last the node with data-dependent sizes that it ends at, if there is one.
std::vector<StepReport> describe_steps(const CachedPlan& cached);

/// Buffers of the arena, workspace included.
std::vector<BufferReport> describe_buffers(const Plan& plan);

}  // namespace jitney
