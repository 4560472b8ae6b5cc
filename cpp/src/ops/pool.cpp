// max_pool, average_pool and lp_pool over windows of any rank.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/window.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 2> kPoolAttributes = {{
    {"kernel", AttributeType::integers, true},
    {"ceil_mode", AttributeType::integer},
}};
constexpr std::array<AttributeSpec, 1> kStorageOrder = {{{"storage_order", AttributeType::integer}}};
constexpr std::array<AttributeSpec, 1> kCountIncludePad = {{{"count_include_pad", AttributeType::integer}}};
constexpr std::array<AttributeSpec, 1> kPower = {{{"p", AttributeType::integer}}};
constexpr auto kShared = join(kPoolAttributes, kWindowAttributes);
constexpr auto kMaxPoolAttributes = join(kShared, kStorageOrder);
constexpr auto kAveragePoolAttributes = join(kShared, kCountIncludePad);
constexpr auto kLpPoolAttributes = join(kShared, kPower);

SymShape infer_pool(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  const std::vector<std::int64_t>& kernel = ctx.node().integers("kernel");
  if (kernel.empty()) ctx.fail("kernel is empty", "give one size per spatial axis");
  if (x.ranked && x.rank() != kernel.size() + 2) {
    ctx.fail("x has shape " + describe(x) + ", but the kernel has " + std::to_string(kernel.size()) + " sizes",
             "feed a tensor [batch, channels, …] with one spatial axis per size");
  }
  SymShape y = SymShape::of(x.ranked ? std::vector<Dim>{x.dims[0], x.dims[1]} : std::vector<Dim>(2));
  const std::vector<Dim> sizes(kernel.begin(), kernel.end());
  for (Dim& size : infer_window(ctx, x.ranked ? spatial_dims(x) : std::vector<Dim>(kernel.size()), sizes)) {
    y.dims.push_back(std::move(size));
  }
  return y;
}

void infer_max_pool(InferContext& ctx) {
  if (number_class(ctx.dtype(0)) == NumberClass::none || ctx.dtype(0) == DType::boolean) {
    ctx.fail("max_pool cannot compare elements of dtype " + std::string(to_string(ctx.dtype(0))));
  }
  const SymShape y = infer_pool(ctx);
  ctx.set(0, ctx.dtype(0), y);
  if (ctx.output_count() > 1) ctx.set(1, DType::int64, y);
}

void infer_mean_pool(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  if (ctx.node().integer("p", 2) < 1) ctx.fail("p is " + std::to_string(ctx.node().integer("p")) + "; it must be at least 1");
  ctx.set(0, ctx.dtype(0), infer_pool(ctx));
}

/// Calls body(plane, element, sources) for every window: first pixel of its [batch, channel] plane, its index in the output,
/// and where its taps lie in the plane.
template <typename Body>
void for_each_window(const ComputeContext& ctx, Body&& body) {
  const Shape& x = ctx.input(0).shape;
  const WindowGeometry geometry = window_geometry(ctx.node(), spatial_sizes(x), Shape(ctx.node().integers("kernel")));
  const std::int64_t planes = x[0] * x[1];
  const std::int64_t pixels = geometry.input.elements();
  const std::int64_t positions = geometry.output.elements();
  std::vector<std::int64_t> sources;
  for (std::int64_t o = 0; o < positions; ++o) {
    tap_sources(geometry, o, sources);
    for (std::int64_t plane = 0; plane < planes; ++plane) body(plane * pixels, plane * positions + o, sources);
  }
}

template <typename T>
std::vector<T> read_all(const TensorView& view) {
  std::vector<T> values(static_cast<std::size_t>(view.shape.elements()));
  T* to = values.data();
  const Walk<1> walk(view.shape, {view.strides});
  walk.for_each_piece([&](const std::array<std::int64_t, 1>& offsets, std::size_t count) {
    load_run(view.dtype, address(view, offsets[0]), walk.run_strides[0], count, to);
    to += count;
  });
  return values;
}

/// What a window that lies wholly in the padding gives.
template <typename T>
T lowest(DType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    return -std::numeric_limits<double>::infinity();
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return 0;
  } else {
    return lowest_of(dtype);
  }
}

/// Index of a pixel of `spatial` (row-major) when the first spatial axis runs fastest.
std::int64_t column_major(std::int64_t pixel, const Shape& spatial) {
  Shape index(spatial.size(), 0);
  for (std::size_t i = spatial.size(); i-- > 0; pixel /= spatial[i]) index[i] = pixel % spatial[i];
  std::int64_t result = 0;
  for (std::size_t i = spatial.size(); i-- > 0;) result = result * spatial[i] + index[i];
  return result;
}

template <typename T>
void compute_max_pool_as(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const std::vector<T> input = read_all<T>(x);
  std::vector<T> result(static_cast<std::size_t>(ctx.output(ctx.wants(0) ? 0 : 1).shape.elements()));
  std::vector<std::int64_t> indices(result.size());
  const bool columns = ctx.node().integer("storage_order", 0) != 0;
  const Shape spatial = spatial_sizes(x.shape);
  for_each_window(ctx, [&](std::int64_t plane, std::int64_t element, const std::vector<std::int64_t>& sources) {
    std::int64_t best = -1;
    for (const std::int64_t source : sources) {
      if (source < 0) continue;
      const T value = input[plane + source];
      // The first of equals wins, and NaN beats every number.
      if (best < 0 || value > input[plane + best] || (value != value && input[plane + best] == input[plane + best]))
        best = source;
    }
    result[element] = best < 0 ? lowest<T>(x.dtype) : input[plane + best];
    indices[element] = best < 0 ? -1 : plane + (columns ? column_major(best, spatial) : best);
  });
  if (ctx.wants(0)) write_dense(ctx.output(0), result);
  if (ctx.wants(1)) write_dense(ctx.output(1), indices);
}

void compute_max_pool(const ComputeContext& ctx) {
  with_number_type(ctx.input(0).dtype, [&](auto kind) { compute_max_pool_as<decltype(kind)>(ctx); });
}

void compute_average_pool(const ComputeContext& ctx) {
  const std::vector<double> input = read_numbers(ctx.input(0));
  std::vector<double> result(static_cast<std::size_t>(ctx.output(0).shape.elements()));
  const bool count_padding = ctx.node().integer("count_include_pad", 0) != 0;
  for_each_window(ctx, [&](std::int64_t plane, std::int64_t element, const std::vector<std::int64_t>& sources) {
    double sum = 0;
    std::int64_t count = 0;
    for (const std::int64_t source : sources) {
      if (source >= 0) sum += input[plane + source];
      if (source >= 0 || (count_padding && source == kInPadding)) ++count;
    }
    result[element] = sum / static_cast<double>(count);
  });
  write_dense(ctx.output(0), result);
}

void compute_lp_pool(const ComputeContext& ctx) {
  const std::vector<double> input = read_numbers(ctx.input(0));
  std::vector<double> result(static_cast<std::size_t>(ctx.output(0).shape.elements()));
  const auto p = static_cast<double>(ctx.node().integer("p", 2));
  for_each_window(ctx, [&](std::int64_t plane, std::int64_t element, const std::vector<std::int64_t>& sources) {
    double sum = 0;
    for (const std::int64_t source : sources) {
      if (source >= 0) sum += std::pow(std::abs(input[plane + source]), p);
    }
    result[element] = std::pow(sum, 1 / p);
  });
  write_dense(ctx.output(0), result);
}

constexpr std::array<OpDef, 3> kOps = {{
    {"max_pool", {1, 1}, {1, 2}, kMaxPoolAttributes, infer_max_pool, compute_max_pool},
    {"average_pool", {1, 1}, {1, 1}, kAveragePoolAttributes, infer_mean_pool, compute_average_pool},
    {"lp_pool", {1, 1}, {1, 1}, kLpPoolAttributes, infer_mean_pool, compute_lp_pool},
}};

}  // namespace

std::span<const OpDef> pool_ops() { return kOps; }

}  // namespace jitney
