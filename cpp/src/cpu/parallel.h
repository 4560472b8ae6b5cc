// Splits loops over the pool's threads: in pieces whose bounds depend on the work alone, never on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plan/backend.h"

namespace jitney::cpu {

/// About this much work (in nanoseconds) is worth a piece of its own; loops with less than two pieces stay on the caller.
inline constexpr double kPieceNanoseconds = 8000;

/// Items per piece for items that cost about so much each.
inline std::int64_t piece_size(double nanoseconds_per_item) {
  return static_cast<std::int64_t>(std::clamp(kPieceNanoseconds / std::max(nanoseconds_per_item, 0.01), 1.0, 1e9));
}

/// body(index, worker) for all indices, on the pool's threads.
template <typename Body>
void on_all_threads(const StepRun& run, std::size_t count, const Body& body) {
  run.pool->parallel_for(run.threads, count, [&](std::size_t index, std::size_t worker) {
    const WorkerWatch::Span span(run.watch, worker);
    body(index, worker);
  });
}

/// body(begin, end, worker) over pieces of [0, count); `piece` items each, the last shorter. Inline if one piece is all.
template <typename Body>
void parallel_ranges(const StepRun& run, std::int64_t count, std::int64_t piece, const Body& body) {
  const std::int64_t pieces = (count + piece - 1) / piece;
  if (pieces <= 1 || run.threads <= 1) {
    if (count > 0) {
      body(std::int64_t{0}, count, std::size_t{0});
    }
    return;
  }
  const auto one = [&](std::size_t index, std::size_t worker) {
    const std::int64_t begin = static_cast<std::int64_t>(index) * piece;
    body(begin, std::min(begin + piece, count), worker);
  };
  on_all_threads(run, static_cast<std::size_t>(pieces), one);
}

/// body(task, worker) for tasks that cost about so much in all; on the caller alone if that is little.
template <typename Body>
void parallel_tasks(const StepRun& run, std::size_t tasks, double nanoseconds, const Body& body) {
  if (run.threads <= 1 || tasks <= 1 || nanoseconds < 2 * kPieceNanoseconds) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, std::size_t{0});
  } else {
    on_all_threads(run, tasks, body);
  }
}

/// Rough cost of so many multiply-adds.
inline double product_nanoseconds(double m, double n, double k) { return m * n * k * 0.03; }

}  // namespace jitney::cpu
