// roi_align and max_roi_pool: regions of a picture, each pooled to the same size.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "ops/families.h"
#include "ops/operands.h"
#include "ops/rules.h"
#include "ops/sampling.h"

namespace jitney {

namespace {

// More samples or outputs per axis than any picture has pixels.
constexpr std::int64_t kMostPerAxis = 1 << 16;

std::int64_t checked(const InferContext& ctx, const char* name, std::int64_t value, std::int64_t least) {
  if (value < least || value > kMostPerAxis) {
    ctx.fail(std::string(name) + " is " + std::to_string(value) + "; it must lie between " + std::to_string(least) + " and " +
             std::to_string(kMostPerAxis));
  }
  return value;
}

/// [regions, channels, height, width]; `columns` numbers describe a region.
SymShape pooled_shape(InferContext& ctx, std::int64_t columns, std::int64_t height, std::int64_t width) {
  expect_floating(ctx, 0);
  expect_dtype_of_first(ctx, 1);
  expect_rank(ctx, 0, 4);
  expect_rank(ctx, 1, 2);
  const SymShape &x = ctx.shape(0), &rois = ctx.shape(1);
  if (rois.ranked) (void)merge(ctx, rois.dims[1], Dim(columns), "the number of coordinates of a region");
  return SymShape::of(
      {rois.ranked ? rois.dims[0] : Dim::unknown(), x.ranked ? x.dims[1] : Dim::unknown(), Dim(height), Dim(width)});
}

void infer_roi_align(InferContext& ctx) {
  const Node& node = ctx.node();
  const std::int64_t height = checked(ctx, "output_height", node.integer("output_height", 1), 1);
  const std::int64_t width = checked(ctx, "output_width", node.integer("output_width", 1), 1);
  const std::int64_t ratio = checked(ctx, "sampling_ratio", node.integer("sampling_ratio", 0), 0);
  checked(ctx, "the number of samples per axis", ratio * std::max(height, width), 0);
  SymShape shape = pooled_shape(ctx, 4, height, width);
  expect_index(ctx, 2);
  expect_rank(ctx, 2, 1);
  if (ctx.shape(2).ranked) shape.dims[0] = merge(ctx, shape.dims[0], ctx.shape(2).dims[0], "the number of regions");
  ctx.set(0, ctx.dtype(0), std::move(shape));
}

/// Samples of one bin along one axis: those on the picture have two neighbours each; the others count as zeros.
struct Samples {
  std::vector<AxisTaps> inside;
  double count = 0;  // all of them
};

/// One region along one axis, cut into `bins`.
class RegionAxis {
 public:
  RegionAxis(const Node& node, DType dtype, double first, double last, std::int64_t size, std::int64_t bins)
      : precise_(dtype), size_(static_cast<double>(size)) {
    const bool half_pixel = node.integer("half_pixel", 1) != 0;
    const double scale = precise_(node.number("spatial_scale", 1.0)), shift = half_pixel ? 0.5 : 0.0;
    start_ = precise_(precise_(first * scale) - shift);
    double length = precise_(precise_(precise_(last * scale) - shift) - start_);
    if (!half_pixel) length = std::max(length, 1.0);
    bin_ = precise_(length / static_cast<double>(bins));
    const auto wanted = static_cast<double>(node.integer("sampling_ratio", 0));
    grid_ = wanted > 0 ? wanted : std::max(0.0, std::ceil(bin_));
    if (!std::isfinite(start_) || !std::isfinite(bin_)) grid_ = 0;
  }

  Samples samples(std::int64_t which) const {
    Samples samples;
    samples.count = grid_;
    if (grid_ == 0) return samples;
    const double begin = precise_(start_ + precise_(static_cast<double>(which) * bin_));
    const auto at = [&](double i) { return precise_(begin + precise_(precise_((i + 0.5) * bin_) / grid_)); };
    // A region may reach far beyond the picture: only samples that can lie on it are looked at, with one to spare.
    double from = 0, to = grid_;
    if (const double step = bin_ / grid_; step != 0) {
      const auto [near, far] = std::minmax({(-1 - begin) / step, (size_ - begin) / step});
      from = std::clamp(std::floor(near) - 2, 0.0, grid_);
      to = std::clamp(std::ceil(far) + 2, 0.0, grid_);
    }
    for (double i = from; i < to; ++i) {
      const double x = at(i);
      if (!(x >= -1 && x <= size_) || size_ == 0) continue;
      samples.inside.push_back(neighbours(std::max(x, 0.0)));
    }
    return samples;
  }

 private:
  AxisTaps neighbours(double x) const {
    const auto low = static_cast<std::int64_t>(x), last = static_cast<std::int64_t>(size_) - 1;
    if (low >= last) return {2, {last, last}, {1.0, 0.0}};
    const double fraction = precise_(x - static_cast<double>(low));
    return {2, {low, low + 1}, {1 - fraction, fraction}};
  }

  CoordinatePrecision precise_;
  double size_, start_ = 0, bin_ = 0, grid_ = 0;
};

double bin_average(const double* plane, std::int64_t width, const Samples& rows, const Samples& columns) {
  double total = 0;
  for (const AxisTaps& y : rows.inside) {
    const double* low = plane + y.index[0] * width;
    const double* high = plane + y.index[1] * width;
    for (const AxisTaps& x : columns.inside) {
      total += y.weight[0] * (x.weight[0] * low[x.index[0]] + x.weight[1] * low[x.index[1]]) +
               y.weight[1] * (x.weight[0] * high[x.index[0]] + x.weight[1] * high[x.index[1]]);
    }
  }
  return total / std::max(rows.count * columns.count, 1.0);
}

/// ONNX takes the largest of the weighted neighbours, not of the interpolated samples.
double bin_maximum(const double* plane, std::int64_t width, const Samples& rows, const Samples& columns) {
  const bool all_inside = static_cast<double>(rows.inside.size()) == rows.count &&
                          static_cast<double>(columns.inside.size()) == columns.count && rows.count * columns.count > 0;
  double best = all_inside ? -std::numeric_limits<double>::infinity() : 0;
  for (const AxisTaps& y : rows.inside) {
    for (const AxisTaps& x : columns.inside) {
      for (std::size_t i = 0; i < 4; ++i) {
        const double value = plane[y.index[i / 2] * width + x.index[i % 2]];
        best = std::max(best, y.weight[i / 2] * x.weight[i % 2] * value);
      }
    }
  }
  return best;
}

void compute_roi_align(const ComputeContext& ctx) {
  const TensorView &x = ctx.input(0), &y = ctx.output(0);
  const std::int64_t channels = x.shape[1], width = x.shape[3], plane = x.shape[2] * width;
  const std::int64_t bins_y = y.shape[2], bins_x = y.shape[3];
  const bool average = ctx.node().text("mode", "average") == "average";
  const std::vector<double> pixels = read_numbers(x), regions = read_numbers(ctx.input(1));
  const std::vector<std::int64_t> images = read_integers(ctx.input(2));
  std::vector<double> result(static_cast<std::size_t>(y.shape.elements()));
  std::vector<Samples> columns(static_cast<std::size_t>(bins_x));
  for (std::size_t r = 0; r < images.size(); ++r) {
    const double* region = regions.data() + 4 * r;
    const double* image = pixels.data() + checked_index(ctx, images[r], x.shape[0]) * channels * plane;
    const RegionAxis across(ctx.node(), x.dtype, region[0], region[2], width, bins_x);
    const RegionAxis down(ctx.node(), x.dtype, region[1], region[3], x.shape[2], bins_y);
    for (std::int64_t i = 0; i < bins_x; ++i) columns[i] = across.samples(i);
    for (std::int64_t row = 0; row < bins_y; ++row) {
      const Samples rows = down.samples(row);
      for (std::int64_t c = 0; c < channels; ++c) {
        double* to = result.data() + ((static_cast<std::int64_t>(r) * channels + c) * bins_y + row) * bins_x;
        for (std::int64_t i = 0; i < bins_x; ++i) {
          to[i] = (average ? bin_average : bin_maximum)(image + c * plane, width, rows, columns[i]);
        }
      }
    }
  }
  write_dense(y, result);
}

void infer_max_roi_pool(InferContext& ctx) {
  const std::vector<std::int64_t>& pooled = ctx.node().integers("pooled_shape");
  if (pooled.size() != 2) ctx.fail("pooled_shape has " + std::to_string(pooled.size()) + " sizes; height and width are wanted");
  for (const std::int64_t size : pooled) checked(ctx, "pooled_shape", size, 1);
  ctx.set(0, ctx.dtype(0), pooled_shape(ctx, 5, pooled[0], pooled[1]));
}

/// First pixel of each bin along one axis and the one behind its last, limited to the picture; bins may share pixels.
std::vector<std::pair<std::int64_t, std::int64_t>> whole_bins(const CoordinatePrecision& precise, double first, double last,
                                                              std::int64_t size, std::int64_t bins) {
  const auto whole = [](double x) { return std::clamp(std::isnan(x) ? 0.0 : std::round(x), -0x1p40, 0x1p40); };
  const double start = whole(first), bin = precise(std::max(whole(last) - start + 1, 1.0) / static_cast<double>(bins));
  const auto limited = [&](double x) { return static_cast<std::int64_t>(std::clamp(x + start, 0.0, static_cast<double>(size))); };
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t i = 0; i < bins; ++i) {
    const double from = precise(static_cast<double>(i) * bin), to = precise(static_cast<double>(i + 1) * bin);
    ranges.emplace_back(limited(std::floor(from)), limited(std::ceil(to)));
  }
  return ranges;
}

void compute_max_roi_pool(const ComputeContext& ctx) {
  const TensorView &x = ctx.input(0), &y = ctx.output(0);
  const std::int64_t channels = x.shape[1], width = x.shape[3], plane = x.shape[2] * width;
  const std::vector<double> pixels = read_numbers(x), regions = read_numbers(ctx.input(1));
  const CoordinatePrecision precise(x.dtype);
  const double scale = precise(ctx.node().number("spatial_scale", 1.0));
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(y.shape.elements()));
  for (std::int64_t r = 0; r < y.shape[0]; ++r) {
    const double* region = regions.data() + 5 * r;
    const auto scaled = [&](std::size_t i) { return precise(region[i] * scale); };
    const double which = std::isfinite(region[0]) ? std::clamp(region[0], -0x1p40, 0x1p40) : -0x1p40;
    const std::int64_t image = checked_index(ctx, static_cast<std::int64_t>(which), x.shape[0]);
    const auto columns = whole_bins(precise, scaled(1), scaled(3), width, y.shape[3]);
    const auto rows = whole_bins(precise, scaled(2), scaled(4), x.shape[2], y.shape[2]);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double* from = pixels.data() + (image * channels + c) * plane;
      for (const auto& [top, bottom] : rows) {
        for (const auto& [left, right] : columns) {
          double best = top < bottom && left < right ? -std::numeric_limits<double>::infinity() : 0;
          for (std::int64_t h = top; h < bottom; ++h) {
            for (std::int64_t w = left; w < right; ++w) best = std::max(best, from[h * width + w]);
          }
          result.push_back(best);
        }
      }
    }
  }
  write_dense(y, result);
}

constexpr AttributeSpec kRoiAlign[] = {
    {"mode", AttributeType::text, false, "average|max"}, {"half_pixel", AttributeType::integer},
    {"output_height", AttributeType::integer},           {"output_width", AttributeType::integer},
    {"sampling_ratio", AttributeType::integer},          {"spatial_scale", AttributeType::number},
};
constexpr AttributeSpec kMaxRoiPool[] = {{"pooled_shape", AttributeType::integers, true},
                                         {"spatial_scale", AttributeType::number}};

constexpr OpDef kOps[] = {
    {"roi_align", {3, 3}, {1, 1}, kRoiAlign, infer_roi_align, compute_roi_align},
    {"max_roi_pool", {2, 2}, {1, 1}, kMaxRoiPool, infer_max_roi_pool, compute_max_roi_pool},
};

}  // namespace

std::span<const OpDef> roi_ops() { return kOps; }

}  // namespace jitney
