// A pointwise convolution and the depthwise one that it feeds, as one step: which pairs are worth it, and their operands.
#include "cpu/conv_chain_step.h"

#include <algorithm>
#include <array>

#include "cpu/conv_chain.h"
#include "cpu/conv_shape.h"
#include "cpu/conv_way.h"
#include "cpu/epilogue_operands.h"
#include "cpu/kernels/firstconv/firstconv.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

constexpr std::size_t kOperands = 5;  // image, weights, bias, residual, slope

/// Bytes between two links that are worth a chain: they do not stay in a core's second-level cache.
constexpr std::int64_t kLeastInner = 1024 * 1024;
/// With less it is not even measured.
constexpr std::int64_t kLeastMeasured = 128 * 1024;
/// Work that stands for all chains: `jitney tune` asks for them "together" to learn which there are.
constexpr std::string_view kAllChains = "chains";
/// Bytes of pointwise weights, which are read again for each few rows.
constexpr std::int64_t kMostWeights = 128 * 1024;

enum class LinkKind { none, pointwise, depthwise };

/// Cheap, and by shapes alone.
LinkKind kind_of(const NodeRequest& node) {
  if (node.node->op != "conv" || node.inputs.size() < 2) return LinkKind::none;
  const Shape& x = node.inputs[0].shape;
  const Shape& w = node.inputs[1].shape;
  if (x.size() != 4 || w.size() != 4 || !node.inputs[1].weight || node.outputs[0].shape.elements() == 0) return LinkKind::none;
  // Few channels are the first layer's kernels' business.
  if (x[1] <= static_cast<std::int64_t>(kernels::kMostFirstChannels)) return LinkKind::none;
  const std::int64_t group = node.node->integer("group", 1);
  if (group == 1 && w[2] == 1 && w[3] == 1) return LinkKind::pointwise;
  return group == x[1] && group == w[0] && w[1] == 1 ? LinkKind::depthwise : LinkKind::none;
}

/// Whether the kernels of a chain compute this node, and the same kernels would compute it alone.
bool fits(const NodeRequest& node, LinkKind kind) {
  if (kind == LinkKind::none || !is_plain_conv(node, node.inputs[1].shape[0])) return false;
  const WindowGeometry window =
      window_geometry(*node.node, spatial_sizes(node.inputs[0].shape), spatial_sizes(node.inputs[1].shape));
  if (kind == LinkKind::depthwise) return kernels::dwconv_slides(conv_sizes(window, 1));
  bool plain = true;
  for (std::size_t i = 0; i < window.rank(); ++i)
    plain = plain && window.stride[i] == 1 && window.pad_begin[i] == 0 && window.pad_end[i] == 0;
  return plain;
}

/// How many of these nodes feed one another and can be links.
std::size_t linked(Group nodes) {
  std::size_t count = 0;
  for (; count < std::min(nodes.size(), kMostLinks); ++count) {
    const NodeRequest& node = nodes[count];
    if (count > 0) {
      if (node.inputs[0].producer != static_cast<std::int32_t>(count) - 1 || nodes[count - 1].outputs[0].reads != 1) break;
      // A residual can be added to the last link only.
      if (present(nodes[count - 1].inputs, kResidualOperand)) break;
    }
    if (!fits(node, kind_of(node))) break;
  }
  return count;
}

std::int64_t bytes(const Shape& shape, std::size_t from) {
  std::int64_t product = sizeof(float);
  for (std::size_t i = from; i < shape.size(); ++i) product *= shape[i];
  return product;
}

constexpr std::string_view kTogether = "together", kApart = "apart";

/// Both convolutions with all that decides whether they are a step each, without the batch.
std::string chain_work(Group pair) {
  const auto words = [](const Shape& shape, std::size_t from) { return to_string(Shape(shape.span().subspan(from))); };
  return "pointwise " + words(pair[0].inputs[0].shape, 1) + " to " + words(pair[0].outputs[0].shape, 1) + ", then depthwise " +
         words(pair[1].inputs[1].shape, 2) + " to " + words(pair[1].outputs[0].shape, 1);
}

/// Whether computing them together saves more traffic than it costs: a pointwise convolution whose result is larger than all that
/// is left to read and write. Measured: with less the saving is lost in rows that leave the cache sooner than in one pass each.
bool worth_it(Group pair) {
  const std::int64_t inner = bytes(pair[0].outputs[0].shape, 1);
  const std::int64_t outer = bytes(pair[0].inputs[0].shape, 1) + bytes(pair[1].outputs[0].shape, 1);
  return inner >= kLeastInner && inner >= outer && bytes(pair[0].inputs[1].shape, 0) <= kMostWeights;
}

bool has_measurements(const NodeRequest& node) { return node.measured != nullptr && !node.measured->empty(); }

/// Together or apart, as measured or else as expected. Both give the same bits.
bool together(Group pair) {
  if (kind_of(pair[0]) != LinkKind::pointwise || kind_of(pair[1]) != LinkKind::depthwise) return false;
  if (has_measurements(pair[0])) {
    const MeasuredWays& measured = *pair[0].measured;
    for (const std::string& work : {chain_work(pair), std::string(kAllChains)})
      if (const auto found = measured.find(work); found != measured.end()) return found->second == kTogether;
  }
  return worth_it(pair);
}

class ConvChainStep final : public Step {
 public:
  ConvChainStep(Group group, PackCache& cache, std::size_t threads)
      : nodes_(group.begin(), group.end()), output_(group.back().outputs[0]) {
    std::array<ChainLink, kMostLinks> links;
    std::size_t place = 0;
    kernel = "conv_chain: ";
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      NodeRequest& node = nodes_[i];
      places_[i].fill(-1);
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k].producer >= 0) continue;
        if (k == 1) packed |= 1U << place;
        places_[i][k] = static_cast<int>(place++);
      }
      if (i > 0) node.inputs[0].strides = strides_for(node.inputs[0].shape, channels_last_order(4));
      ConvProblem problem = conv_problem(node);
      problem.pixel_stride = problem.geometry.input_stride[2];  // rows may lie anywhere
      nanoseconds_ += problem.nanoseconds();
      const auto way = kind_of(node) == LinkKind::depthwise ? depthwise_conv(problem, 1) : pointwise_conv(problem, 1);
      weights_[i] = PackedWeight(node.inputs[1], cache, "conv/" + way->packing + "/" + std::to_string(problem.groups),
                                 way->packed_floats, [&](const float* source, float* target) { way->pack(source, target); });
      kernel += (i > 0 ? " + " : "") + way->kernel;
      links[i].depthwise = kind_of(node) == LinkKind::depthwise;
      links[i].geometry = problem.geometry;
      links[i].geometry.batch = 1;
      links[i].channels = static_cast<std::size_t>(node.inputs[0].shape[1]);
      links[i].filters = problem.filters * problem.groups;
      std::int64_t residual_stride = 0;
      if (present(node.inputs, kResidualOperand)) {
        const Operand& residual = node.inputs[kResidualOperand];
        residual_stride = *uniform_pixel_stride(residual.shape, residual.strides);
      }
      epilogues_[i] = make_epilogue(node, residual_stride);
    }
    chain_ = ConvChain(links.data(), nodes_.size());
    images_ = nodes_[0].inputs[0].shape[0];
    set_bands(threads);
    scratch_ = chain_.scratch();
    workspace = threads * scratch_;
    output_.reserve(workspace);
  }

  std::optional<Choice> choice() const override {
    return Choice{chain_work(nodes_), std::string(kTogether), {std::string(kTogether), std::string(kApart)}};
  }

  void run(const StepRun& run) const override {
    ConvChain::Run chain;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      std::array<void*, kOperands> bound{};
      for (std::size_t k = 0; k < kOperands; ++k)
        bound[k] = places_[i][k] < 0 ? nullptr : run.inputs[static_cast<std::size_t>(places_[i][k])];
      StepRun part = run;
      part.inputs = bound;
      chain.epilogues[i] = bind_epilogue(epilogues_[i], nodes_[i], part);
      chain.weights[i] = weights_[i].data();
      if (i == 0) chain.x = input_data(part, nodes_[0], 0);
    }
    chain.y = output_.target(run);
    chain.y_stride = output_.stride();
    auto* scratch = static_cast<std::byte*>(run.workspace);
    const std::ptrdiff_t rows = chain_.link(nodes_.size() - 1).rows_out();
    const std::ptrdiff_t bands = (rows + band_rows_ - 1) / band_rows_;
    parallel_tasks(run, static_cast<std::size_t>(images_ * bands), nanoseconds_, [&](std::size_t index, std::size_t worker) {
      const auto task = static_cast<std::ptrdiff_t>(index);
      const std::ptrdiff_t first = task % bands * band_rows_;
      chain_.run(chain, task / bands, first, std::min(rows, first + band_rows_), scratch + worker * scratch_);
    });
    output_.finish(run);
  }

 private:
  /// Bands for the threads. Where two bands meet, both compute the rows before the depthwise links that they share.
  void set_bands(std::size_t threads) {
    const ChainLink& last = chain_.link(nodes_.size() - 1);
    const std::ptrdiff_t rows = last.rows_out();
    band_rows_ = rows;
    if (threads <= 1 || images_ >= static_cast<std::int64_t>(2 * threads)) return;
    std::ptrdiff_t twice = 0;
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const kernels::ConvGeometry& g = chain_.link(i).geometry;
      twice += std::max<std::ptrdiff_t>(0, (g.kernel[1] - 1) * g.dilation[1] + 1 - g.stride[1]);
    }
    const std::ptrdiff_t bands = static_cast<std::ptrdiff_t>(threads) * (twice == 0 ? 4 : 2);
    const std::ptrdiff_t wanted = (rows + bands - 1) / bands;
    band_rows_ = (wanted + chain_.step() - 1) / chain_.step() * chain_.step();
  }

  std::vector<NodeRequest> nodes_;
  StagedOutput output_;
  ConvChain chain_;
  std::array<PackedWeight, kMostLinks> weights_;
  std::array<kernels::Epilogue, kMostLinks> epilogues_;
  std::array<std::array<int, kOperands>, kMostLinks> places_;  // of each node's operands among the group's outer ones
  double nanoseconds_ = 0;
  std::int64_t images_ = 0;
  std::ptrdiff_t band_rows_ = 1;
  std::size_t scratch_ = 0;  // bytes per worker
};

/// Cheap, asked for every node.
std::size_t widest(const NodeRequest& first) {
  const std::int64_t least = has_measurements(first) ? kLeastMeasured : kLeastInner;
  return kind_of(first) == LinkKind::pointwise && bytes(first.outputs[0].shape, 1) >= least ? kMostLinks : 0;
}

std::size_t claim(Group nodes) { return linked(nodes) == kMostLinks && together(nodes.first(kMostLinks)) ? kMostLinks : 0; }

NodeLayout layout(Group group) {
  NodeLayout layout;
  for (std::size_t i = 0; i < group.size(); ++i) {
    NodeRequest node = group[i];
    if (i > 0) node.inputs[0].strides = strides_for(node.inputs[0].shape, channels_last_order(4));
    const NodeLayout own = conv_layout(node);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k].producer >= 0) continue;
      if (k == kResidualOperand && own.in_place != 0) layout.in_place = 1U << layout.inputs.size();
      layout.inputs.push_back(own.inputs[k]);
    }
    if (i + 1 == group.size()) {
      layout.outputs = own.outputs;
      layout.strided_output = own.strided_output;
    }
  }
  return layout;
}

std::unique_ptr<Step> prepare(Group group, PackCache& cache, std::size_t threads) {
  return std::make_unique<ConvChainStep>(group, cache, threads);
}

}  // namespace

FusedOp fused_conv_chain() noexcept { return {widest, claim, layout, prepare}; }

}  // namespace jitney::cpu
