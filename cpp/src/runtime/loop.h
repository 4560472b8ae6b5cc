// Runs loops: the body is a program of its own, planned for the shapes that it meets, in a context of its own.
#pragma once

#include "runtime/executor.h"

namespace jitney {

/// Runs the loop at which `plan` is cut, whose operands are in level.dynamic; fills level.results.
void run_loop(const Engine& engine, const Plan& plan, ExecutionContext::Level& level);

}  // namespace jitney
