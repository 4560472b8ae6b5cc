// How many threads this process can keep running: its affinity mask and its cgroup's CPU quota.
#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/core_speeds.h"
#include "base/thread_pool.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace jitney {

namespace {

#if defined(__linux__)

/// The CPUs that this process may run on; empty where they are not known.
std::vector<std::size_t> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::size_t> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

/// Whole CPUs that "quota period" grants, rounded up; 0 where there is no limit.
std::size_t quota_count(double quota, double period) {
  return quota > 0 && period > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(quota / period + 0.999)) : 0;
}

/// Tightest cpu.max (cgroup v2) on the way from `path` up to the root of the hierarchy.
std::size_t quota_v2(std::string path) {
  std::size_t least = 0;
  for (;;) {
    std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
    double quota = 0, period = 0;
    if (file >> quota >> period) {  // the word "max" is no number: no limit
      const std::size_t count = quota_count(quota, period);
      if (count > 0 && (least == 0 || count < least)) least = count;
    }
    if (path.empty()) return least;
    path.erase(path.rfind('/'));
  }
}

std::size_t quota_v1(const std::string& path) {
  for (const std::string& folder : {"/sys/fs/cgroup/cpu" + path, std::string("/sys/fs/cgroup/cpu")}) {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
    double quota = 0, period = 0;
    if (quota_file >> quota && period_file >> period) return quota_count(quota, period);
  }
  return 0;
}

std::size_t cgroup_count() noexcept try {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "hierarchy:controllers:path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (!path.empty() && path.front() != '/') continue;
    std::size_t count = 0;
    if (controllers == ",,") count = quota_v2(path);
    if (controllers.find(",cpu,") != std::string::npos) count = quota_v1(path);
    if (count > 0) return count;
  }
  return 0;
} catch (...) {
  return 0;
}

#else

std::vector<std::size_t> allowed_cpus() { return {}; }
std::size_t cgroup_count() noexcept { return 0; }

#endif

/// At most as many as the cgroup's quota keeps running.
std::size_t within_quota(std::size_t threads) noexcept {
  static const std::size_t quota = cgroup_count();
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return quota > 0 ? std::min(threads, quota) : threads;
}

}  // namespace

std::size_t ThreadPool::available_threads() noexcept try {
  return within_quota(allowed_cpus().size());
} catch (...) {  // no memory for a list of CPUs
  return 1;
}

std::size_t ThreadPool::default_threads() noexcept try {
  return within_quota(fast_cores(core_speeds(allowed_cpus())));
} catch (...) {
  return 1;
}

}  // namespace jitney
