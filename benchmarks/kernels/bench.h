// What every kernel benchmark shares: cases, timing, and the processor's own peak to compare with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/cpu_features.h"

namespace jitney::bench {

/// One kernel on one shape. `prepare` allocates and returns what is timed, so that memory lives only while the case runs.
struct Case {
  std::string family;
  std::string kernel;
  std::string shape;
  Isa isa = Isa::scalar;
  double flops = 0;              // of the plain algorithm, two per multiply-add; 0: bound by memory
  double bytes = 0;              // read and written, each once
  std::size_t weight_bytes = 0;  // what `prepare` may be asked to keep several copies of
  std::function<std::function<void()>(std::size_t copies)> prepare;
};

struct Timing {
  double nanoseconds = 0;  // the least of all rounds
};
Timing measure(const Case& wanted, bool cold);

/// GFLOP/s of independent multiply-adds in registers at that level.
double peak_gflops(Isa isa);
/// GB/s of one thread that reads far more than the caches hold.
double read_bandwidth();

inline std::vector<float> random_floats(std::size_t n) {
  std::minstd_rand generator(7);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(generator() % 2048) / 1024.0f - 1.0f;
  return values;
}

void add_gemm(std::vector<Case>& cases);
void add_conv(std::vector<Case>& cases);
void add_dwconv(std::vector<Case>& cases);
void add_elementwise(std::vector<Case>& cases);

}  // namespace jitney::bench
