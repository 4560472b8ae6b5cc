// Finds out what kind of core kernels should be chosen for.
#include "base/cpu_core.h"

#include <cstdlib>
#include <string>

#include "jitney/error.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

#include <fstream>
#endif

namespace jitney {

namespace {

#if defined(__aarch64__) && defined(__linux__)

/// What is known of the machine's cores, gathered from one source.
struct Cores {
  bool any = false;
  bool all_in_order = true;

  void add(unsigned long midr) noexcept {
    any = true;
    all_in_order = all_in_order && is_in_order_midr(midr);
  }
};

/// The kernel's files, which name every core.
Cores from_sysfs() {
  Cores cores;
  for (int cpu = 0;; ++cpu) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/regs/identification/midr_el1");
    std::string midr;
    if (!(file >> midr)) return cores;
    cores.add(std::strtoul(midr.c_str(), nullptr, 16));
  }
}

/// Where those may not be read (Android's apps): lines "CPU implementer : 0x41" and "CPU part : 0xd03" for each core.
Cores from_cpuinfo() {
  Cores cores;
  std::ifstream file("/proc/cpuinfo");
  unsigned long implementer = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const unsigned long value = std::strtoul(line.c_str() + colon + 1, nullptr, 0);
    if (line.starts_with("CPU implementer")) implementer = value;
    if (line.starts_with("CPU part")) cores.add(implementer << 24 | value << 4);
  }
  return cores;
}

/// The register itself, of the core that runs this: the only source in an emulator of user programs.
Cores from_register() {
  constexpr unsigned long kCpuid = 1ul << 11;  // HWCAP_CPUID
  Cores cores;
  if ((getauxval(AT_HWCAP) & kCpuid) == 0) return cores;
  unsigned long midr = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(midr));
  cores.add(midr);
  return cores;
}

Core detect() {
  for (const auto source : {from_sysfs, from_cpuinfo, from_register}) {
    const Cores cores = source();
    if (cores.any) return cores.all_in_order ? Core::in_order : Core::out_of_order;
  }
  return Core::out_of_order;
}

#else

Core detect() { return Core::out_of_order; }

#endif

Core choose() {
  const char* wanted = std::getenv("JITNEY_CORE");
  return wanted != nullptr && *wanted != '\0' ? core_from_name(wanted) : detect();
}

}  // namespace

std::string_view to_string(Core core) noexcept {
  switch (core) {
    case Core::any:
      return "any";
    case Core::in_order:
      return "in-order";
    case Core::out_of_order:
      return "out-of-order";
  }
  return "unknown";
}

Core active_core() {
  static const Core core = choose();
  return core;
}

Core core_from_name(std::string_view name) {
  for (const Core core : {Core::in_order, Core::out_of_order}) {
    if (to_string(core) == name) return core;
  }
  throw Error(ErrorCode::invalid_input, "JITNEY_CORE is '" + std::string(name) + "', which names no kind of core",
              "give in-order or out-of-order");
}

bool is_in_order_midr(unsigned long midr) noexcept {
  if ((midr >> 24 & 0xff) != 0x41) return false;  // other makers' cores for 64-bit ARM that matter here reorder
  switch (midr >> 4 & 0xfff) {
    case 0xd02:  // Cortex-A34
    case 0xd03:  // Cortex-A53
    case 0xd04:  // Cortex-A35
    case 0xd05:  // Cortex-A55
    case 0xd46:  // Cortex-A510
    case 0xd80:  // Cortex-A520
      return true;
    default:
      return false;
  }
}

}  // namespace jitney
