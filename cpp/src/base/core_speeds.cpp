// Reads the speeds of cores as Linux tells them.
#include "base/core_speeds.h"

#include <algorithm>
#include <fstream>

namespace jitney {
namespace {

/// The number in that file of each CPU's folder; all zero unless every CPU has it.
std::vector<std::uint64_t> read_all(std::span<const std::size_t> cpus, const std::string& folder, const std::string& file) {
  std::vector<std::uint64_t> values;
  for (const std::size_t cpu : cpus) {
    std::ifstream stream(folder + "/cpu" + std::to_string(cpu) + "/" + file);
    std::uint64_t value = 0;
    if (!(stream >> value) || value == 0) return std::vector<std::uint64_t>(cpus.size(), 0);
    values.push_back(value);
  }
  return values;
}

}  // namespace

std::vector<std::uint64_t> core_speeds(std::span<const std::size_t> cpus, const std::string& folder) {
  std::vector<std::uint64_t> speeds = read_all(cpus, folder, "cpu_capacity");
  if (std::ranges::all_of(speeds, [](std::uint64_t speed) { return speed == 0; }))
    speeds = read_all(cpus, folder, "cpufreq/cpuinfo_max_freq");
  return speeds;
}

std::size_t fast_cores(std::span<const std::uint64_t> speeds) noexcept {
  if (speeds.empty()) return 0;
  const std::uint64_t fastest = std::ranges::max(speeds);
  return static_cast<std::size_t>(
      std::ranges::count_if(speeds, [fastest](std::uint64_t speed) { return speed >= fastest - fastest / 5 * 2; }));
}

}  // namespace jitney
