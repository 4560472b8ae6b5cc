// Asks the CPU, or the system where only it knows, for instruction sets.
#include "base/cpu_features.h"

#include <cstdlib>
#include <string>

#include "jitney/error.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace jitney {

namespace {

constexpr Isa kAll[] = {Isa::scalar, Isa::avx2,      Isa::avxvnni,  Isa::avx512,
                        Isa::neon,   Isa::neon_fp16, Isa::neon_dot, Isa::neon_i8mm};

#if defined(__aarch64__) && defined(__linux__)

// Numbers of the kernel's interface, which older headers lack.
constexpr unsigned long kFloat16 = 1ul << 10;  // HWCAP_ASIMDHP
constexpr unsigned long kDot = 1ul << 20;      // HWCAP_ASIMDDP
constexpr unsigned long kI8mm = 1ul << 13;     // HWCAP2_I8MM

bool cpu_has_fp16() noexcept { return (getauxval(AT_HWCAP) & kFloat16) != 0; }
bool cpu_has_dot() noexcept { return (getauxval(AT_HWCAP) & kDot) != 0; }
bool cpu_has_i8mm() noexcept { return (getauxval(AT_HWCAP2) & kI8mm) != 0; }

#elif defined(__aarch64__) && defined(__APPLE__)

bool has_feature(const char* name) noexcept {
  int value = 0;
  std::size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

bool cpu_has_fp16() noexcept { return has_feature("hw.optional.arm.FEAT_FP16"); }
bool cpu_has_dot() noexcept { return has_feature("hw.optional.arm.FEAT_DotProd"); }
bool cpu_has_i8mm() noexcept { return has_feature("hw.optional.arm.FEAT_I8MM"); }

#elif defined(__aarch64__)

bool cpu_has_fp16() noexcept { return false; }
bool cpu_has_dot() noexcept { return false; }
bool cpu_has_i8mm() noexcept { return false; }

#endif

bool cpu_has(Isa isa) noexcept {
  switch (isa) {
    case Isa::scalar:
      return true;
#if defined(__x86_64__) || defined(__i386__)
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case Isa::avxvnni:
      return cpu_has(Isa::avx2) && __builtin_cpu_supports("avxvnni");
    case Isa::avx512:
      return cpu_has(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#elif defined(__aarch64__)
    case Isa::neon:
      return true;
    case Isa::neon_fp16:
      return cpu_has_fp16();
    case Isa::neon_dot:
      return cpu_has_fp16() && cpu_has_dot();
    case Isa::neon_i8mm:
      return cpu_has_fp16() && cpu_has_dot() && cpu_has_i8mm();
#endif
    default:
      return false;
  }
}

std::string names(const std::vector<Isa>& isas) {
  std::string text;
  for (const Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(to_string(isa));
  return text;
}

Isa choose() {
  const char* wanted = std::getenv("JITNEY_ISA");
  return wanted != nullptr && *wanted != '\0' ? isa_from_name(wanted) : available_isas().back();
}

}  // namespace

std::string_view to_string(Isa isa) noexcept {
  switch (isa) {
    case Isa::scalar:
      return "scalar";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avxvnni:
      return "avxvnni";
    case Isa::neon:
      return "neon";
    case Isa::neon_fp16:
      return "neon_fp16";
    case Isa::neon_dot:
      return "neon_dot";
    case Isa::neon_i8mm:
      return "neon_i8mm";
  }
  return "unknown";
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

Isa isa_from_name(std::string_view name) {
  const std::vector<Isa> available = available_isas();
  for (const Isa isa : kAll) {
    if (to_string(isa) != name) continue;
    if (cpu_has(isa)) return isa;
    throw Error(ErrorCode::invalid_input, "JITNEY_ISA is '" + std::string(name) + "', which this CPU does not have",
                "this CPU has " + names(available));
  }
  throw Error(ErrorCode::invalid_input, "JITNEY_ISA is '" + std::string(name) + "', which names no instruction set",
              "this CPU has " + names(available));
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAll) {
    if (cpu_has(isa)) isas.push_back(isa);
  }
  return isas;
}

bool includes(Isa active, Isa isa) noexcept {
  if (isa == Isa::scalar || isa == active) return true;
  switch (active) {
    case Isa::avx512:
    case Isa::avxvnni:
      return isa == Isa::avx2;
    case Isa::neon_fp16:
    case Isa::neon_dot:
    case Isa::neon_i8mm:
      return isa >= Isa::neon && isa < active;
    default:
      return false;
  }
}

}  // namespace jitney
