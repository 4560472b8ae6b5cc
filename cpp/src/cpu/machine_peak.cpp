// Measures by the clock: the best of several short rounds, each on all threads.
#include "cpu/machine_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>

#include "base/aligned.h"
#include "cpu/kernels/peak/peak.h"
#include "jitney/error.h"

namespace jitney {
namespace {

constexpr int kTries = 7;
constexpr std::size_t kRounds = std::size_t{1} << 20;
constexpr std::size_t kMemory = std::size_t{128} << 20;

/// Seconds that `body(thread)` takes on all threads, at best.
double best_time(ThreadPool& pool, std::size_t threads, const std::function<void(std::size_t)>& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point start = Clock::now();
    pool.parallel_for(threads, threads, [&](std::size_t part, std::size_t) { body(part); });
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return std::max(best, 1e-9);
}

AlignedBuffer memory_for_reading(std::size_t& bytes) {
  for (;; bytes /= 2) {
    try {
      AlignedBuffer memory = make_aligned(bytes);
      std::fill_n(memory.get(), bytes, std::byte{1});  // or all of it would be one page of zeros
      return memory;
    } catch (const Error&) {
      if (bytes < (std::size_t{1} << 20)) throw;
    }
  }
}

}  // namespace

MachinePeak measure_peak(ThreadPool& pool, std::size_t threads) {
  const kernels::PeakKernel& kernel = kernels::peak_kernel(active_isa());
  std::atomic<std::uint64_t> seen{0};  // so that nothing is left out as unused
  const double computing = best_time(pool, threads, [&](std::size_t part) {
    seen += static_cast<std::uint64_t>(kernel.run(kRounds, 0.5F, 1.0F + static_cast<float>(part)));
  });
  MachinePeak peak;
  peak.flops_per_second = kernel.flops_per_round * static_cast<double>(kRounds * threads) / computing;

  std::size_t bytes = kMemory;
  const AlignedBuffer memory = memory_for_reading(bytes);
  const auto* words = reinterpret_cast<const std::uint64_t*>(memory.get());
  const std::size_t part_words = bytes / sizeof(std::uint64_t) / threads;
  const double reading = best_time(pool, threads, [&](std::size_t part) {
    std::uint64_t sum = 0;
    for (std::size_t i = part * part_words; i < (part + 1) * part_words; ++i) sum += words[i];
    seen += sum;
  });
  peak.bytes_per_second = static_cast<double>(part_words * sizeof(std::uint64_t) * threads) / reading;
  return peak;
}

}  // namespace jitney
