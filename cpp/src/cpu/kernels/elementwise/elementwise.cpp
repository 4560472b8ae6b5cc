// Names of elementwise ops, and the choice of kernels.
#include "cpu/kernels/elementwise/elementwise.h"

namespace jitney::kernels {

#define JITNEY_ELEMENTWISE_KERNEL(name, isa, lanes, type) extern const ElementwiseKernels name;
#include "cpu/kernels/elementwise/kernels.inc"
#undef JITNEY_ELEMENTWISE_KERNEL

namespace {

#define JITNEY_ELEMENTWISE_KERNEL(name, isa, lanes, type) &name,
constexpr const ElementwiseKernels* kKernels[] = {
#include "cpu/kernels/elementwise/kernels.inc"
};
#undef JITNEY_ELEMENTWISE_KERNEL

#define JITNEY_NAME(name) #name,
constexpr std::string_view kUnaryNames[] = {JITNEY_UNARY_OPS(JITNEY_NAME)};
constexpr std::string_view kBinaryNames[] = {JITNEY_BINARY_OPS(JITNEY_NAME)};
#undef JITNEY_NAME

template <typename Op>
std::optional<Op> find(std::span<const std::string_view> names, std::string_view name) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<UnaryOp> unary_op_named(std::string_view name) noexcept { return find<UnaryOp>(kUnaryNames, name); }
std::optional<BinaryOp> binary_op_named(std::string_view name) noexcept { return find<BinaryOp>(kBinaryNames, name); }
std::string_view to_string(UnaryOp op) noexcept { return kUnaryNames[static_cast<std::size_t>(op)]; }
std::string_view to_string(BinaryOp op) noexcept { return kBinaryNames[static_cast<std::size_t>(op)]; }

std::span<const ElementwiseKernels* const> elementwise_kernels() noexcept { return kKernels; }

UnaryKernel unary_kernel(Isa active, UnaryOp op) noexcept {
  UnaryKernel best = nullptr;
  for (const ElementwiseKernels* set : kKernels) {
    if (!includes(active, set->isa)) continue;
    if (const UnaryKernel kernel = set->unary(op)) best = kernel;
  }
  return best;
}

BinaryKernel binary_kernel(Isa active, BinaryOp op, RunMode mode) noexcept {
  BinaryKernel best = nullptr;
  for (const ElementwiseKernels* set : kKernels) {
    if (!includes(active, set->isa)) continue;
    if (const BinaryKernel kernel = set->binary(op, mode)) best = kernel;
  }
  return best;
}

}  // namespace jitney::kernels
