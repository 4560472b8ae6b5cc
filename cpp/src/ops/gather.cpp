// Reads by index: gather, gather_elements, gather_nd. An index outside its axis is an error, never a read.
#include <cstring>

#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

void infer_gather(InferContext& ctx) {
  expect_index(ctx, 1);
  const SymShape& x = ctx.shape(0);
  const SymShape& indices = ctx.shape(1);
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  const std::size_t axis = ctx.axis(ctx.node().integer("axis"), x.rank());
  if (!indices.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  std::vector<Dim> dims(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.dims.end());
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  const auto elements = ctx.elements(0);
  const auto picks = ctx.elements(1);
  if (!elements || !picks || x.rank() != 1) return;
  const auto size = static_cast<std::int64_t>(elements->size());
  std::vector<Dim> gathered;
  for (const Dim& pick : *picks) {
    if (!pick.is_constant()) {
      gathered.push_back(Dim::unknown());
      continue;
    }
    if (pick.value() < -size || pick.value() >= size) {
      ctx.fail("index " + std::to_string(pick.value()) + " is outside the range of an axis of size " + std::to_string(size));
    }
    gathered.push_back((*elements)[static_cast<std::size_t>(pick.value() < 0 ? pick.value() + size : pick.value())]);
  }
  ctx.set_elements(0, std::move(gathered));
}

void compute_gather(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& indices = ctx.input(1);
  const TensorView& y = ctx.output(0);
  const std::size_t axis = axis_of(ctx.node(), x.shape.size());
  const std::size_t index_rank = indices.shape.size();
  Shape slab, from_strides, to_strides, index_strides;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis) continue;
    slab.push_back(x.shape[i]);
    from_strides.push_back(x.strides[i]);
    to_strides.push_back(y.strides[i < axis ? i : i + index_rank - 1]);
  }
  for (std::size_t i = 0; i < index_rank; ++i) index_strides.push_back(y.strides[axis + i]);
  const RegionCopy copy(size_of(x.dtype), slab, from_strides, to_strides);
  Walk<2>(indices.shape, {indices.strides, index_strides}).for_each([&](const std::array<std::int64_t, 2>& at) {
    const std::int64_t index = checked_index(ctx, load_int64(indices, at[0]), x.shape[axis]);
    if (slab.elements() != 0) copy(address(x, index * x.strides[axis]), address(y, at[1]));
  });
}

void infer_gather_elements(InferContext& ctx) {
  expect_index(ctx, 1);
  const SymShape& x = ctx.shape(0);
  const SymShape& indices = ctx.shape(1);
  if (x.ranked && indices.ranked) {
    const std::size_t axis = ctx.axis(ctx.node().integer("axis"), x.rank());
    expect_rank(ctx, 1, x.rank());
    for (std::size_t i = 0; i < x.rank(); ++i) {
      const Dim excess = indices.dims[i] - x.dims[i];
      if (i != axis && excess.is_constant() && excess.value() > 0) {
        ctx.fail("indices of shape " + describe(indices) + " are larger than the operand of shape " + describe(x));
      }
    }
  }
  ctx.set(0, ctx.dtype(0), indices);
}

void compute_gather_elements(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& indices = ctx.input(1);
  const TensorView& y = ctx.output(0);
  const std::size_t axis = axis_of(ctx.node(), x.shape.size());
  Shape others = x.strides;
  others[axis] = 0;
  const std::size_t bytes = size_of(x.dtype);
  Walk<3>(indices.shape, {indices.strides, others, y.strides}).for_each([&](const std::array<std::int64_t, 3>& at) {
    const std::int64_t index = checked_index(ctx, load_int64(indices, at[0]), x.shape[axis]);
    std::memcpy(address(y, at[2]), address(x, at[1] + index * x.strides[axis]), bytes);
  });
}

void infer_gather_nd(InferContext& ctx) {
  expect_index(ctx, 1);
  const SymShape& x = ctx.shape(0);
  const SymShape& indices = ctx.shape(1);
  const std::int64_t batch_dims = ctx.node().integer("batch_dims", 0);
  if (indices.ranked && indices.rank() == 0) ctx.fail("indices are a scalar, but must have rank 1 or more");
  if (!x.ranked || !indices.ranked || !indices.dims.back().is_constant()) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  const std::int64_t depth = indices.dims.back().value();
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (batch_dims < 0 || batch_dims >= static_cast<std::int64_t>(indices.rank()) || batch_dims > rank ||
      depth > rank - batch_dims) {
    ctx.fail("indices of shape " + describe(indices) + " with " + std::to_string(batch_dims) +
             " batch dims do not fit the shape " + describe(x));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch_dims); ++i) {
    if (!unify(x.dims[i], indices.dims[i]))
      ctx.fail("the batch dims of " + describe(x) + " and " + describe(indices) + " differ");
  }
  std::vector<Dim> dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(batch_dims + depth), x.dims.end());
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
}

void compute_gather_nd(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& indices = ctx.input(1);
  const TensorView& y = ctx.output(0);
  const auto batch_dims = static_cast<std::size_t>(ctx.node().integer("batch_dims", 0));
  const std::size_t outer = indices.shape.size() - 1;
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  Shape sizes, index_strides, batch_strides, y_strides, slab, from_strides, to_strides;
  for (std::size_t i = 0; i < outer; ++i) {
    sizes.push_back(indices.shape[i]);
    index_strides.push_back(indices.strides[i]);
    batch_strides.push_back(i < batch_dims ? x.strides[i] : 0);
    y_strides.push_back(y.strides[i]);
  }
  for (std::size_t i = batch_dims + depth; i < x.shape.size(); ++i) {
    slab.push_back(x.shape[i]);
    from_strides.push_back(x.strides[i]);
    to_strides.push_back(y.strides[outer + i - batch_dims - depth]);
  }
  const RegionCopy copy(size_of(x.dtype), slab, from_strides, to_strides);
  Walk<3>(sizes, {index_strides, batch_strides, y_strides}).for_each([&](const std::array<std::int64_t, 3>& at) {
    std::int64_t from = at[1];
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t given = load_int64(indices, at[0] + static_cast<std::int64_t>(k) * indices.strides[outer]);
      from += checked_index(ctx, given, x.shape[batch_dims + k]) * x.strides[batch_dims + k];
    }
    if (slab.elements() != 0) copy(address(x, from), address(y, at[2]));
  });
}

constexpr AttributeSpec kAxis[] = {{"axis", AttributeType::integer, true}};
constexpr AttributeSpec kBatchDims[] = {{"batch_dims", AttributeType::integer}};

constexpr OpDef kOps[] = {
    {"gather", {2, 2}, {1, 1}, kAxis, infer_gather, compute_gather},
    {"gather_elements", {2, 2}, {1, 1}, kAxis, infer_gather_elements, compute_gather_elements},
    {"gather_nd", {2, 2}, {1, 1}, kBatchDims, infer_gather_nd, compute_gather_nd},
};

}  // namespace

std::span<const OpDef> gather_ops() { return kOps; }

}  // namespace jitney
