// Asks the processor (x86) or the kernel (elsewhere) for a name.
#include "base/cpu_name.h"

#include <array>
#include <cstring>
#include <fstream>
#include <set>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace jitney {
namespace {

/// Words separated by one blank.
std::string tidied(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\0';
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : c;
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

#if defined(__x86_64__) || defined(__i386__)

std::string told_name() {
  std::array<unsigned, 12> words{};
  unsigned most = 0, ignored = 0;
  if (__get_cpuid(0x80000000U, &most, &ignored, &ignored, &ignored) == 0 || most < 0x80000004U) return {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* part = words.data() + static_cast<std::size_t>(leaf) * 4;
    __get_cpuid(0x80000002U + leaf, part, part + 1, part + 2, part + 3);
  }
  std::array<char, sizeof words> text{};
  std::memcpy(text.data(), words.data(), sizeof words);
  return tidied(std::string(text.data(), text.size()));
}

#else

/// Implementer and part of each kind of core, as /proc/cpuinfo lists them for ARM.
std::string told_name() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> kinds;
  std::string implementer;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = tidied(line.substr(0, colon)), value = tidied(line.substr(colon + 1));
    if (key == "CPU implementer") implementer = value;
    if (key == "CPU part") kinds.insert(implementer + ":" + value);
  }
  std::string name;
  for (const std::string& kind : kinds) name += " " + kind;
  return name.empty() ? name : "arm" + name;
}

#endif

}  // namespace

std::string cpu_name() {
  const std::string name = told_name();
  return name.empty() ? "unknown" : name;
}

}  // namespace jitney
