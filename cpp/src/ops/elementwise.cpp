// Elementwise ops with operands or results of differing kinds: cast, clip, where.
#include <cmath>
#include <cstring>

#include "base/float_types.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

/// The type in which elements pass from one dtype to the other. Floats reach integers of fewer than 8 bits by way of int64, of
/// which the low bits stay, as ONNX's own tests have it; wider integers saturate.
DType passing_type(DType from, DType to) {
  const bool narrow = to == DType::int4 || to == DType::uint4 || to == DType::int2 || to == DType::uint2;
  return narrow && is_floating(from) ? DType::int64 : from;
}

Dim cast_element(const Dim& element, DType to) {
  if (!element.is_constant()) {
    if (to == DType::boolean) return lower_bound(element).value_or(0) > 0 ? Dim(1) : Dim::unknown();
    return element;
  }
  std::int64_t value = element.value();
  std::uint64_t stored = 0;  // any dtype fits
  store_run(to, &stored, 1, 1, &value);
  load_run(to, &stored, 1, 1, &value);
  return within(to, value);
}

void infer_cast(InferContext& ctx) {
  const std::int64_t to = ctx.node().integer("to");
  const bool possible =
      to > 0 && to <= static_cast<std::int64_t>(DType::int2) && number_class(static_cast<DType>(to)) != NumberClass::none;
  if (!possible) ctx.fail("cannot cast to the dtype of number " + std::to_string(to));
  if (number_class(ctx.dtype(0)) == NumberClass::none) {
    ctx.fail("cannot cast from dtype " + std::string(to_string(ctx.dtype(0))));
  }
  const DType dtype = static_cast<DType>(to);
  ctx.set(0, dtype, ctx.shape(0));
  if (is_floating(dtype)) return;
  std::vector<Dim> elements;
  if (const auto known = ctx.elements(0)) {
    for (const Dim& element : *known) elements.push_back(cast_element(element, dtype));
  } else if (const auto numbers = ctx.numbers(0)) {
    for (const double number : *numbers) {
      std::int64_t whole = 0;
      std::uint64_t stored = 0;
      const DType via = passing_type(ctx.dtype(0), dtype) == DType::int64 ? DType::int64 : dtype;
      store_run(via, &stored, 1, 1, &number);
      load_run(via, &stored, 1, 1, &whole);
      elements.push_back(cast_element(Dim(whole), dtype));
    }
  } else {
    return;
  }
  ctx.set_elements(0, std::move(elements));
}

void compute_cast(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  const bool saturate = ctx.node().integer("saturate", 1) != 0;
  using Steps = Walk<2>;
  const Steps walk = memory_order_walk<2>(y.shape, {x.strides, y.strides});
  const std::string_view rounding = ctx.node().text("rounding", "up");
  if (y.dtype == DType::float8e8m0 && rounding != "up") {
    const ScaleRounding mode = rounding == "down" ? ScaleRounding::down : ScaleRounding::nearest;
    walk.for_each([&](const std::array<std::int64_t, 2>& at) {
      y.as<Float8E8M0>()[at[1]] = scale_from_double(load_double(x, at[0]), saturate, mode);
    });
    return;
  }
  with_number_type(passing_type(x.dtype, y.dtype), [&](auto type) {
    std::array<decltype(type), Steps::kPiece> buffer;
    walk.for_each_piece([&](const std::array<std::int64_t, 2>& at, std::size_t count) {
      load_run(x.dtype, address(x, at[0]), walk.run_strides[0], count, buffer.data());
      store_run(y.dtype, address(y, at[1]), walk.run_strides[1], count, buffer.data(), saturate);
    });
  });
}

void infer_clip(InferContext& ctx) {
  expect_number(ctx, 0);
  for (std::size_t i = 1; i < ctx.input_count(); ++i) {
    if (!ctx.has(i)) continue;
    expect_same_dtype(ctx, 0, i);
    expect_one_element(ctx, i);
  }
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
}

void compute_clip(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  using Steps = Walk<2>;
  const Steps walk = memory_order_walk<2>(y.shape, {x.strides, y.strides});
  with_number_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    const bool has_low = ctx.has(1), has_high = ctx.has(2);
    const T low = has_low ? load<T>(ctx.input(1), 0) : T{};
    const T high = has_high ? load<T>(ctx.input(2), 0) : T{};
    std::array<T, Steps::kPiece> buffer;
    walk.for_each_piece([&](const std::array<std::int64_t, 2>& at, std::size_t count) {
      load_run(x.dtype, address(x, at[0]), walk.run_strides[0], count, buffer.data());
      // The upper bound comes last and so wins where they cross; comparisons let NaN through.
      for (std::size_t i = 0; has_low && i < count; ++i) buffer[i] = buffer[i] < low ? low : buffer[i];
      for (std::size_t i = 0; has_high && i < count; ++i) buffer[i] = buffer[i] > high ? high : buffer[i];
      store_run(y.dtype, address(y, at[1]), walk.run_strides[1], count, buffer.data());
    });
  });
}

void infer_where(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::boolean});
  expect_same_dtype(ctx, 1, 2);
  const SymShape shape = broadcast(ctx, broadcast(ctx, ctx.shape(0), ctx.shape(1)), ctx.shape(2));
  ctx.set(0, ctx.dtype(1), shape);
  map_elements(ctx, ctx.dtype(1), shape, 3, [](std::span<const Dim> x) {
    if (x[0].is_constant()) return x[0].value() != 0 ? x[1] : x[2];
    return x[1].same(x[2]) ? x[1] : Dim::unknown();
  });
}

void compute_where(const ComputeContext& ctx) {
  const TensorView& condition = ctx.input(0);
  const TensorView& a = ctx.input(1);
  const TensorView& b = ctx.input(2);
  const TensorView& y = ctx.output(0);
  const std::size_t bytes = size_of(y.dtype);
  memory_order_walk<4>(
      y.shape, {broadcast_strides(condition, y.shape), broadcast_strides(a, y.shape), broadcast_strides(b, y.shape), y.strides})
      .for_each([&](const std::array<std::int64_t, 4>& at) {
        const bool chosen = condition.as<const std::uint8_t>()[at[0]] != 0;
        std::memcpy(address(y, at[3]), chosen ? address(a, at[1]) : address(b, at[2]), bytes);
      });
}

constexpr AttributeSpec kCast[] = {{"to", AttributeType::integer, true},
                                   {"saturate", AttributeType::integer},
                                   {"rounding", AttributeType::text, false, "up|down|nearest"}};

constexpr OpDef kOps[] = {
    {"cast", {1, 1}, {1, 1}, kCast, infer_cast, compute_cast},
    {"clip", {1, 3}, {1, 1}, {}, infer_clip, compute_clip},
    {"where", {3, 3}, {1, 1}, {}, infer_where, compute_where},
};

}  // namespace

std::span<const OpDef> elementwise_ops() { return kOps; }

}  // namespace jitney
