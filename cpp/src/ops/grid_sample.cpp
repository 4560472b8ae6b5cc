// grid_sample and deform_columns: pictures read at positions that are computed.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "ops/families.h"
#include "ops/operands.h"
#include "ops/rules.h"
#include "ops/sampling.h"
#include "ops/window.h"

namespace jitney {

namespace {

/// The part of a tensor at one index of its first axis.
TensorView at_first(const TensorView& view, std::int64_t index) {
  return {address(view, index * view.strides[0]), view.dtype, Shape(view.shape.span().subspan(1)),
          Shape(view.strides.span().subspan(1))};
}

// grid_sample

void infer_grid_sample(InferContext& ctx) {
  if (number_class(ctx.dtype(0)) == NumberClass::none) expect_number(ctx, 0);
  expect_floating(ctx, 1);
  const SymShape &x = ctx.shape(0), &grid = ctx.shape(1);
  if (!x.ranked && !grid.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  const std::size_t rank = x.ranked ? x.rank() : grid.rank();
  if (rank < 3) ctx.fail("x has rank " + std::to_string(rank) + "; at least one spatial axis is wanted, [batch, channels, …]");
  expect_rank(ctx, 0, rank);
  expect_rank(ctx, 1, rank);
  std::vector<Dim> dims(rank);
  if (x.ranked) std::copy(x.dims.begin(), x.dims.begin() + 2, dims.begin());
  if (grid.ranked) {
    dims[0] = x.ranked ? merge(ctx, x.dims[0], grid.dims[0], "the batch") : grid.dims[0];
    (void)merge(ctx, grid.dims[rank - 1], Dim(static_cast<std::int64_t>(rank) - 2), "the number of coordinates");
    std::copy(grid.dims.begin() + 1, grid.dims.end() - 1, dims.begin() + 2);
  }
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
}

enum class Padding : std::uint8_t { zeros, border, reflection };
enum class Mode : std::uint8_t { nearest, linear, cubic };

/// How positions along one axis are found and limited.
struct GridAxis {
  std::int64_t size;
  double low, high;  // the borders that positions reflect at
  Padding padding;

  double reflected(double x) const {
    const double range = high - low;
    if (range <= 0 || !std::isfinite(x)) return low;
    if (x >= low && x <= high) return x;
    const double beyond = std::fmod(x < low ? low - x : x - high, 2 * range);
    const double back = beyond < range ? beyond : 2 * range - beyond;
    return x < low ? low + back : high - back;
  }

  /// Where a position beyond the borders is taken to be; what padding says of each element is up to element().
  double limited(double x) const {
    if (padding == Padding::reflection) return reflected(x);
    // So far outside, all is zero or the border's; the clamp keeps indices small.
    return std::clamp(x, -4.0, static_cast<double>(size) + 4.0);
  }

  /// An element that may lie outside: one inside, or −1 for a zero.
  std::int64_t element(std::int64_t index) const {
    if (index >= 0 && index < size) return index;
    if (padding == Padding::zeros) return -1;
    if (padding == Padding::reflection) index = static_cast<std::int64_t>(reflected(static_cast<double>(index)));
    return std::clamp<std::int64_t>(index, 0, size - 1);
  }
};

class Grid {
 public:
  Grid(const Node& node, const Shape& sizes, DType dtype) : precise_(dtype) {
    const std::string_view mode = node.text("mode", "linear"), outside = node.text("padding", "zeros");
    mode_ = mode == "nearest" ? Mode::nearest : mode == "cubic" ? Mode::cubic : Mode::linear;
    const Padding padding = outside == "border" ? Padding::border : outside == "zeros" ? Padding::zeros : Padding::reflection;
    corners_ = node.integer("align_corners", 0) != 0;
    for (const std::int64_t size : sizes) {
      const auto last = static_cast<double>(size - 1);
      axes_.push_back({size, corners_ ? 0.0 : -0.5, corners_ ? last : last + 0.5, padding});
    }
  }

  AxisTaps taps(std::size_t which, double normalised) const {
    const GridAxis& axis = axes_[which];
    if (axis.size == 0) return {};  // all is outside
    // What is no number counts as the first border, as PyTorch has it.
    double x = position(std::isnan(normalised) ? -1.0 : normalised, axis.size);
    if (mode_ == Mode::nearest) x = std::nearbyint(x);
    x = precise_(axis.limited(x));
    AxisTaps taps;
    if (mode_ == Mode::nearest) {
      taps = {1, {static_cast<std::int64_t>(x)}, {1.0}};
    } else if (mode_ == Mode::cubic) {
      taps = cubic_taps(x);
    } else {
      const auto low = static_cast<std::int64_t>(std::floor(x));
      const double fraction = x - std::floor(x);
      taps = {2, {low, low + 1}, {1 - fraction, fraction}};
    }
    for (std::size_t k = 0; k < taps.count; ++k) taps.index[k] = axis.element(taps.index[k]);
    return taps;
  }

 private:
  double position(double n, std::int64_t size) const {
    const auto length = static_cast<double>(size);
    if (corners_) return precise_(precise_(precise_(n + 1) / 2) * (length - 1));
    return precise_(precise_(precise_(n + 1) * length) - 1) / 2;
  }

  CoordinatePrecision precise_;
  Mode mode_ = Mode::linear;
  bool corners_;
  std::vector<GridAxis> axes_;
};

void compute_grid_sample(const ComputeContext& ctx) {
  const TensorView &x = ctx.input(0), &y = ctx.output(0);
  const Shape sizes = spatial_sizes(x.shape);
  if (y.shape.elements() == 0) return;
  const std::size_t rank = sizes.size();
  const std::int64_t plane = sizes.elements(), channels = x.shape[1], points = spatial_sizes(y.shape).elements();
  const Grid grid(ctx.node(), sizes, ctx.input(1).dtype);
  std::vector<AxisTaps> axes(rank);
  PointTaps taps(sizes);
  std::vector<double> result(static_cast<std::size_t>(channels * points));
  for (std::int64_t image = 0; image < x.shape[0]; ++image) {
    const std::vector<double> pixels = read_numbers(at_first(x, image));
    const std::vector<double> coordinates = read_numbers(at_first(ctx.input(1), image));
    for (std::int64_t point = 0; point < points; ++point) {
      // Coordinates come innermost axis first.
      const double* at = coordinates.data() + point * static_cast<std::int64_t>(rank);
      for (std::size_t axis = 0; axis < rank; ++axis) axes[axis] = grid.taps(axis, at[rank - 1 - axis]);
      taps.combine(axes);
      for (std::int64_t c = 0; c < channels; ++c) result[c * points + point] = taps.sum(pixels.data() + c * plane);
    }
    write_dense(at_first(y, image), result);
  }
}

// deform_columns

constexpr std::size_t kKernel = 2, kMask = 3;

void infer_deform_columns(InferContext& ctx) {
  expect_floating(ctx, 0);
  expect_index(ctx, kKernel);
  expect_rank(ctx, kKernel, 1);
  for (const std::size_t i : {std::size_t{1}, kMask}) expect_dtype_of_first(ctx, i);
  const std::int64_t groups = ctx.node().integer("offset_group", 1);
  if (groups < 1) ctx.fail("offset_group is " + std::to_string(groups) + "; it must be at least 1");
  const SymShape &x = ctx.shape(0), &offset = ctx.shape(1);
  const auto kernel = ctx.elements(kKernel);
  if (!kernel) return ctx.set(0, ctx.dtype(0), offset.ranked ? SymShape::of(std::vector<Dim>(offset.rank())) : offset);
  const std::size_t rank = kernel->size() + 2;
  if (kernel->empty() || rank > kMaxRank) ctx.fail("kernel has " + std::to_string(kernel->size()) + " sizes");
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, kMask}) {
    if (ctx.has(i)) expect_rank(ctx, i, rank);
  }
  std::vector<Dim> dims(rank);
  const std::vector<Dim> windows = infer_window(ctx, x.ranked ? spatial_dims(x) : std::vector<Dim>(kernel->size()), *kernel);
  std::copy(windows.begin(), windows.end(), dims.begin() + 2);
  Dim taps(1);
  for (const Dim& size : *kernel) taps = taps * size;
  if (x.ranked) {
    dims[0] = x.dims[0];
    dims[1] = x.dims[1] * taps;
    if (x.dims[1].is_constant() && x.dims[1].value() % groups != 0) {
      ctx.fail("x has " + std::to_string(x.dims[1].value()) + " channels, no multiple of offset_group " + std::to_string(groups));
    }
  }
  const auto follow = [&](const SymShape& shape, const Dim& channels, std::string_view what) {
    if (!shape.ranked) return;
    dims[0] = merge(ctx, dims[0], shape.dims[0], "the batch");
    (void)merge(ctx, shape.dims[1], channels, what);
    for (std::size_t i = 2; i < rank; ++i) dims[i] = merge(ctx, dims[i], shape.dims[i], "the output's size");
  };
  follow(offset, Dim(groups) * taps * Dim(static_cast<std::int64_t>(kernel->size())), "the number of offsets");
  if (ctx.has(kMask)) follow(ctx.shape(kMask), Dim(groups) * taps, "the number of masks");
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
}

/// Output row c·taps + k, column p: what tap k of the window at p reads of channel c, moved by the tap's offset.
void compute_deform_columns(const ComputeContext& ctx) {
  const TensorView &x = ctx.input(0), &y = ctx.output(0);
  if (y.shape.elements() == 0) return;
  const Shape sizes = spatial_sizes(x.shape);
  const WindowGeometry geometry = window_geometry(ctx.node(), sizes, Shape(read_integers(ctx.input(kKernel))));
  const std::size_t rank = sizes.size();
  const std::int64_t taps = geometry.kernel.elements(), points = geometry.output.elements(), plane = sizes.elements();
  const std::int64_t groups = ctx.node().integer("offset_group", 1), channels = x.shape[1] / groups;
  std::vector<double> result(static_cast<std::size_t>(x.shape[1] * taps * points));
  std::vector<double> mask;
  std::vector<AxisTaps> axes(rank);
  PointTaps reads(sizes);
  for (std::int64_t image = 0; image < x.shape[0]; ++image) {
    const std::vector<double> pixels = read_numbers(at_first(x, image)), offsets = read_numbers(at_first(ctx.input(1), image));
    if (ctx.has(kMask)) mask = read_numbers(at_first(ctx.input(kMask), image));
    for (std::int64_t row = 0; row < groups * taps; ++row) {
      const std::int64_t group = row / taps, tap = row % taps;
      for (std::int64_t point = 0; point < points; ++point) {
        std::int64_t window = point, within = tap;
        for (std::size_t axis = rank; axis-- > 0;) {
          const std::int64_t at = window % geometry.output[axis] * geometry.stride[axis] - geometry.pad_begin[axis] +
                                  within % geometry.kernel[axis] * geometry.dilation[axis];
          window /= geometry.output[axis];
          within /= geometry.kernel[axis];
          const double moved =
              offsets[(row * static_cast<std::int64_t>(rank) + static_cast<std::int64_t>(axis)) * points + point];
          axes[axis] = linear_taps(static_cast<double>(at) + moved, sizes[axis]);
        }
        reads.combine(axes);
        const double factor = mask.empty() ? 1.0 : mask[row * points + point];
        for (std::int64_t c = group * channels; c < (group + 1) * channels; ++c) {
          result[(c * taps + tap) * points + point] = factor * reads.sum(pixels.data() + c * plane);
        }
      }
    }
    write_dense(at_first(y, image), result);
  }
}

constexpr std::array<AttributeSpec, 3> kGridSample = {{
    {"mode", AttributeType::text, false, "nearest|linear|cubic"},
    {"padding", AttributeType::text, false, "zeros|border|reflection"},
    {"align_corners", AttributeType::integer},
}};
constexpr std::array<AttributeSpec, 1> kOffsetGroup = {{{"offset_group", AttributeType::integer}}};
constexpr auto kDeformColumns = join(kOffsetGroup, kWindowAttributes);

constexpr OpDef kOps[] = {
    {"grid_sample", {2, 2}, {1, 1}, kGridSample, infer_grid_sample, compute_grid_sample},
    {"deform_columns", {3, 4}, {1, 1}, kDeformColumns, infer_deform_columns, compute_deform_columns, nullptr, 1U << kKernel},
};

}  // namespace

std::span<const OpDef> grid_sample_ops() { return kOps; }

}  // namespace jitney
