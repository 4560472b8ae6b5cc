// Shapes as values, and generators: shape, size, constant_of_shape, range, non_zero.
#include <algorithm>
#include <cmath>

#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

/// The axes [first, last) that a shape node reports.
std::pair<std::size_t, std::size_t> reported_axes(const Node& node, std::size_t rank) {
  const auto bound = [&](std::int64_t axis) {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (axis < -signed_rank) return std::size_t{0};
    return static_cast<std::size_t>(std::min(axis < 0 ? axis + signed_rank : axis, signed_rank));
  };
  const std::size_t first = bound(node.integer("start", 0));
  return {first, std::max(first, bound(node.integer("end", static_cast<std::int64_t>(kMaxRank))))};
}

void infer_shape(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  if (!x.ranked) return ctx.set(0, DType::int64, SymShape::of({Dim::unknown()}));
  const auto [first, last] = reported_axes(ctx.node(), x.rank());
  ctx.set(0, DType::int64, SymShape::of({Dim(static_cast<std::int64_t>(last - first))}));
  const auto begin = x.dims.begin();
  ctx.set_elements(0, {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)});
}

void compute_shape(const ComputeContext& ctx) {
  const Shape& shape = ctx.input(0).shape;
  const TensorView& y = ctx.output(0);
  const auto [first, last] = reported_axes(ctx.node(), shape.size());
  for (std::size_t i = first; i < last; ++i) store_int64(y, static_cast<std::int64_t>(i - first) * y.strides[0], shape[i]);
}

void infer_size(InferContext& ctx) {
  ctx.set(0, DType::int64, SymShape::of({}));
  ctx.set_elements(0, {element_count(ctx.shape(0))});
}

void compute_size(const ComputeContext& ctx) { store_int64(ctx.output(0), 0, ctx.input(0).shape.elements()); }

void infer_constant_of_shape(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::int64});
  expect_rank(ctx, 0, 1);
  expect_one_element(ctx, 1);
  const SymShape& list = ctx.shape(0);
  const auto dims = ctx.elements(0);
  if (!dims) {
    const bool ranked = list.ranked && list.dims[0].is_constant();
    if (!ranked) return ctx.set(0, ctx.dtype(1), SymShape::unranked());
    const auto rank = static_cast<std::size_t>(std::clamp<std::int64_t>(list.dims[0].value(), 0, kMaxRank + 1));
    return ctx.set(0, ctx.dtype(1), SymShape::of(std::vector<Dim>(rank)));
  }
  ctx.set(0, ctx.dtype(1), SymShape::of(*dims));
  const Dim count = element_count(SymShape::of(*dims));
  const auto value = ctx.elements(1);
  if (value && count.is_constant() && count.value() <= 1024) {
    ctx.set_elements(0, std::vector<Dim>(static_cast<std::size_t>(count.value()), value->front()));
  }
}

std::optional<std::vector<Region>> constant_of_shape_regions(const Node&, std::span<const TensorView>,
                                                             std::span<const TensorView> outputs, std::size_t) {
  const Shape& shape = outputs[0].shape;
  return std::vector<Region>{{1, shape, 0, Shape(shape.size(), 0), 0, outputs[0].strides}};
}

/// Number of steps from start to limit over integers; unknown where symbols leave it open.
Dim integer_range(const InferContext& ctx, const Dim& start, const Dim& limit, const Dim& delta) {
  if (!delta.is_constant()) return Dim::unknown();
  if (delta.value() == 0) ctx.fail("delta is 0");
  const bool up = delta.value() > 0;
  if (start.is_constant() && limit.is_constant()) {
    if (up ? limit.value() <= start.value() : limit.value() >= start.value()) return Dim(0);
    const auto from = static_cast<std::uint64_t>(start.value()), to = static_cast<std::uint64_t>(limit.value());
    const auto step = static_cast<std::uint64_t>(delta.value());
    const std::uint64_t distance = up ? to - from : from - to, pace = up ? step : std::uint64_t{0} - step;
    const std::uint64_t count = distance / pace + (distance % pace != 0 ? 1 : 0);
    if (count >> 62 != 0) ctx.fail("the range has more elements than 62 bits can count");
    return Dim(static_cast<std::int64_t>(count));
  }
  const Dim distance = up ? limit - start : start - limit;
  const Dim pace = up ? delta : Dim(0) - delta;
  return lower_bound(distance).value_or(-1) >= 0 ? floor_div(distance + pace - Dim(1), pace) : Dim::unknown();
}

Dim floating_range(const InferContext& ctx, double start, double limit, double delta) {
  if (delta == 0) ctx.fail("delta is 0");
  const double count = std::ceil((limit - start) / delta);
  if (!(count < 0x1p62)) ctx.fail("the range has no finite number of elements that 62 bits can count");
  return Dim(static_cast<std::int64_t>(std::max(count, 0.0)));
}

void infer_range(InferContext& ctx) {
  expect_number(ctx, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_same_dtype(ctx, 0, i);
    expect_one_element(ctx, i);
  }
  const DType dtype = ctx.dtype(0);
  if (is_floating(dtype)) {
    const auto start = ctx.numbers(0), limit = ctx.numbers(1), delta = ctx.numbers(2);
    const bool known = start && limit && delta;
    return ctx.set(0, dtype,
                   SymShape::of({known ? floating_range(ctx, start->front(), limit->front(), delta->front()) : Dim::unknown()}));
  }
  const auto start = ctx.elements(0), limit = ctx.elements(1), delta = ctx.elements(2);
  if (!start || !limit || !delta) return ctx.set(0, dtype, SymShape::of({Dim::unknown()}));
  const Dim count = integer_range(ctx, start->front(), limit->front(), delta->front());
  ctx.set(0, dtype, SymShape::of({count}));
  if (!count.is_constant() || count.value() > 1024) return;
  std::vector<Dim> elements;
  for (std::int64_t i = 0; i < count.value(); ++i) elements.push_back(start->front() + Dim(i) * delta->front());
  ctx.set_elements(0, std::move(elements));
}

void compute_range(const ComputeContext& ctx) {
  const TensorView& y = ctx.output(0);
  with_number_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    const T start = load<T>(ctx.input(0), 0), delta = load<T>(ctx.input(2), 0);
    for (std::int64_t i = 0; i < y.shape[0]; ++i) {
      store(y, i * y.strides[0], arithmetic::Add::of(start, arithmetic::Mul::of(static_cast<T>(i), delta)));
    }
  });
}

/// A scalar counts as a list of one element.
std::size_t coordinates(std::size_t rank) { return std::max<std::size_t>(rank, 1); }

void infer_non_zero(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  if (number_class(ctx.dtype(0)) == NumberClass::none) expect_number(ctx, 0);
  ctx.set(0, DType::int64,
          SymShape::of({x.ranked ? Dim(static_cast<std::int64_t>(coordinates(x.rank()))) : Dim::unknown(), Dim::unknown()}));
}

void compute_non_zero(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  std::vector<std::int64_t> found;  // the coordinates of each element in turn
  std::int64_t count = 0;
  Shape index(coordinates(x.shape.size()), 0);
  Walk<1>(x.shape, {x.strides}).for_each([&](const std::array<std::int64_t, 1>& at) {
    if (load_double(x, at[0]) != 0) {
      found.insert(found.end(), index.begin(), index.end());
      ++count;
    }
    for (std::size_t axis = x.shape.size(); axis-- > 0;) {
      if (++index[axis] < x.shape[axis]) break;
      index[axis] = 0;
    }
  });
  const auto rank = static_cast<std::int64_t>(index.size());
  const TensorView y = ctx.allocate(0, DType::int64, {rank, count});
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      store_int64(y, axis * y.strides[0] + i * y.strides[1], found[static_cast<std::size_t>(i * rank + axis)]);
    }
  }
}

constexpr AttributeSpec kShape[] = {{"start", AttributeType::integer}, {"end", AttributeType::integer}};

constexpr OpDef kOps[] = {
    {"shape", {1, 1}, {1, 1}, kShape, infer_shape, compute_shape},
    {"size", {1, 1}, {1, 1}, {}, infer_size, compute_size},
    {"constant_of_shape",
     {2, 2},
     {1, 1},
     {},
     infer_constant_of_shape,
     compute_movement<constant_of_shape_regions>,
     constant_of_shape_regions,
     0b1},
    {"range", {3, 3}, {1, 1}, {}, infer_range, compute_range, nullptr, 0b111},
    {"non_zero", {1, 1}, {1, 1}, {}, infer_non_zero, compute_non_zero, nullptr, 0, true},
};

}  // namespace

std::span<const OpDef> shape_ops() { return kOps; }

}  // namespace jitney
