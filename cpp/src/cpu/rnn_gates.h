// What a recurrent cell does to one row of sums after the matrix products: activations, gates, the new state.
#pragma once

#include <cstddef>
#include <vector>

#include "cpu/kernels/elementwise/elementwise.h"
#include "ops/rnn.h"

namespace jitney::cpu {

/// One direction of one node. All pointers are to rows of `hidden` floats (or of as many as there are gates).
class RnnGates {
 public:
  RnnGates(const RnnSpec& spec, std::size_t direction, std::size_t hidden);

  /// Whether all activations of the node have kernels.
  static bool known(const RnnSpec& spec) noexcept;

  /// `sums` has the gates i o f c; `peephole` i o f, or null; h and c become the new state.
  void lstm(float* sums, const float* peephole, float* h, float* c, float* scratch) const;
  /// z and r at `sums` become gates.
  void gru_gates(float* sums) const;
  /// From the gates z r and the sum for the candidate, which follows them.
  void gru_state(float* sums, float* h, float* scratch) const;
  void simple(const float* sums, float* h) const;

  void multiply(const float* a, const float* b, float* y) const { multiply_(hidden_, a, b, y); }
  void add(const float* a, const float* b, float* y) const { add_(hidden_, a, b, y); }

 private:
  struct Function {
    kernels::UnaryKernel kernel;
    float alpha, beta;
  };
  void activate(std::size_t function, std::size_t count, const float* x, float* y) const;

  std::size_t hidden_;
  float clip_;
  bool input_forget_;
  std::vector<Function> functions_;
  kernels::UnaryKernel clip_kernel_;
  kernels::BinaryKernel multiply_, add_, one_minus_;
};

}  // namespace jitney::cpu
