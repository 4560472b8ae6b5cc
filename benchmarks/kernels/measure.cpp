// Timing of a case: minima over rounds, with warm operands or with weights that no cache holds.
#include <algorithm>
#include <chrono>
#include <numeric>

#include "bench.h"
#include "cpu/kernels/peak/peak.h"

namespace jitney::bench {
namespace {

constexpr std::size_t kColdBytes = std::size_t{96} << 20;
constexpr double kRoundNanoseconds = 2e6;
constexpr int kRounds = 9;

double nanoseconds(const std::function<void()>& run, std::size_t times) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < times; ++i) run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Timing measure(const Case& wanted, bool cold) {
  const std::size_t copies = cold && wanted.weight_bytes != 0 ? kColdBytes / wanted.weight_bytes + 1 : 1;
  const std::function<void()> run = wanted.prepare(copies);
  run();
  const double once = std::max(1.0, nanoseconds(run, 1));
  const auto times = std::max<std::size_t>(1, static_cast<std::size_t>(kRoundNanoseconds / once));
  Timing best{1e300};
  for (int round = 0; round < kRounds; ++round)
    best.nanoseconds = std::min(best.nanoseconds, nanoseconds(run, times) / static_cast<double>(times));
  return best;
}

double peak_gflops(Isa isa) {
  constexpr std::size_t kTimes = 1'000'000;
  const kernels::PeakKernel& kernel = kernels::peak_kernel(isa);
  volatile float sink = 0;
  double best = 1e300;
  for (int round = 0; round < kRounds; ++round)
    best = std::min(best, nanoseconds([&] { sink = kernel.run(kTimes, 0.5f, 0.25f); }, 1));
  return kernel.flops_per_round * kTimes / best;
}

double read_bandwidth() {
  const std::vector<std::uint64_t> data((std::size_t{256} << 20) / sizeof(std::uint64_t), 1);
  volatile std::uint64_t sink = 0;
  double best = 1e300;
  for (int round = 0; round < 3; ++round)
    best = std::min(best, nanoseconds([&] { sink = std::accumulate(data.begin(), data.end(), std::uint64_t{0}); }, 1));
  return static_cast<double>(data.size() * sizeof(std::uint64_t)) / best;
}

}  // namespace jitney::bench
