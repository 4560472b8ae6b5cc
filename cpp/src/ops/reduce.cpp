// Reductions over any axes. Each result is one chain over its elements in row-major order, computed in double for floats.
#include <cmath>
#include <limits>

#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

using namespace arithmetic;

// One accumulator per kind: add() takes an element, result() what `count` elements give. T is the type computed in.

template <typename T>
struct Sum {
  T sum{};
  explicit Sum(DType) {}
  void add(T x) { sum = Add::of(sum, x); }
  T result(std::int64_t) const { return sum; }
};

template <typename T>
struct Mean : Sum<T> {
  using Sum<T>::Sum;
  T result(std::int64_t count) const { return Div::of(this->sum, static_cast<T>(count)); }
};

template <typename T>
struct Product {
  T product{1};
  explicit Product(DType) {}
  void add(T x) { product = Mul::of(product, x); }
  T result(std::int64_t) const { return product; }
};

template <typename T>
struct AbsoluteSum : Sum<T> {
  using Sum<T>::Sum;
  void add(T x) { Sum<T>::add(x < T{0} ? Sub::of(T{0}, x) : x); }
};

template <typename T>
struct SquareSum : Sum<T> {
  using Sum<T>::Sum;
  void add(T x) { Sum<T>::add(Mul::of(x, x)); }
};

/// The end of a type's range that every element beats.
template <typename T, bool lowest>
T end_of_range(DType dtype) {
  if constexpr (std::is_floating_point_v<T>) {
    const double infinity = std::numeric_limits<double>::infinity();
    return lowest ? -infinity : infinity;
  } else if constexpr (std::is_unsigned_v<T>) {
    return lowest ? 0 : std::numeric_limits<T>::max();
  } else {
    return lowest ? lowest_of(dtype) : highest_of(dtype);
  }
}

template <typename T>
struct Largest {
  T best;
  explicit Largest(DType dtype) : best(end_of_range<T, true>(dtype)) {}
  void add(T x) { best = Max::of(best, x); }
  T result(std::int64_t) const { return best; }
};

template <typename T>
struct Smallest {
  T best;
  explicit Smallest(DType dtype) : best(end_of_range<T, false>(dtype)) {}
  void add(T x) { best = Min::of(best, x); }
  T result(std::int64_t) const { return best; }
};

struct EuclideanNorm : SquareSum<double> {
  using SquareSum<double>::SquareSum;
  double result(std::int64_t) const { return std::sqrt(sum); }
};

struct LogSum : Sum<double> {
  using Sum<double>::Sum;
  double result(std::int64_t) const { return std::log(sum); }
};

/// Keeps the sum relative to the largest element so far, so that nothing overflows.
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0.0;
  explicit LogSumExp(DType) {}
  void add(double x) {
    if (x == largest) {
      if (!std::isinf(x) || x > 0) sum += 1.0;  // exp(-inf) adds nothing
    } else if (x < largest) {
      sum += std::exp(x - largest);
    } else {  // larger, or NaN
      sum = sum * std::exp(largest - x) + 1.0;
      largest = x;
    }
  }
  double result(std::int64_t) const { return sum == 0.0 ? -std::numeric_limits<double>::infinity() : largest + std::log(sum); }
};

/// Which axes a reduce node reduces; nullopt if its axes are not known.
std::optional<std::vector<bool>> reduced_axes(const Node& node, std::size_t rank, bool given,
                                              const std::optional<std::vector<std::int64_t>>& axes) {
  if (given && !axes) return std::nullopt;
  if (!given || axes->empty()) return std::vector<bool>(rank, node.integer("noop_with_empty_axes", 0) == 0);
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : *axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  return reduced;
}

template <typename T, typename Accumulator>
void accumulate(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  std::optional<std::vector<std::int64_t>> axes;
  if (ctx.has(1)) axes = read_integers(ctx.input(1));
  const std::vector<bool> reduced = *reduced_axes(ctx.node(), x.shape.size(), ctx.has(1), axes);
  const bool keep = ctx.node().integer("keep_dims", 1) != 0;
  Shape outer, outer_strides, y_strides, inner, inner_strides;
  std::size_t y_axis = 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (reduced[i]) {
      inner.push_back(x.shape[i]);
      inner_strides.push_back(x.strides[i]);
      if (keep) ++y_axis;
    } else {
      outer.push_back(x.shape[i]);
      outer_strides.push_back(x.strides[i]);
      y_strides.push_back(y.strides[y_axis++]);
    }
  }
  const std::int64_t count = inner.elements();
  const Walk<1> elements(inner, {inner_strides});
  std::array<T, Walk<1>::kPiece> buffer;
  memory_order_walk<2>(outer, {outer_strides, y_strides}).for_each([&](const std::array<std::int64_t, 2>& at) {
    Accumulator accumulator(x.dtype);
    elements.for_each_piece([&](const std::array<std::int64_t, 1>& in, std::size_t length) {
      load_run(x.dtype, address(x, at[0] + in[0]), elements.run_strides[0], length, buffer.data());
      for (std::size_t i = 0; i < length; ++i) accumulator.add(buffer[i]);
    });
    store<T>(y, at[1], accumulator.result(count));
  });
}

template <template <typename> typename Accumulator>
void accumulate_by_type(const ComputeContext& ctx) {
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    accumulate<T, Accumulator<T>>(ctx);
  });
}

void compute_reduce(const ComputeContext& ctx) {
  const std::string_view kind = ctx.node().text("kind");
  if (kind == "sum") return accumulate_by_type<Sum>(ctx);
  if (kind == "mean") return accumulate_by_type<Mean>(ctx);
  if (kind == "max") return accumulate_by_type<Largest>(ctx);
  if (kind == "min") return accumulate_by_type<Smallest>(ctx);
  if (kind == "prod") return accumulate_by_type<Product>(ctx);
  if (kind == "l1") return accumulate_by_type<AbsoluteSum>(ctx);
  if (kind == "sum_square") return accumulate_by_type<SquareSum>(ctx);
  if (kind == "l2") return accumulate<double, EuclideanNorm>(ctx);
  if (kind == "log_sum") return accumulate<double, LogSum>(ctx);
  accumulate<double, LogSumExp>(ctx);
}

/// A list's sum, product, largest or smallest element, as far as Dims can say.
std::optional<Dim> reduced_element(std::string_view kind, const std::vector<Dim>& elements) {
  const auto fold = [&](Dim start, auto rule) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      start = i == 0 && start.is_unknown() ? elements[0] : rule(start, elements[i]);
    return start;
  };
  if (kind == "sum") return fold(Dim(0), Add::rule);
  if (kind == "prod") return fold(Dim(1), Mul::rule);
  if (kind == "max" && !elements.empty()) return fold(Dim::unknown(), Max::rule);
  if (kind == "min" && !elements.empty()) return fold(Dim::unknown(), Min::rule);
  return std::nullopt;
}

void infer_reduce(InferContext& ctx) {
  const std::string_view kind = ctx.node().text("kind");
  if (ctx.dtype(0) != DType::boolean || (kind != "max" && kind != "min")) expect_number(ctx, 0);
  if (ctx.has(1)) expect_index(ctx, 1);
  const SymShape& x = ctx.shape(0);
  const bool keep = ctx.node().integer("keep_dims", 1) != 0;
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  const auto axes = ctx.integers(1);
  if (axes) (void)marked_axes(ctx, *axes, x.rank());
  const auto reduced = reduced_axes(ctx.node(), x.rank(), ctx.has(1), axes);
  if (!reduced) return ctx.set(0, ctx.dtype(0), keep ? SymShape::of(std::vector<Dim>(x.rank())) : SymShape::unranked());
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!(*reduced)[i]) {
      dims.push_back(x.dims[i]);
    } else if (keep) {
      dims.push_back(Dim(1));
    }
  }
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  const auto elements = ctx.elements(0);
  if (!elements || x.rank() != 1 || !(*reduced)[0]) return;
  if (const auto element = reduced_element(kind, *elements)) ctx.set_elements(0, {within(ctx.dtype(0), *element)});
}

constexpr AttributeSpec kReduce[] = {
    {"kind", AttributeType::text, true, "sum|mean|max|min|prod|l1|l2|log_sum|log_sum_exp|sum_square"},
    {"keep_dims", AttributeType::integer},
    {"noop_with_empty_axes", AttributeType::integer},
};

constexpr OpDef kOps[] = {
    {"reduce", {1, 2}, {1, 1}, kReduce, infer_reduce, compute_reduce, nullptr, 0b10},
};

}  // namespace

std::span<const OpDef> reduce_ops() { return kOps; }

}  // namespace jitney
