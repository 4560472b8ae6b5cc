// Every elementwise kernel against the function in double: values, tails, modes, special values.
#include "cpu/kernels/elementwise/elementwise.h"

#include <functional>
#include <map>
#include <string>

#include "cpu/kernels_random.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

using UnaryReference = std::function<double(double)>;

constexpr float kAlpha = 0.3f;
constexpr float kBeta = 0.7f;

UnaryReference unary_reference(UnaryOp op) {
  const auto softplus = [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); };
  const auto activation = [](Activation a) { return [a](double x) { return activation_reference(a, x, kAlpha, kBeta, 0); }; };
  const std::map<UnaryOp, UnaryReference> references = {
      {UnaryOp::neg, [](double x) { return -x; }},
      {UnaryOp::abs, [](double x) { return std::abs(x); }},
      {UnaryOp::exp, [](double x) { return std::exp(x); }},
      {UnaryOp::log, [](double x) { return std::log(x); }},
      {UnaryOp::sqrt, [](double x) { return std::sqrt(x); }},
      {UnaryOp::reciprocal, [](double x) { return 1 / x; }},
      {UnaryOp::floor, [](double x) { return std::floor(x); }},
      {UnaryOp::ceil, [](double x) { return std::ceil(x); }},
      {UnaryOp::round, [](double x) { return std::nearbyint(x); }},
      {UnaryOp::sign, [](double x) { return x > 0   ? 1.0
                                            : x < 0 ? -1.0
                                                    : x; }},
      {UnaryOp::erf, [](double x) { return std::erf(x); }},
      {UnaryOp::sigmoid, activation(Activation::sigmoid)},
      {UnaryOp::tanh, activation(Activation::tanh)},
      {UnaryOp::sin, [](double x) { return std::sin(x); }},
      {UnaryOp::cos, [](double x) { return std::cos(x); }},
      {UnaryOp::tan, [](double x) { return std::tan(x); }},
      {UnaryOp::asin, [](double x) { return std::asin(x); }},
      {UnaryOp::acos, [](double x) { return std::acos(x); }},
      {UnaryOp::atan, [](double x) { return std::atan(x); }},
      {UnaryOp::sinh, [](double x) { return std::sinh(x); }},
      {UnaryOp::cosh, [](double x) { return std::cosh(x); }},
      {UnaryOp::asinh, [](double x) { return std::asinh(x); }},
      {UnaryOp::acosh, [](double x) { return std::acosh(x); }},
      {UnaryOp::atanh, [](double x) { return std::atanh(x); }},
      {UnaryOp::relu, activation(Activation::relu)},
      {UnaryOp::softplus, softplus},
      {UnaryOp::softsign, [](double x) { return x / (1 + std::abs(x)); }},
      {UnaryOp::hard_swish, activation(Activation::hard_swish)},
      {UnaryOp::silu, activation(Activation::silu)},
      {UnaryOp::mish, [=](double x) { return x * std::tanh(softplus(x)); }},
      {UnaryOp::leaky_relu, activation(Activation::leaky_relu)},
      {UnaryOp::elu, [](double x) { return x < 0 ? kAlpha * std::expm1(x) : x; }},
      {UnaryOp::thresholded_relu, [](double x) { return x > kAlpha ? x : 0; }},
      {UnaryOp::celu, [](double x) { return x < 0 ? kAlpha * std::expm1(x / kAlpha) : x; }},
      {UnaryOp::selu, [](double x) { return kBeta * (x < 0 ? kAlpha * std::expm1(x) : x); }},
      {UnaryOp::hard_sigmoid, activation(Activation::hard_sigmoid)},
      {UnaryOp::gelu, activation(Activation::gelu)},
      {UnaryOp::gelu_tanh, activation(Activation::gelu_tanh)},
      {UnaryOp::clip, activation(Activation::clip)},
  };
  return references.at(op);
}

double binary_reference(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::max:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : a > b ? a : b;
    case BinaryOp::min:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : a < b ? a : b;
    case BinaryOp::pow:
      return std::pow(a, b);
    case BinaryOp::prelu:
      return a < 0 ? a * b : a;
  }
  return 0;
}

#define JITNEY_OP(name) UnaryOp::name,
constexpr UnaryOp kUnaryOps[] = {JITNEY_UNARY_OPS(JITNEY_OP)};
#undef JITNEY_OP
#define JITNEY_OP(name) BinaryOp::name,
constexpr BinaryOp kBinaryOps[] = {JITNEY_BINARY_OPS(JITNEY_OP)};
#undef JITNEY_OP
constexpr RunMode kModes[] = {RunMode::vector_vector, RunMode::vector_scalar, RunMode::scalar_vector};

/// Equal, both NaN, or within a relative error (and one of `absolute`, for functions that cancel).
bool close(double given, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(given);
  const double narrowed = static_cast<float>(expected);
  return given == narrowed || std::abs(given - expected) <= relative * std::abs(expected) + absolute;
}

bool cancels(UnaryOp op) {
  return op == UnaryOp::gelu || op == UnaryOp::gelu_tanh || op == UnaryOp::hard_sigmoid || op == UnaryOp::hard_swish ||
         op == UnaryOp::acos;
}

bool decays(UnaryOp op) { return op == UnaryOp::sigmoid || op == UnaryOp::silu; }

template <typename Body>
void for_each_set(Body body) {
  for (const ElementwiseKernels* set : elementwise_kernels()) {
    if (!runnable(set->isa)) continue;
    CAPTURE(set->name);
    body(*set);
  }
}

TEST_CASE("elementwise: names, and a kernel for every op") {
  CHECK(unary_op_named("hard_swish") == UnaryOp::hard_swish);
  CHECK(binary_op_named("prelu") == BinaryOp::prelu);
  CHECK_FALSE(unary_op_named("add").has_value());
  CHECK(to_string(UnaryOp::clip) == "clip");
  CHECK(to_string(BinaryOp::add) == "add");
  for (const UnaryOp op : kUnaryOps) {
    CHECK((unary_kernel(Isa::scalar, op) != nullptr));
    CHECK((unary_kernel(active_isa(), op) != nullptr));
  }
  for (const BinaryOp op : kBinaryOps) {
    for (const RunMode mode : kModes) CHECK((binary_kernel(active_isa(), op, mode) != nullptr));
  }
  CHECK(elementwise_kernels()[0]->isa == Isa::scalar);
}

TEST_CASE("unary: values over the whole range of each function") {
  std::vector<float> x = random_floats(3000, 1, -1.0f, 1.0f);
  for (const float scale : {6.0f, 20.0f, 100.0f, 1e-3f, 1e-20f, 1e-39f, 1e30f}) {
    for (const float v : random_floats(500, 2)) x.push_back(v * scale);
  }
  for (const float v : {0.0f,   -0.0f,   1.0f,    -1.0f,  0.5f,    1.5f,  2.5f,   -0.5f, 88.7f, 88.8f,
                        -87.4f, -103.0f, -104.1f, 0.625f, 0.9277f, 3e38f, -3e38f, kInf,  -kInf, kNan}) {
    x.push_back(v);
  }
  for_each_set([&](const ElementwiseKernels& set) {
    for (const UnaryOp op : kUnaryOps) {
      const UnaryKernel kernel = set.unary(op);
      if (kernel == nullptr) continue;
      CAPTURE(to_string(op));
      const UnaryReference reference = unary_reference(op);
      std::vector<float> y(x.size());
      kernel(x.size(), x.data(), y.data(), kAlpha, kBeta);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isinf(x[i]) && (op == UnaryOp::silu || op == UnaryOp::gelu || op == UnaryOp::gelu_tanh || op == UnaryOp::mish ||
                                 op == UnaryOp::softsign || op == UnaryOp::hard_swish)) {
          continue;  // 0 · inf or inf / inf somewhere inside: see the next test
        }
        const double size = std::abs(static_cast<double>(x[i]));
        // A denormal factor has few bits, and x times it keeps as few; a decay that would be denormal is 0.
        const double smallest = decays(op) ? 1.2e-38 : 1.5e-45;
        const double absolute =
            cancels(op) ? 3e-7 * std::min(op == UnaryOp::gelu ? 1.5 : 1.0, size) : smallest * (1 + std::min(200.0, size));
        const bool good = close(y[i], reference(x[i]), 1e-6, absolute);
        wrong += !good;
        if (!good && wrong < 4) MESSAGE(to_string(op), "(", x[i], ") = ", y[i], ", not ", reference(x[i]));
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("unary: NaN gives NaN but where it is compared away, infinities give limits or NaN") {
  for_each_set([&](const ElementwiseKernels& set) {
    for (const UnaryOp op : kUnaryOps) {
      const UnaryKernel kernel = set.unary(op);
      if (kernel == nullptr) continue;
      CAPTURE(to_string(op));
      const std::vector<float> x(13, kNan);
      std::vector<float> y(13);
      kernel(13, x.data(), y.data(), kAlpha, kBeta);
      // What is not above the threshold is 0.
      for (const float v : y) CHECK((op == UnaryOp::thresholded_relu ? v == 0.0f : std::isnan(v)));
    }
    for (const UnaryOp op : {UnaryOp::silu, UnaryOp::gelu, UnaryOp::gelu_tanh, UnaryOp::hard_swish}) {
      const float x[2] = {kInf, -kInf};
      float y[2];
      set.unary(op)(2, x, y, 0, 0);
      CHECK(y[0] == kInf);
      CHECK((y[1] == 0.0f || std::isnan(y[1])));
    }
  });
}

TEST_CASE("unary: tails give the same bits as whole vectors, in place as apart, and write nothing else") {
  const std::vector<float> x = random_floats(40, 3, -3.0f, 3.0f);
  for_each_set([&](const ElementwiseKernels& set) {
    for (const UnaryOp op : kUnaryOps) {
      const UnaryKernel kernel = set.unary(op);
      if (kernel == nullptr || op == UnaryOp::log || op == UnaryOp::sqrt || op == UnaryOp::asin || op == UnaryOp::acos ||
          op == UnaryOp::acosh || op == UnaryOp::atanh) {
        continue;
      }
      CAPTURE(to_string(op));
      std::vector<float> whole(40);
      kernel(40, x.data(), whole.data(), kAlpha, kBeta);
      for (std::size_t n = 0; n < 20; ++n) {
        std::vector<float> y(x.begin(), x.begin() + 20);
        kernel(n, y.data(), y.data(), kAlpha, kBeta);
        for (std::size_t i = 0; i < 20; ++i) CHECK(same_bits(y[i], i < n ? whole[i] : x[i]));
      }
    }
  });
}

TEST_CASE("binary: values, modes, tails and special values") {
  for_each_set([](const ElementwiseKernels& set) {
    for (const BinaryOp op : kBinaryOps) {
      for (const RunMode mode : kModes) {
        const BinaryKernel kernel = set.binary(op, mode);
        if (kernel == nullptr) continue;
        CAPTURE(to_string(op));
        for (const std::size_t n : {0, 1, 3, 4, 7, 8, 9, 15, 16, 31, 100}) {
          std::vector<float> a = random_floats(n, 4, -3.0f, 3.0f);
          std::vector<float> b = random_floats(n, 5, -3.0f, 3.0f);
          if (n > 8) {
            a[1] = kNan;
            b[2] = kNan;
            a[3] = kInf;
            b[4] = -kInf;
            b[5] = 0.0f;
            a[6] = -0.0f;
          }
          std::vector<float> y(n + 1, 7.0f);
          kernel(n, a.data(), b.data(), y.data());
          std::vector<float> over = mode == RunMode::scalar_vector ? b : a;
          kernel(n, mode == RunMode::scalar_vector ? a.data() : over.data(),
                 mode == RunMode::scalar_vector ? over.data() : b.data(), over.data());
          for (std::size_t i = 0; i < n; ++i) {
            const double left = a[mode == RunMode::scalar_vector ? 0 : i];
            const double right = b[mode == RunMode::vector_scalar ? 0 : i];
            CHECK(close(y[i], binary_reference(op, left, right), 1e-6, 1e-45));
            CHECK((same_bits(over[i], y[i]) || std::isnan(y[i])));
          }
          CHECK(y[n] == 7.0f);
        }
      }
    }
  });
}

}  // namespace
}  // namespace jitney::kernels
