// Convolution in float32: asks the ways in turn, packs the weights, and binds epilogue and output of a run.
#include "cpu/conv_step.h"

#include <array>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
#include "cpu/conv_way.h"
#include "cpu/epilogue_operands.h"
#include "cpu/first_conv_step.h"
#include "cpu/kernel_ways.h"
#include "cpu/kernels/dwconv/dwconv.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"
#include "ops/operands.h"

namespace jitney::cpu {

double ConvProblem::nanoseconds() const {
  return product_nanoseconds(static_cast<double>(geometry.pixels()), static_cast<double>(filters),
                             static_cast<double>(channels * geometry.taps())) *
         static_cast<double>(groups);
}

std::string tap_words(const kernels::ConvGeometry& geometry) {
  std::string words;
  for (std::size_t axis = geometry.kernel[0] == 1 ? 1 : 0; axis < geometry.kernel.size(); ++axis)
    words += (words.empty() ? "" : "×") + std::to_string(geometry.kernel[axis]);
  return words;
}

std::string conv_work(const ConvProblem& problem) {
  const kernels::ConvGeometry& g = problem.geometry;
  const auto sizes = [](const kernels::Spatial& axes) {
    return std::to_string(axes[0]) + "×" + std::to_string(axes[1]) + "×" + std::to_string(axes[2]);
  };
  std::string words = "conv " + tap_words(g) + " of " + sizes(g.input) + " to " + sizes(g.output) + ", " +
                      std::to_string(problem.channels) + " to " + std::to_string(problem.filters) + " channels";
  if (g.stride != kernels::Spatial{1, 1, 1}) words += ", stride " + sizes(g.stride);
  if (g.dilation != kernels::Spatial{1, 1, 1}) words += ", dilation " + sizes(g.dilation);
  if (problem.groups > 1) words += ", " + std::to_string(problem.groups) + " groups";
  if (problem.may_keep) words += ", larger weights allowed";
  return words;
}

std::string product_words(const ConvProblem& problem) {
  const std::string depth = std::to_string(problem.channels * static_cast<std::size_t>(problem.geometry.taps()));
  const std::string words =
      "[" + std::to_string(problem.geometry.pixels()) + "×" + depth + "]·[" + depth + "×" + std::to_string(problem.filters) + "]";
  return problem.groups == 1 ? words : words + " for each of " + std::to_string(problem.groups) + " groups";
}

ConvProblem conv_problem(const NodeRequest& node) {
  const Operand& x = node.inputs[0];
  const Operand& w = node.inputs[1];
  const WindowGeometry window = window_geometry(*node.node, spatial_sizes(x.shape), spatial_sizes(w.shape));
  ConvProblem problem;
  problem.geometry = conv_geometry(window, x);
  problem.groups = static_cast<std::size_t>(node.node->integer("group", 1));
  problem.channels = static_cast<std::size_t>(w.shape[1]);
  problem.filters = static_cast<std::size_t>(w.shape[0]) / problem.groups;
  problem.filter_stride = w.strides[0];
  problem.channel_stride = w.strides[1];
  problem.tap_stride = spatial3(spatial_sizes(w.strides), 0);
  problem.may_keep = node.prefer_speed && w.weight != nullptr;
  problem.pixel_stride = uniform_pixel_stride(x.shape, x.strides);
  problem.no_padding = true;
  for (std::size_t i = 0; i < window.rank(); ++i)
    problem.no_padding = problem.no_padding && window.pad_begin[i] == 0 && window.pad_end[i] == 0;
  return problem;
}

ConvStep::ConvStep(const NodeRequest& node, PackCache& cache, std::unique_ptr<ConvWay> way)
    : node_(node), output_(node.outputs[0]), way_(std::move(way)) {
  kernel = way_->kernel;
  packed_ = PackedWeight(node.inputs[1], cache, "conv/" + way_->packing + "/" + std::to_string(node.node->integer("group", 1)),
                         way_->packed_floats, [&](const float* source, float* target) { way_->pack(source, target); });
  std::int64_t residual_stride = 0;
  if (present(node.inputs, kResidualOperand)) {
    const Operand& residual = node.inputs[kResidualOperand];
    residual_stride = *uniform_pixel_stride(residual.shape, residual.strides);
  }
  epilogue_ = make_epilogue(node, residual_stride);

  workspace = align_up(way_->workspace);
  output_.reserve(workspace);
  if (packed_.data() == nullptr) {
    pack_at_ = workspace;
    workspace += align_up(way_->packed_floats * sizeof(float));
  } else {
    packed = 1U << 1;
  }
}

void ConvStep::run(const StepRun& run) const {
  ConvRun conv;
  conv.workspace = static_cast<std::byte*>(run.workspace);
  conv.weights = packed_.data();
  if (conv.weights == nullptr) {
    auto* target = reinterpret_cast<float*>(conv.workspace + pack_at_);
    way_->pack(input_data(run, node_, 1), target);
    conv.weights = target;
  }
  conv.x = input_data(run, node_, 0);
  conv.y = output_.target(run);
  conv.y_stride = output_.stride();
  conv.epilogue = bind_epilogue(epilogue_, node_, run);
  way_->run(run, conv);
  output_.finish(run);
}

namespace {

/// All ways that fit, the one that is taken unless another was measured to be faster first. Those of a depthwise or pointwise
/// convolution are kernels, and give the same bits.
std::vector<std::string> all_ways(const ConvProblem& problem) {
  if (is_depthwise(problem)) return kernel_names(kernels::dwconv_kernels(), kernels::dwconv_kernel(active_isa()));
  if (is_pointwise(problem)) return kernel_names(kernels::gemm_kernels(), kernels::gemm_kernel(active_isa()));
  std::vector<std::string> ways;
  for (const ConvEstimate& estimate : conv_estimates(problem)) ways.emplace_back(estimate.way);
  return ways;
}

/// What was measured to be the fastest; empty if nothing was.
std::string_view measured_way(const ConvProblem& problem, const MeasuredWays* measured) {
  if (measured == nullptr || measured->empty()) return {};
  const auto found = measured->find(conv_work(problem));
  return found == measured->end() ? std::string_view() : found->second;
}

/// The way that was measured to be the fastest, else the one that is expected to be.
ConvEstimate chosen_estimate(const ConvProblem& problem, std::string_view wanted) {
  const std::vector<ConvEstimate> estimates = conv_estimates(problem);
  for (const ConvEstimate& estimate : estimates)
    if (estimate.way == wanted) return estimate;
  return estimates.front();
}

std::unique_ptr<ConvWay> best_way(const ConvProblem& problem, const MeasuredWays* measured, std::size_t threads) {
  const std::string_view wanted = measured_way(problem, measured);
  if (is_depthwise(problem)) return depthwise_conv(problem, threads, wanted);
  if (is_pointwise(problem)) return pointwise_conv(problem, threads, wanted);
  const ConvEstimate chosen = chosen_estimate(problem, wanted);
  return chosen.tile != 0 ? winograd_conv(problem, chosen.tile, chosen.kept, threads) : indirect_conv(problem, threads);
}

class ChosenConvStep final : public ConvStep {
 public:
  ChosenConvStep(const NodeRequest& node, PackCache& cache, std::size_t threads)
      : ConvStep(node, cache, best_way(conv_problem(node), node.measured, threads)), node_(node) {}

  std::optional<Choice> choice() const override {
    const ConvProblem problem = conv_problem(node_);
    Choice choice{conv_work(problem), kernel, all_ways(problem)};
    if (choice.ways.size() < 2) return std::nullopt;
    if (!is_depthwise(problem) && !is_pointwise(problem))
      choice.way = chosen_estimate(problem, measured_way(problem, node_.measured)).way;
    return choice;
  }

 private:
  NodeRequest node_;
};

bool takes(const NodeRequest& node) { return is_plain_conv(node, node.inputs[1].shape[0]); }

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  if (first_conv_takes(node)) return first_conv_layout(Group(&node, 1));
  return conv_layout(node);
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache& cache, std::size_t threads) {
  if (!takes(node)) return nullptr;
  if (first_conv_takes(node)) return first_conv_prepare(Group(&node, 1), cache, threads);
  return std::make_unique<ChosenConvStep>(node, cache, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"conv", layout, prepare}}};

}  // namespace

std::span<const FastOp> conv_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
