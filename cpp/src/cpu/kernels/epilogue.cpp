// Names of activations, and which epilogues reduce to a clamp.
#include "cpu/kernels/epilogue.h"

#include <utility>

namespace jitney::kernels {

std::optional<Activation> activation_named(std::string_view name) noexcept {
  static constexpr std::pair<std::string_view, Activation> kNames[] = {
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
  };
  for (const auto& [known, activation] : kNames) {
    if (known == name) return activation;
  }
  return std::nullopt;
}

std::optional<Clamp> as_clamp(const Epilogue& epilogue) noexcept {
  if (epilogue.scale != 1.0f) return std::nullopt;
  if (epilogue.activation == Activation::none) return kNoClamp;
  if (epilogue.residual != nullptr && epilogue.residual_after) return std::nullopt;
  if (epilogue.activation == Activation::relu) return Clamp{0.0f, kNoClamp.high};
  if (epilogue.activation == Activation::clip) return Clamp{epilogue.alpha, epilogue.beta};
  return std::nullopt;
}

}  // namespace jitney::kernels
