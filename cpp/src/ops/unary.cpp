// Elementwise ops of one operand. Floats are computed in double and rounded once; integers wrap.
#include <cmath>
#include <numbers>

#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

/// y = fn(x), computed on x as In and stored from Out.
template <typename In, typename Out, typename Fn>
void map(const ComputeContext& ctx, const Fn& fn) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  using Steps = Walk<2>;
  const Steps walk = memory_order_walk<2>(y.shape, {x.strides, y.strides});
  std::array<In, Steps::kPiece> from;
  std::array<Out, Steps::kPiece> to;
  walk.for_each_piece([&](const std::array<std::int64_t, 2>& at, std::size_t count) {
    load_run(x.dtype, address(x, at[0]), walk.run_strides[0], count, from.data());
    for (std::size_t i = 0; i < count; ++i) to[i] = fn(from[i]);
    store_run(y.dtype, address(y, at[1]), walk.run_strides[1], count, to.data());
  });
}

// Functions of x and up to two attributes.
using Function = double (*)(double x, double a, double b);

double do_exp(double x, double, double) { return std::exp(x); }
double do_log(double x, double, double) { return std::log(x); }
double do_sqrt(double x, double, double) { return std::sqrt(x); }
double do_reciprocal(double x, double, double) { return 1.0 / x; }
double do_floor(double x, double, double) { return std::floor(x); }
double do_ceil(double x, double, double) { return std::ceil(x); }
double do_round(double x, double, double) { return std::nearbyint(x); }  // half to even
double do_erf(double x, double, double) { return std::erf(x); }
double do_sigmoid(double x, double, double) {
  const double e = std::exp(-std::abs(x));  // never overflows
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
double do_tanh(double x, double, double) { return std::tanh(x); }
double do_sin(double x, double, double) { return std::sin(x); }
double do_cos(double x, double, double) { return std::cos(x); }
double do_tan(double x, double, double) { return std::tan(x); }
double do_asin(double x, double, double) { return std::asin(x); }
double do_acos(double x, double, double) { return std::acos(x); }
double do_atan(double x, double, double) { return std::atan(x); }
double do_sinh(double x, double, double) { return std::sinh(x); }
double do_cosh(double x, double, double) { return std::cosh(x); }
double do_asinh(double x, double, double) { return std::asinh(x); }
double do_acosh(double x, double, double) { return std::acosh(x); }
double do_atanh(double x, double, double) { return std::atanh(x); }
double do_softplus(double x, double, double) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double do_softsign(double x, double, double) { return x / (1.0 + std::abs(x)); }
double do_hard_sigmoid(double x, double alpha, double beta) {
  const double y = alpha * x + beta;
  return y < 0.0 ? 0.0 : (y > 1.0 ? 1.0 : y);  // NaN stays
}
double do_hard_swish(double x, double, double) { return x * do_hard_sigmoid(x, 1.0 / 6.0, 0.5); }
double do_silu(double x, double, double) { return x * do_sigmoid(x, 0, 0); }
double do_mish(double x, double, double) { return x * std::tanh(do_softplus(x, 0, 0)); }
double do_leaky_relu(double x, double alpha, double) { return x < 0 ? alpha * x : x; }
double do_elu(double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; }
double do_celu(double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x / alpha) : x; }
double do_thresholded_relu(double x, double alpha, double) { return x > alpha ? x : 0.0; }
double do_selu(double x, double alpha, double gamma) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); }
double do_is_nan(double x, double, double) { return std::isnan(x) ? 1.0 : 0.0; }
double do_is_inf(double x, double negative, double positive) {
  return std::isinf(x) && (x < 0 ? negative : positive) != 0 ? 1.0 : 0.0;
}
double do_gelu(double x, double by_tanh, double) {
  if (by_tanh == 0) return 0.5 * x * (1.0 + std::erf(x * (std::numbers::sqrt2 / 2)));
  const double factor = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * x * (1.0 + std::tanh(factor * (x + 0.044715 * x * x * x)));
}

template <Function function>
void compute_function(const ComputeContext& ctx) {
  const Node& node = ctx.node();
  const double a = node.number("alpha", 1.0);
  const double b = node.number("beta", node.number("gamma", 0.0));
  map<double, double>(ctx, [a, b](double x) { return function(x, a, b); });
}

void compute_gelu(const ComputeContext& ctx) {
  const double by_tanh = ctx.node().text("approximate", "none") == "tanh" ? 1.0 : 0.0;
  map<double, double>(ctx, [by_tanh](double x) { return do_gelu(x, by_tanh, 0); });
}

void compute_is_inf(const ComputeContext& ctx) {
  const auto negative = static_cast<double>(ctx.node().integer("negative", 1));
  const auto positive = static_cast<double>(ctx.node().integer("positive", 1));
  map<double, double>(ctx, [=](double x) { return do_is_inf(x, negative, positive); });
}

// Functions of floats and integers alike.
struct Neg {
  static double of(double x) { return -x; }
  static std::uint64_t of(std::uint64_t x) { return std::uint64_t{0} - x; }
  static std::int64_t of(std::int64_t x) { return static_cast<std::int64_t>(of(static_cast<std::uint64_t>(x))); }
};
struct Abs {
  static double of(double x) { return std::abs(x); }
  static std::uint64_t of(std::uint64_t x) { return x; }
  static std::int64_t of(std::int64_t x) { return x < 0 ? Neg::of(x) : x; }
};
struct Sign {
  static double of(double x) { return x > 0 ? 1.0 : (x < 0 ? -1.0 : x); }  // NaN stays
  static std::uint64_t of(std::uint64_t x) { return x != 0 ? 1 : 0; }
  static std::int64_t of(std::int64_t x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }
};
struct Relu {
  static double of(double x) { return x < 0 ? 0.0 : x; }  // NaN stays
  static std::uint64_t of(std::uint64_t x) { return x; }
  static std::int64_t of(std::int64_t x) { return x < 0 ? 0 : x; }
};

template <typename Op>
void compute_number(const ComputeContext& ctx) {
  with_number_type(ctx.input(0).dtype, [&](auto type) {
    using T = decltype(type);
    map<T, T>(ctx, [](T x) { return Op::of(x); });
  });
}

void compute_not(const ComputeContext& ctx) {
  map<std::int64_t, std::int64_t>(ctx, [](std::int64_t x) { return std::int64_t{x == 0}; });
}

void compute_bitwise_not(const ComputeContext& ctx) {
  map<std::uint64_t, std::uint64_t>(ctx, [](std::uint64_t x) { return ~x; });
}

void infer_floating(InferContext& ctx) {
  expect_floating(ctx, 0);
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
}

void infer_test(InferContext& ctx) {
  expect_floating(ctx, 0);
  ctx.set(0, DType::boolean, ctx.shape(0));
}

template <typename Op>
void infer_number(InferContext& ctx) {
  expect_number(ctx, 0);
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
  map_elements(ctx, ctx.dtype(0), ctx.shape(0), 1, [&](std::span<const Dim> x) {
    if (x[0].is_constant()) return Dim(Op::of(x[0].value()));
    // Of a symbolic size only the sign is known.
    const bool positive = lower_bound(x[0]).value_or(0) > 0;
    if constexpr (std::is_same_v<Op, Neg>) return is_signed_integer(ctx.dtype(0)) ? Dim(0) - x[0] : Dim::unknown();
    if constexpr (std::is_same_v<Op, Sign>) return positive ? Dim(1) : Dim::unknown();
    return positive ? x[0] : Dim::unknown();
  });
}

void infer_not(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::boolean});
  ctx.set(0, DType::boolean, ctx.shape(0));
  map_elements(ctx, DType::boolean, ctx.shape(0), 1,
               [](std::span<const Dim> x) { return x[0].is_constant() ? Dim(x[0].value() == 0 ? 1 : 0) : Dim::unknown(); });
}

void infer_bitwise_not(InferContext& ctx) {
  expect_integer(ctx, 0);
  ctx.set(0, ctx.dtype(0), ctx.shape(0));
}

constexpr AttributeSpec kIsInf[] = {{"negative", AttributeType::integer}, {"positive", AttributeType::integer}};
constexpr AttributeSpec kAlpha[] = {{"alpha", AttributeType::number, true}};
constexpr AttributeSpec kSelu[] = {{"alpha", AttributeType::number, true}, {"gamma", AttributeType::number, true}};
constexpr AttributeSpec kHardSigmoid[] = {{"alpha", AttributeType::number, true}, {"beta", AttributeType::number, true}};
constexpr AttributeSpec kGelu[] = {{"approximate", AttributeType::text, false, "none|tanh"}};

constexpr OpDef unary(std::string_view name, void (*infer)(InferContext&), void (*compute)(const ComputeContext&),
                      std::span<const AttributeSpec> attributes = {}) {
  return {name, {1, 1}, {1, 1}, attributes, infer, compute};
}

template <Function function>
constexpr OpDef floating(std::string_view name, std::span<const AttributeSpec> attributes = {}) {
  return unary(name, infer_floating, compute_function<function>, attributes);
}

template <typename Op>
constexpr OpDef number(std::string_view name) {
  return unary(name, infer_number<Op>, compute_number<Op>);
}

constexpr OpDef kOps[] = {
    number<Neg>("neg"),
    number<Abs>("abs"),
    number<Sign>("sign"),
    number<Relu>("relu"),
    floating<do_exp>("exp"),
    floating<do_log>("log"),
    floating<do_sqrt>("sqrt"),
    floating<do_reciprocal>("reciprocal"),
    floating<do_floor>("floor"),
    floating<do_ceil>("ceil"),
    floating<do_round>("round"),
    floating<do_erf>("erf"),
    floating<do_sigmoid>("sigmoid"),
    floating<do_tanh>("tanh"),
    floating<do_sin>("sin"),
    floating<do_cos>("cos"),
    floating<do_tan>("tan"),
    floating<do_asin>("asin"),
    floating<do_acos>("acos"),
    floating<do_atan>("atan"),
    floating<do_sinh>("sinh"),
    floating<do_cosh>("cosh"),
    floating<do_asinh>("asinh"),
    floating<do_acosh>("acosh"),
    floating<do_atanh>("atanh"),
    floating<do_softplus>("softplus"),
    floating<do_softsign>("softsign"),
    floating<do_hard_swish>("hard_swish"),
    floating<do_silu>("silu"),
    floating<do_mish>("mish"),
    floating<do_leaky_relu>("leaky_relu", kAlpha),
    floating<do_elu>("elu", kAlpha),
    floating<do_celu>("celu", kAlpha),
    floating<do_thresholded_relu>("thresholded_relu", kAlpha),
    floating<do_selu>("selu", kSelu),
    floating<do_hard_sigmoid>("hard_sigmoid", kHardSigmoid),
    unary("gelu", infer_floating, compute_gelu, kGelu),
    unary("is_nan", infer_test, compute_function<do_is_nan>),
    unary("is_inf", infer_test, compute_is_inf, kIsInf),
    unary("not", infer_not, compute_not),
    unary("bitwise_not", infer_bitwise_not, compute_bitwise_not),
};

}  // namespace

std::span<const OpDef> unary_ops() { return kOps; }

}  // namespace jitney
