// The epilogue that conv, conv_transpose and matmul share: bias, residual and activation after the accumulation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/op.h"

namespace jitney {

enum class Activation : std::uint8_t {
  none,
  relu,
  clip,
  leaky_relu,
  prelu,
  hard_swish,
  hard_sigmoid,
  silu,
  sigmoid,
  tanh,
  gelu,
  gelu_tanh,
};

/// y = act(acc + bias + residual), or act(acc + bias) + residual if residual_after.
struct Epilogue {
  Activation activation = Activation::none;
  /// clip's bounds; leaky_relu's slope (alpha); hard_sigmoid's two numbers.
  float alpha = 0.0F;
  float beta = 0.0F;
  bool residual_after = false;

  /// The activation alone. `slope` matters to prelu only. NaN stays NaN.
  double activate(double x, double slope) const;
  /// `acc` already includes the bias.
  double apply(double acc, double residual, double slope) const {
    return residual_after ? activate(acc, slope) + residual : activate(acc + residual, slope);
  }
};

/// Reads the attributes `activation`, `alpha`, `beta` and `residual`, with their defaults.
Epilogue parse_epilogue(const Node& node);

inline constexpr std::array<AttributeSpec, 4> kEpilogueAttributes = {{
    {"activation", AttributeType::text, false,
     "none|relu|clip|leaky_relu|prelu|hard_swish|hard_sigmoid|silu|sigmoid|tanh|gelu|gelu_tanh"},
    {"alpha", AttributeType::number},
    {"beta", AttributeType::number},
    {"residual", AttributeType::text, false, "before|after"},
}};

/// Operand numbers of the epilogue, the same for all three ops.
inline constexpr std::size_t kBiasOperand = 2;
inline constexpr std::size_t kResidualOperand = 3;
inline constexpr std::size_t kSlopeOperand = 4;

/// Checks dtypes and shapes of bias, residual and slope against the output, and takes from the residual what was unknown of it.
/// `channels` is the size of the axis that bias and slope run along.
void infer_epilogue(const InferContext& ctx, SymShape& output, const Dim& channels);

/// The epilogue with its operands at hand, for reference kernels.
class EpilogueValues {
 public:
  explicit EpilogueValues(const ComputeContext& ctx);
  /// The result for an accumulator of `channel` that lands at `element` (row-major) of the output.
  double apply(double acc, std::int64_t channel, std::int64_t element) const;

 private:
  Epilogue epilogue_;
  std::vector<double> bias_, residual_, slope_;
};

}  // namespace jitney
