// Ops that walk along one axis: arg_reduce, cumsum, cumprod, top_k. NaN counts as larger than any number, as NumPy sorts it.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

/// Lines along `axis`: a walk over all other axes of `shape` in operands with these strides.
template <std::size_t N>
Walk<N> lines(Shape shape, std::array<Shape, N> strides, std::size_t axis) {
  shape[axis] = std::min<std::int64_t>(shape[axis], 1);
  for (Shape& operand : strides) operand[axis] = 0;
  return Walk<N>(shape, strides);
}

/// The elements of a line.
template <typename T>
void load_line(const TensorView& view, std::int64_t offset, std::size_t axis, std::vector<T>& line) {
  line.resize(static_cast<std::size_t>(view.shape[axis]));
  load_run(view.dtype, address(view, offset), view.strides[axis], line.size(), line.data());
}

template <typename T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  }
  return a < b;
}

// arg_reduce

void infer_arg_reduce(InferContext& ctx) {
  expect_number(ctx, 0);
  const SymShape& x = ctx.shape(0);
  if (!x.ranked) return ctx.set(0, DType::int64, SymShape::unranked());
  const std::size_t axis = ctx.axis(ctx.node().integer("axis"), x.rank());
  if (x.dims[axis].is_constant() && x.dims[axis].value() == 0 && ctx.node().integer("allow_empty", 0) == 0) {
    ctx.fail("axis " + std::to_string(axis) + " of shape " + describe(x) + " is empty, so nothing on it is largest or smallest");
  }
  std::vector<Dim> dims = x.dims;
  if (ctx.node().integer("keep_dims", 1) != 0) {
    dims[axis] = Dim(1);
  } else {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  ctx.set(0, DType::int64, SymShape::of(std::move(dims)));
}

/// Whether `x` takes the place of the best so far; with `last` it also does so if it is as good. A NaN beats every number.
template <typename T>
bool replaces(T best, T x, bool largest, bool last) {
  if (best != best || x != x) return best == best || (last && x != x);
  if (x == best) return last;
  return largest ? best < x : x < best;
}

/// The index of the best of `size` elements in each of `count` lines that start `apart` elements from each other.
template <typename T>
void best_indices(const TensorView& x, std::int64_t from, std::int64_t apart, std::size_t count, std::size_t axis, bool largest,
                  bool last, std::int64_t* indices) {
  std::array<T, static_cast<std::size_t>(Walk<2>::kPiece)> best, row;
  std::fill_n(indices, count, 0);
  load_run(x.dtype, address(x, from), apart, count, best.data());
  for (std::int64_t k = 1; k < x.shape[axis]; ++k) {
    load_run(x.dtype, address(x, from + k * x.strides[axis]), apart, count, row.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (!replaces(best[i], row[i], largest, last)) continue;
      best[i] = row[i];
      indices[i] = k;
    }
  }
}

template <typename T>
std::int64_t best_index(const std::vector<T>& line, bool largest, bool last) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (replaces(line[best], line[i], largest, last)) best = i;
  }
  return static_cast<std::int64_t>(best);
}

void compute_arg_reduce(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  const std::size_t axis = axis_of(ctx.node(), x.shape.size());
  const bool largest = ctx.node().text("kind") == "max";
  const bool last = ctx.node().integer("select_last", 0) != 0;
  Shape y_strides;
  const bool keep = ctx.node().integer("keep_dims", 1) != 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis) {
      y_strides.push_back(0);
    } else {
      y_strides.push_back(y.strides[keep || i < axis ? i : i - 1]);
    }
  }
  with_number_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    const Walk<2> walk = lines<2>(x.shape, {x.strides, y_strides}, axis);
    // Many lines at once where neighbours lie closer than the elements of a line.
    if (walk.run > 1 && std::abs(walk.run_strides[0]) < std::abs(x.strides[axis])) {
      std::array<std::int64_t, static_cast<std::size_t>(Walk<2>::kPiece)> indices;
      return walk.for_each_piece([&](const std::array<std::int64_t, 2>& at, std::size_t count) {
        best_indices<T>(x, at[0], walk.run_strides[0], count, axis, largest, last, indices.data());
        store_run(DType::int64, address(y, at[1]), walk.run_strides[1], count, indices.data());
      });
    }
    std::vector<T> line;
    walk.for_each([&](const std::array<std::int64_t, 2>& at) {
      load_line(x, at[0], axis, line);
      store_int64(y, at[1], best_index(line, largest, last));
    });
  });
}

// cumsum, cumprod

void infer_cumulative(InferContext& ctx) {
  expect_number(ctx, 0);
  expect_index(ctx, 1);
  expect_one_element(ctx, 1);
  const auto axis = ctx.integers(1);
  if (axis && ctx.shape(0).ranked) (void)ctx.axis(axis->front(), ctx.shape(0).rank());
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
}

template <typename Combine>
void compute_cumulative(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const auto axis = static_cast<std::size_t>(checked_index(ctx, load_int64(ctx.input(1), 0), rank));
  const bool exclusive = ctx.node().integer("exclusive", 0) != 0;
  const bool reverse = ctx.node().integer("reverse", 0) != 0;
  with_number_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<T> line;
    lines<2>(x.shape, {x.strides, y.strides}, axis).for_each([&](const std::array<std::int64_t, 2>& at) {
      load_line(x, at[0], axis, line);
      if (reverse) std::reverse(line.begin(), line.end());
      T total = std::is_same_v<Combine, arithmetic::Mul> ? T{1} : T{0};
      for (T& element : line) {
        const T before = total;
        total = Combine::of(total, element);
        element = exclusive ? before : total;
      }
      if (reverse) std::reverse(line.begin(), line.end());
      store_run(y.dtype, address(y, at[1]), y.strides[axis], line.size(), line.data());
    });
  });
}

// top_k

void infer_top_k(InferContext& ctx) {
  expect_number(ctx, 0);
  expect_index(ctx, 1);
  expect_one_element(ctx, 1);
  SymShape shape = ctx.shape(0);
  if (shape.ranked) {
    const std::size_t axis = ctx.axis(ctx.node().integer("axis"), shape.rank());
    const auto k = ctx.elements(1);
    const Dim count = k ? k->front() : Dim::unknown();
    const Dim missing = count - shape.dims[axis];
    const bool possible = !count.is_constant() || count.value() >= 0;
    if (!possible || (missing.is_constant() && missing.value() > 0)) {
      ctx.fail("k is " + to_string(count, {}) + ", but axis " + std::to_string(axis) + " has the size " +
               to_string(shape.dims[axis], {}));
    }
    shape.dims[axis] = count;
  }
  ctx.set(0, ctx.dtype(0), shape);
  ctx.set(1, DType::int64, shape);
}

void compute_top_k(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const std::size_t axis = axis_of(ctx.node(), x.shape.size());
  const bool largest = ctx.node().integer("largest", 1) != 0;
  // Nobody may read one of the results; its strides then do not matter.
  const Shape unused(x.shape.size(), 0);
  const std::array<Shape, 3> strides{x.strides, ctx.wants(0) ? ctx.output(0).strides : unused,
                                     ctx.wants(1) ? ctx.output(1).strides : unused};
  const std::int64_t k = ctx.wants(0) ? ctx.output(0).shape[axis] : (ctx.wants(1) ? ctx.output(1).shape[axis] : 0);
  if (k == 0) return;
  with_number_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<T> line, values(static_cast<std::size_t>(k));
    std::vector<std::int64_t> order;
    lines<3>(x.shape, strides, axis).for_each([&](const std::array<std::int64_t, 3>& at) {
      load_line(x, at[0], axis, line);
      order.resize(line.size());
      std::iota(order.begin(), order.end(), std::int64_t{0});
      const auto element = [&](std::int64_t i) { return line[static_cast<std::size_t>(i)]; };
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
        const T left = element(a), right = element(b);
        if (is_less(left, right)) return !largest;
        if (is_less(right, left)) return largest;
        return a < b;
      });
      std::transform(order.begin(), order.begin() + k, values.begin(), element);
      const auto store_line = [&](const TensorView& y, std::int64_t offset, const auto* results) {
        store_run(y.dtype, address(y, offset), y.strides[axis], values.size(), results);
      };
      if (ctx.wants(0)) store_line(ctx.output(0), at[1], values.data());
      if (ctx.wants(1)) store_line(ctx.output(1), at[2], order.data());
    });
  });
}

constexpr AttributeSpec kArgReduce[] = {{"kind", AttributeType::text, true, "max|min"},
                                        {"axis", AttributeType::integer, true},
                                        {"keep_dims", AttributeType::integer},
                                        {"select_last", AttributeType::integer},
                                        {"allow_empty", AttributeType::integer}};
constexpr AttributeSpec kCumulative[] = {{"exclusive", AttributeType::integer}, {"reverse", AttributeType::integer}};
constexpr AttributeSpec kTopK[] = {
    {"axis", AttributeType::integer, true}, {"largest", AttributeType::integer}, {"sorted", AttributeType::integer}};

constexpr OpDef kOps[] = {
    {"arg_reduce", {1, 1}, {1, 1}, kArgReduce, infer_arg_reduce, compute_arg_reduce},
    {"cumsum", {2, 2}, {1, 1}, kCumulative, infer_cumulative, compute_cumulative<arithmetic::Add>, nullptr, 0b10},
    {"cumprod", {2, 2}, {1, 1}, kCumulative, infer_cumulative, compute_cumulative<arithmetic::Mul>, nullptr, 0b10},
    {"top_k", {2, 2}, {1, 2}, kTopK, infer_top_k, compute_top_k, nullptr, 0b10},
};

}  // namespace

std::span<const OpDef> along_axis_ops() { return kOps; }

}  // namespace jitney
