// dft: discrete Fourier transforms along one axis; complex numbers lie along the last one.
#include <algorithm>
#include <array>
#include <complex>
#include <string>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/fourier.h"
#include "ops/rules.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 2> kAttributes = {{
    {"inverse", AttributeType::integer},
    {"onesided", AttributeType::integer},
}};

struct Kind {
  explicit Kind(const Node& node) : inverse(node.integer("inverse", 0) != 0), onesided(node.integer("onesided", 0) != 0) {}
  bool to_real() const noexcept { return inverse && onesided; }
  bool inverse, onesided;
};

/// Length of the transform of a signal of `size` samples where none is given.
template <typename T>
T usual_length(const Kind& kind, const T& size) {
  return kind.to_real() ? T(2) * (size - T(1)) : size;
}

Dim output_size(const InferContext& ctx, const Kind& kind, const Dim& length) {
  const std::int64_t least = kind.onesided && !kind.inverse ? 1 : 0;
  if (length.is_constant() && length.value() < least) {
    ctx.fail("the transform has length " + std::to_string(length.value()), "it must be at least 1");
  }
  return kind.onesided && !kind.inverse ? floor_div(length, Dim(2)) + Dim(1) : length;
}

void infer_dft(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  const Kind kind(ctx.node());
  for (const std::size_t operand : {1, 2}) {
    if (!ctx.has(operand)) continue;
    expect_index(ctx, operand);
    expect_one_element(ctx, operand);
  }
  const SymShape& x = ctx.shape(0);
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  if (x.rank() < 2) ctx.fail("x has shape " + describe(x) + "; a signal axis and one for real and imaginary parts are wanted");
  const Dim& parts = x.dims.back();
  const bool may_be_real = !parts.is_constant() || parts.value() == 1;
  if (!may_be_real && (parts.value() != 2 || (kind.onesided && !kind.inverse))) {
    ctx.fail("the last axis of x has size " + std::to_string(parts.value()),
             kind.onesided && !kind.inverse ? "one half of a spectrum says all of real signals only, whose last axis has size 1"
                                            : "real signals have 1, complex ones 2");
  }
  SymShape y = x;
  y.dims.back() = kind.to_real() ? 1 : 2;
  const auto axes = ctx.has(2) ? ctx.integers(2) : std::vector<std::int64_t>{-2};
  if (!axes) {
    std::fill(y.dims.begin(), y.dims.end() - 1, Dim::unknown());
    return ctx.set(0, ctx.dtype(0), std::move(y));
  }
  const std::size_t axis = ctx.axis(axes->front(), x.rank());
  if (axis + 1 == x.rank()) ctx.fail("axis " + std::to_string(axes->front()) + " is that of real and imaginary parts");
  Dim length = usual_length(kind, x.dims[axis]);
  if (ctx.has(1)) {
    const auto given = ctx.elements(1);
    length = given ? given->front() : Dim::unknown();
  }
  y.dims[axis] = output_size(ctx, kind, length);
  ctx.set(0, ctx.dtype(0), std::move(y));
}

using Complex = std::complex<double>;

/// The parts of a tensor along one line.
class Line {
 public:
  Line(const TensorView& view, std::size_t axis) : view_(view), axis_(axis) {}

  /// The first elements of the line at `offset`; those that it lacks are 0.
  void load(std::int64_t offset, std::vector<Complex>& to) {
    const std::size_t count = std::min(to.size(), static_cast<std::size_t>(view_.shape[axis_]));
    part_.resize(count);
    std::fill(to.begin(), to.end(), Complex());
    for (std::int64_t part = 0; part < view_.shape.back(); ++part) {
      load_run(view_.dtype, address(view_, offset + part * view_.strides.back()), view_.strides[axis_], count, part_.data());
      for (std::size_t i = 0; i < count; ++i) to[i] = part == 0 ? Complex(part_[i]) : Complex(to[i].real(), part_[i]);
    }
  }

  void store(std::int64_t offset, const std::vector<Complex>& from, double scale, bool conjugate) {
    const auto count = static_cast<std::size_t>(view_.shape[axis_]);
    part_.resize(count);
    for (std::int64_t part = 0; part < view_.shape.back(); ++part) {
      const double factor = part == 1 && conjugate ? -scale : scale;
      for (std::size_t i = 0; i < count; ++i) part_[i] = factor * (part == 0 ? from[i].real() : from[i].imag());
      store_run(view_.dtype, address(view_, offset + part * view_.strides.back()), view_.strides[axis_], count, part_.data());
    }
  }

 private:
  const TensorView& view_;
  std::size_t axis_;
  std::vector<double> part_;
};

/// The other half of a spectrum of a real signal, whose first half is there.
void mirror(std::vector<Complex>& spectrum) {
  for (std::size_t k = spectrum.size() / 2 + 1; k < spectrum.size(); ++k) spectrum[k] = std::conj(spectrum[spectrum.size() - k]);
}

void compute_dft(const ComputeContext& ctx) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  const Kind kind(ctx.node());
  const std::size_t rank = x.shape.size();
  const std::int64_t given = ctx.has(2) ? load_int64(ctx.input(2), 0) : -2;
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
  const std::int64_t length = ctx.has(1) ? load_int64(ctx.input(1), 0) : usual_length(kind, x.shape[axis]);
  Shape lines = y.shape;
  lines[axis] = lines[rank - 1] = 1;
  if (length == 0 || lines.elements() == 0) return;
  Fourier fourier(static_cast<std::size_t>(length));
  std::vector<Complex> signal(static_cast<std::size_t>(length));
  Line from(x, axis), to(y, axis);
  const double scale = kind.inverse ? 1.0 / static_cast<double>(length) : 1.0;
  Walk<2>(lines, {x.strides, y.strides}).for_each([&](const std::array<std::int64_t, 2>& at) {
    from.load(at[0], signal);
    if (kind.to_real()) mirror(signal);
    // The inverse transform is the conjugate of the transform of conjugates.
    if (kind.inverse) {
      for (Complex& value : signal) value = std::conj(value);
    }
    to.store(at[1], fourier.forward(signal), scale, kind.inverse);
  });
}

constexpr std::array<OpDef, 1> kOps = {{{"dft", {1, 3}, {1, 1}, kAttributes, infer_dft, compute_dft, nullptr, 0b110}}};

}  // namespace

std::span<const OpDef> dft_ops() { return kOps; }

}  // namespace jitney
