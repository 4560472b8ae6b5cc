// quantize and dequantize: affine maps between real and narrow numbers, per tensor, per axis or per block.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/rounding.h"

namespace jitney {
namespace {

constexpr std::size_t kScale = 1, kZeroPoint = 2;
constexpr std::array<AttributeSpec, 5> kAttributes = {{
    {"axis", AttributeType::integer},
    {"block", AttributeType::integer},
    {"to", AttributeType::integer},
    {"saturate", AttributeType::integer},
    {"precision", AttributeType::integer},
}};

constexpr std::array<DType, 14> kNarrow = {DType::int8,         DType::uint8,          DType::int16,      DType::uint16,
                                           DType::int4,         DType::uint4,          DType::int2,       DType::uint2,
                                           DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz,
                                           DType::float4e2m1,   DType::int32};

bool is_narrow(DType dtype) { return std::find(kNarrow.begin(), kNarrow.end(), dtype) != kNarrow.end(); }
bool is_real(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float64;
}

DType named_dtype(const InferContext& ctx, std::string_view attribute, DType fallback) {
  const std::int64_t number = ctx.node().integer(attribute, 0);
  if (number < 0 || number > static_cast<std::int64_t>(DType::int2))
    ctx.fail("dtype number " + std::to_string(number) + " is not known");
  return number == 0 ? fallback : static_cast<DType>(number);
}

bool may_be_one_element(const SymShape& shape) {
  return shape.rank() == 0 || (shape.rank() == 1 && may_equal(shape.dims[0], Dim(1)));
}

/// The scale has one number, one per index of the axis, or one per block of indices.
void check_scale(const InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  const SymShape& scale = ctx.shape(kScale);
  const std::int64_t block = ctx.node().integer("block", 0);
  if (block < 0) ctx.fail("block is " + std::to_string(block) + "; it must not be negative");
  if (!scale.ranked || !x.ranked || (block == 0 && may_be_one_element(scale))) return;
  const std::size_t axis = ctx.axis(ctx.node().integer("axis", 1), x.rank());
  if (block == 0) {
    if (scale.rank() == 1 && may_equal(scale.dims[0], x.dims[axis])) return;
    ctx.fail("the scale has shape " + describe(scale) + ", but x of shape " + describe(x) + " is quantised along axis " +
                 std::to_string(axis),
             "give one number, or a vector with one number per index of that axis");
  }
  bool fits = scale.rank() == x.rank();
  for (std::size_t i = 0; fits && i < x.rank(); ++i) {
    const Dim wanted = i == axis ? floor_div(x.dims[i] + Dim(block - 1), Dim(block)) : x.dims[i];
    fits = may_equal(scale.dims[i], wanted);
  }
  if (!fits) {
    ctx.fail("the scale has shape " + describe(scale) + ", but x of shape " + describe(x) + " is quantised in blocks of " +
                 std::to_string(block) + " along axis " + std::to_string(axis),
             "give x's shape with that axis divided by the block's size, rounded up");
  }
}

void check_zero_point(const InferContext& ctx, DType wanted) {
  if (!ctx.has(kZeroPoint)) return;
  if (ctx.dtype(kZeroPoint) != wanted) {
    ctx.fail("the zero point has dtype " + std::string(to_string(ctx.dtype(kZeroPoint))) + ", but the quantised numbers have " +
                 std::string(to_string(wanted)),
             "give both the same dtype");
  }
  const SymShape& scale = ctx.shape(kScale);
  const SymShape& zero = ctx.shape(kZeroPoint);
  if (!scale.ranked || !zero.ranked || (may_be_one_element(scale) && may_be_one_element(zero))) return;
  bool fits = scale.rank() == zero.rank();
  for (std::size_t i = 0; fits && i < zero.rank(); ++i) fits = may_equal(scale.dims[i], zero.dims[i]);
  if (!fits) ctx.fail("the zero point has shape " + describe(zero) + " and the scale " + describe(scale), "they must be equal");
}

void infer_quantize(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32});
  ctx.expect_dtype(kScale, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  const DType to = named_dtype(ctx, "to", ctx.has(kZeroPoint) ? ctx.dtype(kZeroPoint) : DType::uint8);
  if (!is_narrow(to) || to == DType::int32) ctx.fail("cannot quantise to dtype " + std::string(to_string(to)));
  const DType precision = named_dtype(ctx, "precision", ctx.dtype(kScale));
  if (!is_real(precision)) ctx.fail("cannot divide in dtype " + std::string(to_string(precision)));
  check_scale(ctx);
  check_zero_point(ctx, to);
  ctx.set(0, to, ctx.shape(0));
}

void infer_dequantize(InferContext& ctx) {
  if (!is_narrow(ctx.dtype(0)))
    ctx.fail("x has dtype " + std::string(to_string(ctx.dtype(0))) + ", which holds no quantised numbers");
  ctx.expect_dtype(kScale, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  const DType to = named_dtype(ctx, "to", ctx.dtype(kScale));
  if (!is_real(to)) ctx.fail("cannot dequantise to dtype " + std::string(to_string(to)));
  check_scale(ctx);
  check_zero_point(ctx, ctx.dtype(0));
  ctx.set(0, to, ctx.shape(0));
}

/// Scale and zero point of each element.
class Parameters {
 public:
  explicit Parameters(const ComputeContext& ctx) : scales_(read_numbers(ctx.input(kScale))) {
    zeros_ = ctx.has(kZeroPoint) ? read_numbers(ctx.input(kZeroPoint)) : std::vector<double>(scales_.size(), 0.0);
    block_ = ctx.node().integer("block", 0);
    if (block_ == 0 && scales_.size() == 1) return;
    per_tensor_ = false;
    const Shape& x = ctx.input(0).shape;
    const std::int64_t given = ctx.node().integer("axis", 1);
    const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(x.size()) : given);
    length_ = x[axis];
    inner_ = product(x, axis + 1, x.size());
    blocks_ = block_ == 0 ? length_ : ctx.input(kScale).shape[axis];
  }

  double scale(std::size_t element) const { return scales_[index(element)]; }
  double zero(std::size_t element) const { return zeros_[index(element)]; }
  void round_scales(DType precision) { round_to(precision, scales_); }

 private:
  std::size_t index(std::size_t element) const {
    if (per_tensor_) return 0;
    const auto e = static_cast<std::int64_t>(element);
    const std::int64_t at = e / inner_ % length_;
    if (block_ == 0) return static_cast<std::size_t>(at);
    return static_cast<std::size_t>((e / inner_ / length_ * blocks_ + at / block_) * inner_ + e % inner_);
  }

  std::vector<double> scales_, zeros_;
  std::int64_t block_ = 0, length_ = 1, inner_ = 1, blocks_ = 1;
  bool per_tensor_ = true;
};

void compute_quantize(const ComputeContext& ctx) {
  Parameters parameters(ctx);
  const TensorView& y = ctx.output(0);
  const bool wide = ctx.input(0).dtype == DType::float64;
  const bool integers = !is_floating(y.dtype);
  std::vector<double> values = read_numbers(ctx.input(0));
  const auto named = static_cast<DType>(ctx.node().integer("precision", 0));
  const DType precision = named == DType::undefined ? ctx.input(kScale).dtype : named;
  if (named != DType::undefined) {
    round_to(named, values);
    parameters.round_scales(named);
  }
  // ONNX divides in float32 or less; a quotient in double could fall on the other side of a tie.
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scale = parameters.scale(i);
    values[i] = wide ? values[i] / scale : static_cast<float>(values[i]) / static_cast<float>(scale);
  }
  round_to(precision, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (integers ? std::nearbyint(values[i]) : values[i]) + parameters.zero(i);
  }
  const bool saturate = ctx.node().integer("saturate", 1) != 0;
  const Walk<1> walk(y.shape, {y.strides});
  const double* from = values.data();
  walk.for_each_piece([&](const std::array<std::int64_t, 1>& offsets, std::size_t count) {
    store_run(y.dtype, address(y, offsets[0]), walk.run_strides[0], count, from, saturate);
    from += count;
  });
}

void compute_dequantize(const ComputeContext& ctx) {
  const Parameters parameters(ctx);
  const bool wide = ctx.output(0).dtype == DType::float64;
  std::vector<double> values = read_numbers(ctx.input(0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance = values[i] - parameters.zero(i);
    const double scale = parameters.scale(i);
    values[i] = wide ? distance * scale : static_cast<double>(static_cast<float>(distance) * static_cast<float>(scale));
  }
  write_dense(ctx.output(0), values);
}

constexpr std::array<OpDef, 2> kOps = {{
    {"quantize", {2, 3}, {1, 1}, kAttributes, infer_quantize, compute_quantize},
    {"dequantize", {2, 3}, {1, 1}, kAttributes, infer_dequantize, compute_dequantize},
}};

}  // namespace

std::span<const OpDef> quantize_ops() { return kOps; }

}  // namespace jitney
