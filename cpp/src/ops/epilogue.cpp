// The epilogue that conv, conv_transpose and matmul share.
#include "ops/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/operands.h"

namespace jitney {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 12> kActivations = {{
    {"none", Activation::none},
    {"relu", Activation::relu},
    {"clip", Activation::clip},
    {"leaky_relu", Activation::leaky_relu},
    {"prelu", Activation::prelu},
    {"hard_swish", Activation::hard_swish},
    {"hard_sigmoid", Activation::hard_sigmoid},
    {"silu", Activation::silu},
    {"sigmoid", Activation::sigmoid},
    {"tanh", Activation::tanh},
    {"gelu", Activation::gelu},
    {"gelu_tanh", Activation::gelu_tanh},
}};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::pair<float, float> default_numbers(Activation activation) {
  if (activation == Activation::clip) return {-kInfinity, kInfinity};
  if (activation == Activation::leaky_relu) return {0.01F, 0.0F};
  if (activation == Activation::hard_sigmoid) return {0.2F, 0.5F};
  return {0.0F, 0.0F};
}

/// Written so that NaN passes.
double clamp(double x, double low, double high) {
  if (x < low) x = low;
  if (x > high) x = high;
  return x;
}

}  // namespace

double Epilogue::activate(double x, double slope) const {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0.0 : x;
    case Activation::clip:
      return clamp(x, alpha, beta);
    case Activation::leaky_relu:
      return x < 0 ? alpha * x : x;
    case Activation::prelu:
      return x < 0 ? slope * x : x;
    case Activation::hard_swish:
      return x * clamp(x / 6 + 0.5, 0, 1);
    case Activation::hard_sigmoid:
      return clamp(alpha * x + beta, 0, 1);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

Epilogue parse_epilogue(const Node& node) {
  Epilogue epilogue;
  const std::string_view word = node.text("activation", "none");
  const auto* found =
      std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& entry) { return entry.first == word; });
  if (found == kActivations.end()) {
    throw Error(ErrorCode::invalid_model, "activation '" + std::string(word) + "' is not known").at(node.name, node.op);
  }
  epilogue.activation = found->second;
  const auto [alpha, beta] = default_numbers(epilogue.activation);
  epilogue.alpha = static_cast<float>(node.number("alpha", alpha));
  epilogue.beta = static_cast<float>(node.number("beta", beta));
  epilogue.residual_after = node.text("residual", "before") == "after";
  return epilogue;
}

void infer_epilogue(const InferContext& ctx, SymShape& output, const Dim& channels) {
  for (const std::size_t operand : {kBiasOperand, kResidualOperand, kSlopeOperand}) expect_dtype_of_first(ctx, operand);
  const bool prelu = parse_epilogue(ctx.node()).activation == Activation::prelu;
  if (prelu != ctx.has(kSlopeOperand)) {
    ctx.fail(prelu ? "activation prelu lacks its slope operand" : "a slope operand is given, but the activation is not prelu");
  }
  if (ctx.has(kBiasOperand) && ctx.shape(kBiasOperand).ranked) {
    const SymShape& bias = ctx.shape(kBiasOperand);
    if (bias.rank() != 1 || !may_equal(bias.dims[0], channels)) {
      ctx.fail("bias has shape " + describe(bias) + ", but the result has " + to_string(channels, {}) + " channels or columns",
               "give a vector with one number for each");
    }
  }
  if (ctx.has(kSlopeOperand) && ctx.shape(kSlopeOperand).ranked) {
    const SymShape& slope = ctx.shape(kSlopeOperand);
    const bool fits =
        slope.rank() == 0 || (slope.rank() == 1 && (may_equal(slope.dims[0], Dim(1)) || may_equal(slope.dims[0], channels)));
    if (!fits) {
      ctx.fail("slope has shape " + describe(slope) + ", but the result has " + to_string(channels, {}) + " channels or columns",
               "give a vector with one number for each, or one number for all");
    }
  }
  if (ctx.has(kResidualOperand) && ctx.shape(kResidualOperand).ranked) {
    const SymShape& residual = ctx.shape(kResidualOperand);
    if (!output.ranked) {
      output = residual;
      return;
    }
    bool fits = residual.rank() == output.rank();
    for (std::size_t i = 0; fits && i < output.rank(); ++i) fits = may_equal(residual.dims[i], output.dims[i]);
    if (!fits) {
      ctx.fail("residual has shape " + describe(residual) + ", but the result has " + describe(output),
               "the residual must have the result's exact shape");
    }
    for (std::size_t i = 0; i < output.rank(); ++i) output.dims[i] = merge(ctx, output.dims[i], residual.dims[i], "the residual");
  }
}

EpilogueValues::EpilogueValues(const ComputeContext& ctx) : epilogue_(parse_epilogue(ctx.node())) {
  if (ctx.has(kBiasOperand)) bias_ = read_numbers(ctx.input(kBiasOperand));
  if (ctx.has(kResidualOperand)) residual_ = read_numbers(ctx.input(kResidualOperand));
  if (ctx.has(kSlopeOperand)) slope_ = read_numbers(ctx.input(kSlopeOperand));
}

double EpilogueValues::apply(double acc, std::int64_t channel, std::int64_t element) const {
  const auto c = static_cast<std::size_t>(channel);
  if (!bias_.empty()) acc += bias_[c];
  const double residual = residual_.empty() ? 0.0 : residual_[static_cast<std::size_t>(element)];
  const double slope = slope_.empty() ? 0.0 : slope_[slope_.size() == 1 ? 0 : c];
  return epilogue_.apply(acc, residual, slope);
}

}  // namespace jitney
