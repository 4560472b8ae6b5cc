// Big and little cores, as made-up kernels tell of them.
#include "base/core_speeds.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/thread_pool.h"
#include "doctest/doctest.h"

using namespace jitney;

namespace {

using Speeds = std::vector<std::uint64_t>;

/// A folder like /sys/devices/system/cpu.
class Kernel {
 public:
  Kernel() : root_(std::filesystem::temp_directory_path() / ("jitney_cores_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~Kernel() { std::filesystem::remove_all(root_); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void say(std::size_t cpu, const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_ / ("cpu" + std::to_string(cpu)) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("capacities come before frequencies, of the CPUs that are asked for") {
  const Kernel kernel;
  const Speeds capacities = {325, 325, 325, 325, 830, 830, 830, 1024};
  for (std::size_t cpu = 0; cpu < capacities.size(); ++cpu) {
    kernel.say(cpu, "cpu_capacity", std::to_string(capacities[cpu]) + "\n");
    kernel.say(cpu, "cpufreq/cpuinfo_max_freq", "2000000\n");
  }
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6, 7}, some = {2, 3, 7};
  CHECK(core_speeds(all, kernel.root()) == capacities);
  CHECK(core_speeds(some, kernel.root()) == Speeds{325, 325, 1024});
}

TEST_CASE("frequencies where there are no capacities, and nothing where a CPU lacks both") {
  const Kernel kernel;
  const std::vector<std::size_t> cpus = {0, 1};
  CHECK(core_speeds(cpus, kernel.root()) == Speeds{0, 0});
  kernel.say(0, "cpufreq/cpuinfo_max_freq", "1800000");
  CHECK(core_speeds(cpus, kernel.root()) == Speeds{0, 0});
  kernel.say(1, "cpufreq/cpuinfo_max_freq", "2400000");
  CHECK(core_speeds(cpus, kernel.root()) == Speeds{1800000, 2400000});
  kernel.say(1, "cpufreq/cpuinfo_max_freq", "<unknown>");
  CHECK(core_speeds(cpus, kernel.root()) == Speeds{0, 0});
}

TEST_CASE("fast cores are those that keep up with the fastest") {
  CHECK(fast_cores(Speeds{325, 325, 325, 325, 830, 830, 830, 1024}) == 4);  // three clusters
  CHECK(fast_cores(Speeds{446, 446, 446, 446, 1024, 1024}) == 2);
  CHECK(fast_cores(Speeds{530, 530, 530, 530, 1024, 1024, 1024, 1024}) == 4);
  CHECK(fast_cores(Speeds{1500000, 1500000, 1500000, 1500000}) == 4);
  CHECK(fast_cores(Speeds{4700000, 5100000}) == 2);
  CHECK(fast_cores(Speeds{0, 0, 0}) == 3);  // not known: all
  CHECK(fast_cores(Speeds{}) == 0);
}

TEST_CASE("by default a run gets at least one thread and no more than there are cores") {
  CHECK(ThreadPool::default_threads() >= 1);
  CHECK(ThreadPool::default_threads() <= ThreadPool::available_threads());
}
