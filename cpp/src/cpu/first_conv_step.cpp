// Plans the first-layer convolution: which nodes it takes, where its operands lie, how its output is cut.
#include "cpu/first_conv_step.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
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

constexpr std::size_t kOperands = kSlopeOperand + 1;
constexpr std::size_t kMostNodes = 3;

/// Which operand of an add or sub is the constant, one number for all or one per channel; nullopt if that is not so.
std::optional<std::size_t> shift_operand(const NodeRequest& node, const Shape& image) {
  const std::string& op = node.node->op;
  if ((op != "add" && op != "sub") || node.outputs[0].dtype != DType::float32) return std::nullopt;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    if (i == 0 && op == "sub") break;
    const Operand& shift = node.inputs[i];
    const std::size_t rank = shift.shape.size();
    if (!shift.weight || node.inputs[1 - i].weight || rank > image.size() || node.inputs[1 - i].shape != image) continue;
    bool per_channel = true;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const bool channels = axis + image.size() == rank + 1 && shift.shape[axis] == image[1];
      per_channel = per_channel && (channels || shift.shape[axis] == 1);
    }
    if (per_channel) return i;
  }
  return std::nullopt;
}

/// The group's nodes and operands by what they mean.
struct Parts {
  const NodeRequest* conv = nullptr;
  const Operand* image = nullptr;  // what the first node reads
  const Operand* shift = nullptr;
  bool negative = false;  // it is subtracted
};

/// nullopt unless the nodes are [cast] [add or sub] conv in a chain.
std::optional<Parts> match(Group group) {
  if (group.empty() || group.size() > kMostNodes) return std::nullopt;
  Parts parts;
  parts.conv = &group.back();
  if (parts.conv->node->op != "conv" || parts.conv->inputs.size() > kOperands) return std::nullopt;
  const Shape& shape = parts.conv->inputs[0].shape;
  std::size_t first = 0;
  if (group.size() > 1 && group[0].node->op == "cast") {
    parts.image = &group[0].inputs[0];
    if (parts.image->dtype != DType::uint8 || group[0].outputs[0].dtype != DType::float32) return std::nullopt;
    first = 1;
  }
  if (group.size() - first == 2) {
    const NodeRequest& add = group[first];
    const auto shift = shift_operand(add, shape);
    if (!shift) return std::nullopt;
    parts.shift = &add.inputs[*shift];
    parts.negative = add.node->op == "sub";
    const Operand& x = add.inputs[1 - *shift];
    if (first == 1 && x.producer != 0) return std::nullopt;
    if (first == 0) parts.image = &x;
    first += 1;
  }
  if (group.size() - first != 1) return std::nullopt;
  if (first > 0 && parts.conv->inputs[0].producer != static_cast<std::int32_t>(first) - 1) return std::nullopt;
  if (first == 0) parts.image = &parts.conv->inputs[0];
  return parts;
}

WindowGeometry window_of(const NodeRequest& conv) {
  return window_geometry(*conv.node, spatial_sizes(conv.inputs[0].shape), spatial_sizes(conv.inputs[1].shape));
}

/// By sizes alone.
bool fits(const NodeRequest& conv) {
  const Shape& x = conv.inputs[0].shape;
  const Shape& w = conv.inputs[1].shape;
  return w[1] == x[1] && kernels::firstconv_fits(conv_sizes(window_of(conv), x[0]), static_cast<std::size_t>(x[1]),
                                                 static_cast<std::size_t>(w[0]));
}

class FirstConvStep final : public Step {
 public:
  FirstConvStep(Group group, const Parts& parts, PackCache& cache, std::size_t threads)
      : node_(*parts.conv),
        output_(node_.outputs[0]),
        kernel_(kernels::firstconv_kernel(active_isa(), static_cast<std::size_t>(node_.inputs[1].shape[0]))) {
    place_operands(group, parts);
    node_.inputs[0] = *parts.image;
    const Operand& x = node_.inputs[0];
    const Operand& w = node_.inputs[1];
    args_.geometry = conv_sizes(window_of(node_), x.shape[0]);
    args_.geometry.input_stride = spatial3(spatial_sizes(x.strides), 0);
    args_.geometry.input_batch_stride = x.strides[0];
    args_.channels = static_cast<std::size_t>(x.shape[1]);
    args_.channel_stride = x.strides[1];
    args_.filters = static_cast<std::size_t>(w.shape[0]);
    args_.type = x.dtype == DType::uint8 ? kernels::PixelType::uint8 : kernels::PixelType::float32;
    kernel = kernel_.name;
    if (parts.shift != nullptr) set_shift(parts);

    packed_floats_ = kernels::packed_firstconv_size(kernel_, args_.geometry.taps(), args_.channels, args_.filters);
    packed_ = PackedWeight(w, cache, "conv/" + kernel, packed_floats_,
                           [&](const float* source, float* target) { pack(source, target); });
    grid_ = kernels::firstconv_tiles(kernel_, args_.geometry, args_.channels, args_.filters, threads);
    scratch_ = align_up(kernels::firstconv_scratch(kernel_, args_.geometry, args_.channels, grid_));
    std::int64_t residual_stride = 0;
    if (present(node_.inputs, kResidualOperand)) {
      const Operand& residual = node_.inputs[kResidualOperand];
      residual_stride = *uniform_pixel_stride(residual.shape, residual.strides);
    }
    epilogue_ = make_epilogue(node_, residual_stride);
    workspace = threads * scratch_;
    output_.reserve(workspace);
    if (packed_.data() == nullptr) {
      pack_at_ = workspace;
      workspace += align_up(packed_floats_ * sizeof(float));
    } else {
      packed |= 1U << place_[1];
    }
  }

  void run(const StepRun& given) const override {
    std::array<void*, kOperands> bound{};
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      bound[i] = place_[i] < given.inputs.size() ? given.inputs[place_[i]] : nullptr;
    StepRun run = given;
    run.inputs = bound;
    auto* bytes = static_cast<std::byte*>(run.workspace);
    kernels::FirstConvArgs args = args_;
    args.input = input_data<void>(run, node_, 0);
    args.shift = shifted_ ? shift_.data() : nullptr;
    args.weights = packed_.data();
    if (args.weights == nullptr) {
      auto* target = reinterpret_cast<float*>(bytes + pack_at_);
      pack(input_data(run, node_, 1), target);
      args.weights = target;
    }
    args.output = output_.target(run);
    args.output_stride = output_.stride();
    args.epilogue = bind_epilogue(epilogue_, node_, run);
    const double cost = product_nanoseconds(static_cast<double>(args.geometry.pixels()), static_cast<double>(args.filters),
                                            static_cast<double>(args.channels * args.geometry.taps()));
    parallel_tasks(run, grid_.count(), cost, [&](std::size_t index, std::size_t worker) {
      const auto tile = grid_.tile(index);
      kernels::firstconv_tile(kernel_, args, tile.row, tile.row_end, tile.column, tile.column_end, bytes + worker * scratch_);
    });
    output_.finish(run);
  }

  std::string why() const override {
    const char* numbers = args_.type == kernels::PixelType::uint8 ? "bytes" : "floats";
    return std::to_string(args_.channels) + (args_.channels == 1 ? " channel" : " channels") + ", read as they lie (" + numbers +
           (shifted_ ? ", shifted" : "") + ")";
  }

 private:
  /// Where the convolution's operands stand among the group's outer ones.
  void place_operands(Group group, const Parts& parts) {
    std::size_t place = 0;
    for (const NodeRequest& node : group) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].producer >= 0) continue;
        if (&node.inputs[i] == parts.image) place_[0] = place;
        if (&node.inputs[i] == parts.shift) packed |= 1U << place;
        if (&node == parts.conv && i > 0) place_[i] = place;
        ++place;
      }
    }
  }

  void set_shift(const Parts& parts) {
    const TensorView view = parts.shift->weight->view();
    const auto* numbers = static_cast<const float*>(view.data);
    const bool one = parts.shift->shape.elements() == 1;
    for (std::size_t c = 0; c < args_.channels; ++c) shift_[c] = parts.negative ? -numbers[one ? 0 : c] : numbers[one ? 0 : c];
    shifted_ = true;
  }

  void pack(const float* source, float* target) const {
    const Operand& w = node_.inputs[1];
    kernels::pack_firstconv(kernel_, args_.geometry.kernel, args_.channels, args_.filters,
                            {source, w.strides[0], w.strides[1], spatial3(spatial_sizes(w.strides), 0)}, target);
  }

  NodeRequest node_;  // the convolution, reading the image
  StagedOutput output_;
  const kernels::FirstConvKernel& kernel_;
  kernels::FirstConvArgs args_;
  std::array<std::size_t, kOperands> place_{};
  std::array<float, kernels::kMostFirstChannels> shift_{};
  bool shifted_ = false;
  kernels::TileGrid grid_;
  kernels::Epilogue epilogue_;
  PackedWeight packed_;
  std::size_t packed_floats_ = 0;
  std::size_t scratch_ = 0;  // bytes per worker
  std::size_t pack_at_ = 0;
};

/// Cheap, asked for every node.
std::size_t widest(const NodeRequest& first) {
  const std::string& op = first.node->op;
  const std::size_t most = op == "cast" ? kMostNodes : op == "add" || op == "sub" ? kMostNodes - 1 : 0;
  if (most == 0 || !present(first.inputs, 0) || first.outputs.empty()) return 0;
  const Shape& image = first.outputs[0].shape;
  const bool few = image.size() >= 3 && image[1] <= static_cast<std::int64_t>(kernels::kMostFirstChannels);
  return few && (op != "cast" || first.inputs[0].dtype == DType::uint8) ? most : 0;
}

std::size_t claim(Group nodes) {
  for (std::size_t count = 2; count <= std::min(nodes.size(), kMostNodes); ++count) {
    const Group group = nodes.first(count);
    if (group[count - 2].outputs[0].reads != 1) return 0;
    const auto parts = match(group);
    if (!parts) continue;
    return is_plain_conv(*parts->conv, parts->conv->inputs[1].shape[0]) && fits(*parts->conv) ? count : 0;
  }
  return 0;
}

}  // namespace

bool first_conv_takes(const NodeRequest& conv) {
  if (!fits(conv)) return false;
  const bool pointwise = std::all_of(conv.inputs[1].shape.begin() + 2, conv.inputs[1].shape.end(), [](auto k) { return k == 1; });
  return !pointwise || !uniform_pixel_stride(conv.inputs[0].shape, conv.inputs[0].strides);
}

NodeLayout first_conv_layout(Group group) {
  const NodeRequest& conv = group.back();
  const NodeLayout own = conv_layout(conv);
  NodeLayout layout;
  for (const NodeRequest& node : group) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].producer >= 0) continue;
      if (&node == &conv && i == kResidualOperand && own.in_place != 0) layout.in_place = 1U << layout.inputs.size();
      layout.inputs.push_back(&node == &conv && i > 0 ? own.inputs[i] : std::nullopt);
    }
  }
  layout.outputs = own.outputs;
  layout.strided_output = own.strided_output;
  return layout;
}

std::unique_ptr<Step> first_conv_prepare(Group group, PackCache& cache, std::size_t threads) {
  return std::make_unique<FirstConvStep>(group, *match(group), cache, threads);
}

FusedOp fused_first_conv() noexcept { return {widest, claim, first_conv_layout, first_conv_prepare}; }

}  // namespace jitney::cpu
