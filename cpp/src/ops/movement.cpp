// Ops that move whole tensors: identity, bit_cast, transpose, expand, tile, depth_to_space, space_to_depth.
#include <algorithm>

#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

using Regions = std::optional<std::vector<Region>>;

void infer_identity(InferContext& ctx) {
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  if (const auto elements = ctx.elements(0)) ctx.set_elements(0, *elements);
}

Regions identity_regions(const Node&, std::span<const TensorView> inputs, std::span<const TensorView> outputs, std::size_t) {
  return std::vector<Region>{{0, inputs[0].shape, 0, inputs[0].strides, 0, outputs[0].strides}};
}

void infer_bit_cast(InferContext& ctx) {
  const std::int64_t to = ctx.node().integer("to");
  const auto dtype = to > 0 && to <= 255 ? static_cast<DType>(to) : DType::undefined;
  if (size_of(dtype) == 0 || size_of(dtype) != size_of(ctx.dtype(0))) {
    ctx.fail("elements of dtype " + std::string(to_string(ctx.dtype(0))) + " cannot be read as " + std::string(to_string(dtype)),
             "the two must have the same width");
  }
  ctx.set(0, dtype, ctx.shape(0));
}

void infer_transpose(InferContext& ctx) {
  const auto& perm = ctx.node().integers("perm");
  std::vector<bool> seen(perm.size(), false);
  for (const std::int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(perm.size()) || seen[static_cast<std::size_t>(axis)]) {
      ctx.fail("perm is no permutation of the axes 0 to " + std::to_string(static_cast<std::int64_t>(perm.size()) - 1));
    }
    seen[static_cast<std::size_t>(axis)] = true;
  }
  const SymShape& shape = ctx.shape(0);
  if (shape.ranked && shape.rank() != perm.size()) {
    ctx.fail("perm has " + std::to_string(perm.size()) + " axes, but the operand has shape " + describe(shape));
  }
  std::vector<Dim> dims;
  for (const std::int64_t axis : perm) dims.push_back(shape.ranked ? shape.dims[static_cast<std::size_t>(axis)] : Dim::unknown());
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  const auto elements = ctx.elements(0);
  if (elements && perm.size() <= 1) ctx.set_elements(0, *elements);
}

Regions transpose_regions(const Node& node, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          std::size_t) {
  Shape strides;
  for (const std::int64_t axis : node.integers("perm")) strides.push_back(inputs[0].strides[static_cast<std::size_t>(axis)]);
  return std::vector<Region>{{0, outputs[0].shape, 0, strides, 0, outputs[0].strides}};
}

void infer_expand(InferContext& ctx) {
  expect_index(ctx, 1);
  expect_rank(ctx, 1, 1);
  const auto target = ctx.elements(1);
  if (!target) {
    const SymShape& list = ctx.shape(1);
    if (!list.ranked || list.rank() != 1 || !list.dims[0].is_constant()) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
    const auto rank = std::clamp<std::int64_t>(list.dims[0].value(), 0, kMaxRank + 1);
    const SymShape open = SymShape::of(std::vector<Dim>(static_cast<std::size_t>(rank)));
    return ctx.set(0, ctx.dtype(0), broadcast(ctx, ctx.shape(0), open));
  }
  for (const Dim& dim : *target) {
    if (dim.is_constant() && dim.value() < 0) ctx.fail("cannot expand to a dimension of " + std::to_string(dim.value()));
  }
  const SymShape shape = broadcast(ctx, ctx.shape(0), SymShape::of(*target));
  ctx.set(0, ctx.dtype(0), shape);
  const auto elements = ctx.elements(0);
  const auto from = constant_shape(ctx.shape(0));
  const auto to = constant_shape(shape);
  if (!elements || !from || !to || to->elements() > 1024) return;
  std::vector<Dim> expanded;
  const auto indices = broadcast_indices(*to, std::span(&*from, 1));
  for (const std::size_t index : indices.front()) expanded.push_back((*elements)[index]);
  ctx.set_elements(0, std::move(expanded));
}

Regions expand_regions(const Node&, std::span<const TensorView> inputs, std::span<const TensorView> outputs, std::size_t) {
  return std::vector<Region>{{0, outputs[0].shape, 0, broadcast_strides(inputs[0], outputs[0].shape), 0, outputs[0].strides}};
}

void infer_tile(InferContext& ctx) {
  expect_index(ctx, 1);
  expect_rank(ctx, 1, 1);
  const SymShape& shape = ctx.shape(0);
  const auto repeats = ctx.elements(1);
  if (!repeats) {
    return ctx.set(0, ctx.dtype(0), shape.ranked ? SymShape::of(std::vector<Dim>(shape.rank())) : SymShape::unranked());
  }
  if (shape.ranked && shape.rank() != repeats->size()) {
    ctx.fail("repeats has " + std::to_string(repeats->size()) + " entries, but the operand has shape " + describe(shape));
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < repeats->size(); ++i) {
    const Dim& repeat = (*repeats)[i];
    if (repeat.is_constant() && repeat.value() < 0) ctx.fail("cannot repeat " + std::to_string(repeat.value()) + " times");
    const Dim dim = shape.ranked ? shape.dims[i] : Dim::unknown();
    const Dim product = dim * repeat;
    if (dim.is_constant() && repeat.is_constant() && product.is_unknown()) ctx.fail("the tiled size does not fit 64 bits");
    dims.push_back(product);
  }
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
}

Regions tile_regions(const Node&, std::span<const TensorView> inputs, std::span<const TensorView> outputs, std::size_t) {
  const TensorView& x = inputs[0];
  const TensorView& y = outputs[0];
  if (y.shape.elements() == 0) return std::vector<Region>{};
  // An axis that repeats becomes two: the copies and the axis itself. Where the rank does not allow that, each copy is a region.
  Region region{0, {}, 0, {}, 0, {}};
  std::vector<std::pair<std::int64_t, std::int64_t>> spilled;  // (copies, distance in y)
  std::size_t left = kMaxRank - x.shape.size();
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const std::int64_t copies = y.shape[axis] / x.shape[axis];
    const std::int64_t distance = x.shape[axis] * y.strides[axis];
    if (copies > 1 && x.shape[axis] > 1 && left == 0) {
      spilled.emplace_back(copies, distance);
    } else if (copies > 1) {
      region.sizes.push_back(copies);
      region.src_strides.push_back(0);
      region.dst_strides.push_back(distance);
      if (x.shape[axis] == 1) continue;
      --left;
    }
    region.sizes.push_back(x.shape[axis]);
    region.src_strides.push_back(x.strides[axis]);
    region.dst_strides.push_back(y.strides[axis]);
  }
  std::vector<Region> regions{region};
  for (const auto& [copies, distance] : spilled) {
    const std::vector<Region> once = regions;
    for (std::int64_t copy = 1; copy < copies; ++copy) {
      for (Region next : once) {
        next.dst_offset += copy * distance;
        regions.push_back(next);
      }
    }
  }
  return regions;
}

std::int64_t block_of(const InferContext& ctx) {
  const std::int64_t block = ctx.node().integer("block");
  if (block < 1 || block > (std::int64_t{1} << 20)) ctx.fail("block is " + std::to_string(block) + ", but must be at least 1");
  expect_rank(ctx, 0, 4);
  return block;
}

Dim divided(const InferContext& ctx, const Dim& dim, std::int64_t divisor) {
  if (dim.is_constant() && dim.value() % divisor != 0) {
    ctx.fail("a dimension of " + std::to_string(dim.value()) + " is no multiple of " + std::to_string(divisor));
  }
  const Dim quotient = floor_div(dim, Dim(divisor));
  return (quotient * Dim(divisor)).same(dim) ? quotient : Dim::unknown();
}

void infer_depth_to_space(InferContext& ctx) {
  const std::int64_t block = block_of(ctx);
  if (!ctx.shape(0).ranked) return ctx.set(0, ctx.dtype(0), SymShape::of(std::vector<Dim>(4)));
  const std::vector<Dim>& x = ctx.shape(0).dims;
  ctx.set(0, ctx.dtype(0), SymShape::of({x[0], divided(ctx, x[1], block * block), x[2] * Dim(block), x[3] * Dim(block)}));
}

void infer_space_to_depth(InferContext& ctx) {
  const std::int64_t block = block_of(ctx);
  if (!ctx.shape(0).ranked) return ctx.set(0, ctx.dtype(0), SymShape::of(std::vector<Dim>(4)));
  const std::vector<Dim>& x = ctx.shape(0).dims;
  ctx.set(0, ctx.dtype(0), SymShape::of({x[0], x[1] * Dim(block * block), divided(ctx, x[2], block), divided(ctx, x[3], block)}));
}

Regions depth_to_space_regions(const Node& node, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                               std::size_t) {
  const std::int64_t b = node.integer("block");
  const Shape& y = outputs[0].shape;
  const Shape& from = inputs[0].strides;
  const Shape& to = outputs[0].strides;
  const bool dcr = node.text("mode", "dcr") == "dcr";
  // Axes: batch, channel, row, row within the block, column, column within the block.
  const std::int64_t channel = dcr ? 1 : b * b;
  const std::int64_t column = dcr ? y[1] : 1;
  return std::vector<Region>{{0,
                              {y[0], y[1], y[2] / b, b, y[3] / b, b},
                              0,
                              {from[0], channel * from[1], from[2], column * b * from[1], from[3], column * from[1]},
                              0,
                              {to[0], to[1], b * to[2], to[2], b * to[3], to[3]}}};
}

Regions space_to_depth_regions(const Node& node, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                               std::size_t) {
  const std::int64_t b = node.integer("block");
  const Shape& x = inputs[0].shape;
  const Shape& from = inputs[0].strides;
  const Shape& to = outputs[0].strides;
  return std::vector<Region>{{0,
                              {x[0], x[1], x[2] / b, b, x[3] / b, b},
                              0,
                              {from[0], from[1], b * from[2], from[2], b * from[3], from[3]},
                              0,
                              {to[0], to[1], to[2], x[1] * b * to[1], to[3], x[1] * to[1]}}};
}

constexpr AttributeSpec kBitCast[] = {{"to", AttributeType::integer, true}};
constexpr AttributeSpec kTranspose[] = {{"perm", AttributeType::integers, true}};
constexpr AttributeSpec kDepthToSpace[] = {{"block", AttributeType::integer, true},
                                           {"mode", AttributeType::text, false, "dcr|crd"}};
constexpr AttributeSpec kSpaceToDepth[] = {{"block", AttributeType::integer, true}};

template <RegionsRule rule>
constexpr OpDef movement(std::string_view name, std::uint32_t operands, std::span<const AttributeSpec> attributes,
                         void (*infer)(InferContext&), std::uint32_t value_inputs = 0) {
  return {name, {operands, operands}, {1, 1}, attributes, infer, compute_movement<rule>, rule, value_inputs};
}

constexpr OpDef kOps[] = {
    movement<identity_regions>("identity", 1, {}, infer_identity),
    movement<identity_regions>("bit_cast", 1, kBitCast, infer_bit_cast),
    movement<transpose_regions>("transpose", 1, kTranspose, infer_transpose),
    movement<expand_regions>("expand", 2, {}, infer_expand, 0b10),
    movement<tile_regions>("tile", 2, {}, infer_tile, 0b10),
    movement<depth_to_space_regions>("depth_to_space", 1, kDepthToSpace, infer_depth_to_space),
    movement<space_to_depth_regions>("space_to_depth", 1, kSpaceToDepth, infer_space_to_depth),
};

}  // namespace

std::span<const OpDef> movement_ops() { return kOps; }

}  // namespace jitney
