// Proves a memory plan independently of the code that made it.
#pragma once

#include <span>
#include <string>

#include "plan/memory.h"

namespace jitney {

/// Empty if every buffer lies inside the arena, is aligned, and shares no byte with another that lives at the same step;
/// otherwise says which two collide. Written as a sweep over steps, unlike the planner's pairwise placement.
std::string verify_memory(std::span<const Lifetime> buffers, const MemoryPlan& plan);

}  // namespace jitney
