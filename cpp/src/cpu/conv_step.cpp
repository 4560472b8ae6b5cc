// Convolution in float32: asks the ways in turn, packs the weights, and binds epilogue and output of a run.
#include "cpu/conv_step.h"

#include <array>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
#include "cpu/conv_way.h"
#include "cpu/epilogue_operands.h"
#include "cpu/first_conv_step.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
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

std::string product_words(const ConvProblem& problem) {
  const std::string depth = std::to_string(problem.channels * static_cast<std::size_t>(problem.geometry.taps()));
  const std::string words =
      "[" + std::to_string(problem.geometry.pixels()) + "×" + depth + "]·[" + depth + "×" + std::to_string(problem.filters) + "]";
  return problem.groups == 1 ? words : words + " for each of " + std::to_string(problem.groups) + " groups";
}

namespace {

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
  problem.pixel_stride = uniform_pixel_stride(x.shape, x.strides);
  problem.no_padding = true;
  for (std::size_t i = 0; i < window.rank(); ++i)
    problem.no_padding = problem.no_padding && window.pad_begin[i] == 0 && window.pad_end[i] == 0;
  return problem;
}

std::unique_ptr<ConvWay> best_way(const ConvProblem& problem, std::size_t threads) {
  for (const auto way : {depthwise_conv, pointwise_conv, winograd_conv}) {
    if (auto made = way(problem, threads)) return made;
  }
  return indirect_conv(problem, threads);
}

class ConvStep final : public Step {
 public:
  ConvStep(const NodeRequest& node, PackCache& cache, std::size_t threads)
      : node_(node), output_(node.outputs[0]), way_(best_way(conv_problem(node), threads)) {
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

  void run(const StepRun& run) const override {
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

  std::string why() const override { return way_->why(); }

 private:
  NodeRequest node_;
  StagedOutput output_;
  std::unique_ptr<ConvWay> way_;
  kernels::Epilogue epilogue_;
  PackedWeight packed_;
  std::size_t pack_at_ = 0;
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
  return std::make_unique<ConvStep>(node, cache, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"conv", layout, prepare}}};

}  // namespace

std::span<const FastOp> conv_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
