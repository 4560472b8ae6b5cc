// The CPU backend: fast steps where there are some, reference kernels elsewhere.
#pragma once

#include <memory>

#include "plan/backend.h"

namespace jitney {

/// Named "cpu". Kernels are chosen by active_isa().
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace jitney
