// Transposed convolution whose windows overlap: a matrix product per strip of the image, whose columns are then added where they
// belong.
#include <algorithm>
#include <vector>

#include "base/aligned.h"
#include "cpu/conv_transpose_weights.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

/// The products of one strip of the image take about so much of the cache.
constexpr std::size_t kStripBytes = std::size_t{1} << 20;

/// A range of outputs along one spatial axis, and the inputs that add to it.
struct Strip {
  std::int64_t begin = 0, end = 0;
  std::int64_t first = 0, count = 0;
};

/// Sums of fewer filters are no vectors.
constexpr std::int64_t kFewFilters = 4;

class TransposedSums final : public ConvWay {
 public:
  TransposedSums(const ConvProblem& problem, std::size_t threads)
      : problem_(problem),
        geometry_(problem.geometry),
        groups_(problem.groups),
        channels_(problem.channels),
        filters_(problem.filters),
        columns_(filters_ * geometry_.taps()),
        pixel_stride_(*problem.pixel_stride) {
    axis_ = geometry_.input[0] > 1 || geometry_.output[0] > 1 ? 0 : 1;
    slab_ = static_cast<std::size_t>((axis_ == 0 ? geometry_.input[1] : 1) * geometry_.input[2]);
    matrix_ = kernels::packed_b_size(gemm_, channels_, columns_);
    kernel = std::string(gemm_.name) + "_transposed";
    packing = kernel;
    packed_floats = matrix_ * groups_;
    cut_strips();
    std::int64_t most = 0;
    for (const Strip& strip : strips_) most = std::max(most, strip.count);
    workspace = align_up(static_cast<std::size_t>(most) * slab_ * columns_ * groups_ * sizeof(float));
    sums_at_ = workspace;
    sums_ = align_up(static_cast<std::size_t>(geometry_.output[2]) * filters_ * groups_ * sizeof(float));
    workspace += threads * sums_;
  }

  void pack(const float* source, float* target) const override {
    const auto rows = static_cast<std::size_t>(geometry_.kernel[0] * geometry_.kernel[1]);
    for (std::size_t group = 0; group < groups_; ++group)
      pack_transposed(gemm_, problem_, group, 0, rows, source, target + group * matrix_);
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    auto* products = reinterpret_cast<float*>(conv.workspace);
    const std::int64_t pixels = geometry_.input[0] * geometry_.input[1] * geometry_.input[2];
    const auto slab = static_cast<std::int64_t>(slab_);
    for (std::int64_t image = 0; image < geometry_.batch; ++image) {
      for (const Strip& strip : strips_) {
        multiply(run, conv, image * pixels + strip.first * slab, static_cast<std::size_t>(strip.count * slab), products);
        add_up(run, image, strip, products, conv);
      }
    }
  }

  std::string why() const override {
    return tap_words(geometry_) + " taps that overlap: products in " + std::to_string(strips_.size()) +
           " strips, added up where they belong";
  }

 private:
  std::ptrdiff_t row_length() const { return static_cast<std::ptrdiff_t>(columns_ * groups_); }

  /// Neighbouring strips share input rows, which are multiplied for both: strips are long enough that these are few.
  void cut_strips() {
    const std::int64_t reach = (geometry_.kernel[axis_] - 1) * geometry_.dilation[axis_], stride = geometry_.stride[axis_];
    const std::size_t slab_bytes = std::max<std::size_t>(slab_ * columns_ * groups_ * sizeof(float), 1);
    const auto fitting = static_cast<std::int64_t>(kStripBytes / slab_bytes);
    const std::int64_t step = std::max(fitting, 4 * (reach / stride + 1)) * stride;
    for (std::int64_t begin = 0; begin < geometry_.output[axis_]; begin += step) {
      Strip strip;
      strip.begin = begin;
      strip.end = std::min(begin + step, geometry_.output[axis_]);
      const std::int64_t lowest = begin + geometry_.pad_begin[axis_] - reach;
      const std::int64_t highest = strip.end - 1 + geometry_.pad_begin[axis_];
      strip.first = std::min(lowest > 0 ? (lowest + stride - 1) / stride : 0, geometry_.input[axis_]);
      const std::int64_t last = highest < 0 ? 0 : std::min(highest / stride + 1, geometry_.input[axis_]);
      strip.count = std::max<std::int64_t>(last - strip.first, 0);
      strips_.push_back(strip);
    }
  }

  /// products[pixel][group][tap][filter]
  void multiply(const StepRun& run, const ConvRun& conv, std::int64_t first, std::size_t pixels, float* products) const {
    const kernels::TileGrid grid = kernels::gemm_tiles(gemm_, pixels, columns_, channels_, run.threads);
    const std::size_t tiles = grid.count();
    if (tiles == 0) return;
    const double cost =
        product_nanoseconds(static_cast<double>(pixels), static_cast<double>(columns_ * groups_), static_cast<double>(channels_));
    parallel_tasks(run, tiles * groups_, cost, [&](std::size_t index, std::size_t) {
      const std::size_t group = index / tiles;
      const auto tile = grid.tile(index % tiles);
      kernels::GemmArgs args;
      args.m = pixels;
      args.n = columns_;
      args.k = channels_;
      args.a = conv.x + first * pixel_stride_ + group * channels_;
      args.lda = pixel_stride_;
      args.b = conv.weights + group * matrix_;
      args.c = products + group * columns_;
      args.ldc = row_length();
      kernels::gemm_tile(gemm_, args, tile.row, tile.row_end, tile.column, tile.column_end);
    });
  }

  /// Gathers, for each output row, what the input pixels contribute: taps in ascending order.
  void add_up(const StepRun& run, std::int64_t image, const Strip& strip, const float* products, const ConvRun& conv) const {
    const std::int64_t rows = geometry_.output[0] * geometry_.output[1], width = geometry_.output[2];
    const std::size_t outputs = filters_ * groups_;
    const double taps_met = static_cast<double>(geometry_.taps()) /
                            static_cast<double>(geometry_.stride[0] * geometry_.stride[1] * geometry_.stride[2]);
    const double cost = static_cast<double>(width) * static_cast<double>(outputs) * (taps_met + 1) * 0.5;
    const std::int64_t inner = axis_ == 0 ? geometry_.output[1] : 1, first_row = strip.begin * inner;
    const std::int64_t count = (strip.end - strip.begin) * inner;
    parallel_ranges(run, count, piece_size(cost), [&](std::int64_t begin, std::int64_t end, std::size_t worker) {
      auto* sums = reinterpret_cast<float*>(conv.workspace + sums_at_ + worker * sums_);
      for (std::int64_t row = first_row + begin; row < first_row + end; ++row) {
        std::fill_n(sums, static_cast<std::size_t>(width) * outputs, 0.0F);
        add_row(products, strip, row / geometry_.output[1], row % geometry_.output[1], sums);
        const std::int64_t first = (image * rows + row) * width;
        gemm_.epilogue(kernels::shifted(conv.epilogue, first, 0), static_cast<std::size_t>(width), outputs, sums,
                       static_cast<std::ptrdiff_t>(outputs), conv.y + first * conv.y_stride, conv.y_stride);
      }
    });
  }

  /// Input index that adds to `output` through a tap, or −1.
  std::int64_t source(std::size_t axis, std::int64_t output, std::int64_t tap) const {
    const std::int64_t at = output + geometry_.pad_begin[axis] - tap * geometry_.dilation[axis];
    if (at < 0 || at % geometry_.stride[axis] != 0) return -1;
    const std::int64_t index = at / geometry_.stride[axis];
    return index < geometry_.input[axis] ? index : -1;
  }

  void add_row(const float* products, const Strip& strip, std::int64_t d, std::int64_t h, float* sums) const {
    const std::int64_t skipped = strip.first * static_cast<std::int64_t>(slab_);
    const std::int64_t across = geometry_.kernel[2];
    for (std::int64_t i = 0; i < geometry_.kernel[0]; ++i) {
      const std::int64_t depth = source(0, d, i);
      if (depth < 0) continue;
      for (std::int64_t j = 0; j < geometry_.kernel[1]; ++j) {
        const std::int64_t height = source(1, h, j);
        if (height < 0) continue;
        const std::int64_t pixel = (depth * geometry_.input[1] + height) * geometry_.input[2] - skipped;
        const std::int64_t first_tap = (i * geometry_.kernel[1] + j) * across;
        for (std::int64_t k = 0; k < across; ++k)
          add_tap(products + pixel * row_length() + (first_tap + k) * static_cast<std::int64_t>(filters_), k, sums);
      }
    }
  }

  /// What all pixels of an input row give an output row through one tap.
  void add_tap(const float* products, std::int64_t k, float* sums) const {
    const std::int64_t stride = geometry_.stride[2], start = k * geometry_.dilation[2] - geometry_.pad_begin[2];
    // Input w goes to output w·stride + start.
    const std::int64_t begin = start >= 0 ? 0 : (-start + stride - 1) / stride;
    const std::int64_t room = geometry_.output[2] - start;
    const std::int64_t end = std::min<std::int64_t>(geometry_.input[2], room <= 0 ? 0 : (room + stride - 1) / stride);
    if (begin >= end) return;
    const auto outputs = static_cast<std::int64_t>(filters_ * groups_), length = static_cast<std::int64_t>(row_length());
    const auto filters = static_cast<std::int64_t>(filters_), count = end - begin;
    float* to = sums + (begin * stride + start) * outputs;
    const float* from = products + begin * length;
    for (std::size_t group = 0; group < groups_; ++group, from += columns_, to += filters) {
      if (filters < kFewFilters) {
        add_few(from, length, to, stride * outputs, count);
      } else {
        kernels::Epilogue add;
        add.residual = to;
        add.residual_stride = stride * outputs;
        gemm_.epilogue(add, static_cast<std::size_t>(count), filters_, from, length, to, stride * outputs);
      }
    }
  }

  void add_few(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t count) const {
    const auto add = [&](auto filters) {
      for (std::int64_t w = 0; w < count; ++w, from += from_step, to += to_step) {
        for (std::size_t m = 0; m < filters(); ++m) to[m] += from[m];
      }
    };
    switch (filters_) {
      case 1:
        return add(std::integral_constant<std::size_t, 1>());
      case 2:
        return add(std::integral_constant<std::size_t, 2>());
      default:
        return add([this] { return filters_; });
    }
  }

  ConvProblem problem_;
  kernels::ConvGeometry geometry_;
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  std::size_t groups_, channels_, filters_;  // channels and filters of one group
  std::size_t columns_, matrix_ = 0;         // taps · filters of a group; its packed floats
  std::int64_t pixel_stride_;
  std::size_t axis_ = 1, slab_ = 0;  // the axis that is cut into strips; input pixels per index of it
  std::vector<Strip> strips_;
  std::size_t sums_at_ = 0, sums_ = 0;
};

}  // namespace

std::unique_ptr<ConvWay> transposed_sums(const ConvProblem& problem, std::size_t threads) {
  return std::make_unique<TransposedSums>(problem, threads);
}

}  // namespace jitney::cpu
