// What this machine can do at most: multiply-adds, and bytes from memory. The profiler compares steps with it.
#pragma once

#include <cstddef>

#include "base/thread_pool.h"

namespace jitney {

struct MachinePeak {
  double flops_per_second = 0;  // float32 multiply-adds at the level in force, counting two
  double bytes_per_second = 0;  // read from more memory than caches hold
};

/// Measured with so many threads; takes some 300 ms, and 128 MiB for that while (less if there is not so much).
MachinePeak measure_peak(ThreadPool& pool, std::size_t threads);

}  // namespace jitney
