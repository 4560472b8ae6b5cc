// Gates of recurrent cells out of elementwise kernels: a row's result depends on that row alone.
#include "cpu/rnn_gates.h"

#include <algorithm>

namespace jitney::cpu {

using kernels::BinaryOp;
using kernels::RunMode;
using kernels::UnaryOp;

bool RnnGates::known(const RnnSpec& spec) noexcept {
  return std::all_of(spec.activations.begin(), spec.activations.end(),
                     [](const RnnActivation& function) { return kernels::unary_op_named(function.name).has_value(); });
}

RnnGates::RnnGates(const RnnSpec& spec, std::size_t direction, std::size_t hidden)
    : hidden_(hidden), clip_(static_cast<float>(spec.clip)), input_forget_(spec.input_forget) {
  const Isa isa = active_isa();
  const std::size_t each = spec.activations_each();
  for (std::size_t i = direction * each; i < (direction + 1) * each; ++i) {
    const RnnActivation& function = spec.activations[i];
    functions_.push_back({kernels::unary_kernel(isa, *kernels::unary_op_named(function.name)), static_cast<float>(function.alpha),
                          static_cast<float>(function.beta)});
  }
  clip_kernel_ = kernels::unary_kernel(isa, UnaryOp::clip);
  multiply_ = kernels::binary_kernel(isa, BinaryOp::mul, RunMode::vector_vector);
  add_ = kernels::binary_kernel(isa, BinaryOp::add, RunMode::vector_vector);
  one_minus_ = kernels::binary_kernel(isa, BinaryOp::sub, RunMode::scalar_vector);
}

void RnnGates::activate(std::size_t function, std::size_t count, const float* x, float* y) const {
  const Function& f = functions_[function];
  if (clip_ > 0) {
    clip_kernel_(count, x, y, -clip_, clip_);
    x = y;
  }
  f.kernel(count, x, y, f.alpha, f.beta);
}

void RnnGates::lstm(float* sums, const float* peephole, float* h, float* c, float* scratch) const {
  float *in = sums, *out = sums + hidden_, *forget = sums + 2 * hidden_, *cell = sums + 3 * hidden_;
  if (peephole == nullptr) {
    activate(0, (input_forget_ ? 2 : 3) * hidden_, sums, sums);
  } else {
    multiply(peephole, c, scratch);
    add(in, scratch, in);
    activate(0, hidden_, in, in);
    multiply(peephole + 2 * hidden_, c, scratch);
    add(forget, scratch, forget);
    if (!input_forget_) activate(0, hidden_, forget, forget);
  }
  if (input_forget_) {
    constexpr float kOne = 1.0F;
    one_minus_(hidden_, &kOne, in, forget);
  }
  activate(1, hidden_, cell, cell);
  multiply(in, cell, cell);
  multiply(forget, c, c);
  add(c, cell, c);
  if (peephole != nullptr) {
    multiply(peephole + hidden_, c, scratch);
    add(out, scratch, out);
    activate(0, hidden_, out, out);
  }
  functions_[2].kernel(hidden_, c, scratch, functions_[2].alpha, functions_[2].beta);
  multiply(out, scratch, h);
}

void RnnGates::gru_gates(float* sums) const { activate(0, 2 * hidden_, sums, sums); }

void RnnGates::gru_state(float* sums, float* h, float* scratch) const {
  const float* update = sums;
  float* candidate = sums + 2 * hidden_;
  activate(1, hidden_, candidate, candidate);
  // (1 − z)·n + z·h
  constexpr float kOne = 1.0F;
  one_minus_(hidden_, &kOne, update, scratch);
  multiply(scratch, candidate, candidate);
  multiply(update, h, h);
  add(candidate, h, h);
}

void RnnGates::simple(const float* sums, float* h) const { activate(0, hidden_, sums, h); }

}  // namespace jitney::cpu
