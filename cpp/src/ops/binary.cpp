// Elementwise ops of two operands that broadcast. Floats are computed in double and rounded once; integers wrap, and the
// remainder of a division by zero is 0, as the quotient is.
#include <cmath>

#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

using namespace arithmetic;

/// y = fn(a, b), both loaded as In; the type that fn returns is stored.
template <typename In, typename Fn>
void map(const ComputeContext& ctx, const Fn& fn) {
  const TensorView& a = ctx.input(0);
  const TensorView& b = ctx.input(1);
  const TensorView& y = ctx.output(0);
  using Steps = Walk<3>;
  const Steps walk = memory_order_walk<3>(y.shape, {broadcast_strides(a, y.shape), broadcast_strides(b, y.shape), y.strides});
  std::array<In, Steps::kPiece> left, right;
  std::array<decltype(fn(In{}, In{})), Steps::kPiece> to;
  walk.for_each_piece([&](const std::array<std::int64_t, 3>& at, std::size_t count) {
    load_run(a.dtype, address(a, at[0]), walk.run_strides[0], count, left.data());
    load_run(b.dtype, address(b, at[1]), walk.run_strides[1], count, right.data());
    for (std::size_t i = 0; i < count; ++i) to[i] = fn(left[i], right[i]);
    store_run(y.dtype, address(y, at[2]), walk.run_strides[2], count, to.data());
  });
}

template <typename Op>
void compute_arithmetic(const ComputeContext& ctx) {
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    map<T>(ctx, [](T a, T b) { return Op::of(a, b); });
  });
}

struct Mod {
  bool sign_of_dividend;

  double of(double a, double b) const {
    const double remainder = std::fmod(a, b);
    if (!sign_of_dividend && remainder == 0) return std::copysign(remainder, b);
    return !sign_of_dividend && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  }
  std::uint64_t of(std::uint64_t a, std::uint64_t b) const { return b == 0 ? 0 : a % b; }
  std::int64_t of(std::int64_t a, std::int64_t b) const {
    if (b == 0 || b == -1) return 0;
    const std::int64_t remainder = a % b;
    return !sign_of_dividend && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  }
  Dim rule(const Dim& a, const Dim& b) const {
    if (a.is_constant() && b.is_constant()) return of(a.value(), b.value());
    return lower_bound(a).value_or(-1) >= 0 && lower_bound(b).value_or(-1) > 0 ? a - floor_div(a, b) * b : Dim::unknown();
  }
};

void compute_mod(const ComputeContext& ctx) {
  const Mod mod{ctx.node().integer("fmod", 0) != 0};
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    map<T>(ctx, [&mod](T a, T b) { return mod.of(a, b); });
  });
}

/// Integer powers wrap; negative exponents give what is left of the fraction: 0, but for 1 and −1.
std::uint64_t integer_power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= base;
    base *= base;
  }
  return power;
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
  return static_cast<std::int64_t>(integer_power(static_cast<std::uint64_t>(base), static_cast<std::uint64_t>(exponent)));
}

void compute_pow(const ComputeContext& ctx) {
  const NumberClass base = number_class(ctx.input(0).dtype), exponent = number_class(ctx.input(1).dtype);
  if (base == NumberClass::floating || exponent == NumberClass::floating) {
    map<double>(ctx, [](double a, double b) { return std::pow(a, b); });
  } else if (base == NumberClass::unsigned64 && exponent == NumberClass::unsigned64) {
    map<std::uint64_t>(ctx, [](std::uint64_t a, std::uint64_t b) { return integer_power(a, b); });
  } else if (exponent == NumberClass::unsigned64) {
    // Only the exponent's parity and size matter, and a wrapped base has the right low bits.
    map<std::uint64_t>(ctx, [](std::uint64_t a, std::uint64_t b) { return integer_power(a, b); });
  } else {
    map<std::int64_t>(ctx, [](std::int64_t a, std::int64_t b) { return integer_power(a, b); });
  }
}

struct And {
  static std::uint64_t of(std::uint64_t a, std::uint64_t b) { return a & b; }
};
struct Or {
  static std::uint64_t of(std::uint64_t a, std::uint64_t b) { return a | b; }
};
struct Xor {
  static std::uint64_t of(std::uint64_t a, std::uint64_t b) { return a ^ b; }
};

template <typename Op>
void compute_bits(const ComputeContext& ctx) {
  map<std::uint64_t>(ctx, [](std::uint64_t a, std::uint64_t b) { return Op::of(a, b); });
}

/// A shift by a negative amount, or by the type's width or more, leaves only copies of the sign bit (right) or zeros.
void compute_bit_shift(const ComputeContext& ctx) {
  const bool left = ctx.node().text("direction") == "left";
  const auto width = static_cast<std::uint64_t>(size_of(ctx.input(0).dtype)) * 8;
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) {
      map<T>(ctx, [left, width](T a, T b) -> T {
        const auto amount = static_cast<std::uint64_t>(b);
        if (amount >= width) return !left && a < T{0} ? static_cast<T>(-1) : T{0};
        return left ? static_cast<T>(static_cast<std::uint64_t>(a) << amount) : static_cast<T>(a >> amount);
      });
    }
  });
}

enum class Comparison { equal, less, less_equal, greater, greater_equal };

template <Comparison comparison, typename T>
bool compare(T a, T b) {
  if constexpr (comparison == Comparison::equal) return a == b;
  if constexpr (comparison == Comparison::less) return a < b;
  if constexpr (comparison == Comparison::less_equal) return a <= b;
  if constexpr (comparison == Comparison::greater) return a > b;
  if constexpr (comparison == Comparison::greater_equal) return a >= b;
}

template <Comparison comparison>
void compute_comparison(const ComputeContext& ctx) {
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    map<T>(ctx, [](T a, T b) { return std::int64_t{compare<comparison>(a, b)}; });
  });
}

void compute_prelu(const ComputeContext& ctx) {
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    map<T>(ctx, [](T x, T slope) { return x < T{0} ? Mul::of(slope, x) : x; });
  });
}

SymShape set_broadcast(InferContext& ctx, DType result) {
  SymShape shape = broadcast(ctx, ctx.shape(0), ctx.shape(1));
  ctx.set(0, result, shape);
  return shape;
}

template <typename Op>
void infer_arithmetic(InferContext& ctx) {
  expect_number(ctx, 0);
  expect_same_dtype(ctx, 0, 1);
  const SymShape shape = set_broadcast(ctx, ctx.dtype(0));
  map_elements(ctx, ctx.dtype(0), shape, 2, [](std::span<const Dim> x) { return Op::rule(x[0], x[1]); });
}

void infer_mod(InferContext& ctx) {
  expect_number(ctx, 0);
  expect_same_dtype(ctx, 0, 1);
  const SymShape shape = set_broadcast(ctx, ctx.dtype(0));
  const Mod mod{ctx.node().integer("fmod", 0) != 0};
  map_elements(ctx, ctx.dtype(0), shape, 2, [&mod](std::span<const Dim> x) { return mod.rule(x[0], x[1]); });
}

void infer_pow(InferContext& ctx) {
  expect_number(ctx, 0);
  expect_number(ctx, 1);
  set_broadcast(ctx, ctx.dtype(0));
}

void infer_bits(InferContext& ctx) {
  expect_integer(ctx, 0);
  expect_same_dtype(ctx, 0, 1);
  set_broadcast(ctx, ctx.dtype(0));
}

template <typename Op>
void infer_logic(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::boolean});
  ctx.expect_dtype(1, {DType::boolean});
  const SymShape shape = set_broadcast(ctx, DType::boolean);
  map_elements(ctx, DType::boolean, shape, 2, [](std::span<const Dim> x) {
    if (!x[0].is_constant() || !x[1].is_constant()) return Dim::unknown();
    return Dim(static_cast<std::int64_t>(Op::of(x[0].value() != 0, x[1].value() != 0)));
  });
}

/// What a comparison of sizes gives, decided by the sign of their difference.
template <Comparison comparison>
Dim comparison_rule(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return compare<comparison>(a.value(), b.value()) ? 1 : 0;
  const Dim difference = a - b;
  if (difference.is_constant()) return compare<comparison>(difference.value(), std::int64_t{0}) ? 1 : 0;
  const bool above = lower_bound(difference).value_or(0) > 0;
  const bool below = lower_bound(b - a).value_or(0) > 0;
  if (!above && !below) return Dim::unknown();
  return compare<comparison>(std::int64_t{above ? 1 : -1}, std::int64_t{0}) ? 1 : 0;
}

template <Comparison comparison>
void infer_comparison(InferContext& ctx) {
  if (comparison != Comparison::equal || ctx.dtype(0) != DType::boolean) expect_number(ctx, 0);
  expect_same_dtype(ctx, 0, 1);
  const SymShape shape = set_broadcast(ctx, DType::boolean);
  map_elements(ctx, DType::boolean, shape, 2, [](std::span<const Dim> x) { return comparison_rule<comparison>(x[0], x[1]); });
}

void infer_prelu(InferContext& ctx) {
  expect_number(ctx, 0);
  expect_same_dtype(ctx, 0, 1);
  const SymShape& x = ctx.shape(0);
  const SymShape& slope = ctx.shape(1);
  const SymShape joined = broadcast(ctx, x, slope);
  bool grows = x.ranked && slope.ranked && slope.rank() > x.rank();
  for (std::size_t i = 0; !grows && joined.ranked && i < x.rank(); ++i) {
    grows = x.dims[i].is_constant() && joined.dims[i].is_constant() && x.dims[i].value() != joined.dims[i].value();
  }
  if (grows) ctx.fail("slope of shape " + describe(slope) + " does not broadcast to the operand's shape " + describe(x));
  ctx.set(0, ctx.dtype(0), x);
}

constexpr AttributeSpec kMod[] = {{"fmod", AttributeType::integer}};
constexpr AttributeSpec kBitShift[] = {{"direction", AttributeType::text, true, "left|right"}};

constexpr OpDef binary(std::string_view name, void (*infer)(InferContext&), void (*compute)(const ComputeContext&),
                       std::span<const AttributeSpec> attributes = {}) {
  return {name, {2, 2}, {1, 1}, attributes, infer, compute};
}

template <typename Op>
constexpr OpDef arithmetic(std::string_view name) {
  return binary(name, infer_arithmetic<Op>, compute_arithmetic<Op>);
}

template <Comparison which>
constexpr OpDef comparison_op(std::string_view name) {
  return binary(name, infer_comparison<which>, compute_comparison<which>);
}

constexpr OpDef kOps[] = {
    arithmetic<Add>("add"),
    arithmetic<Sub>("sub"),
    arithmetic<Mul>("mul"),
    arithmetic<Div>("div"),
    arithmetic<Max>("max"),
    arithmetic<Min>("min"),
    binary("mod", infer_mod, compute_mod, kMod),
    binary("pow", infer_pow, compute_pow),
    binary("bitwise_and", infer_bits, compute_bits<And>),
    binary("bitwise_or", infer_bits, compute_bits<Or>),
    binary("bitwise_xor", infer_bits, compute_bits<Xor>),
    binary("and", infer_logic<And>, compute_bits<And>),
    binary("or", infer_logic<Or>, compute_bits<Or>),
    binary("xor", infer_logic<Xor>, compute_bits<Xor>),
    binary("bit_shift", infer_bits, compute_bit_shift, kBitShift),
    comparison_op<Comparison::equal>("equal"),
    comparison_op<Comparison::less>("less"),
    comparison_op<Comparison::less_equal>("less_equal"),
    comparison_op<Comparison::greater>("greater"),
    comparison_op<Comparison::greater_equal>("greater_equal"),
    binary("prelu", infer_prelu, compute_prelu),
};

}  // namespace

std::span<const OpDef> binary_ops() { return kOps; }

}  // namespace jitney
