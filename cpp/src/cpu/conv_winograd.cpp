// Convolution with 3×3 taps and stride 1 by Winograd's method, with tiles of 4×4 or 2×2 results, where that is the faster one.
#include <algorithm>
#include <cmath>

#include "base/aligned.h"
#include "cpu/conv_way.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

/// Transformed inputs of up to so many bytes are made once, by all threads together; then the threads share out the filters, so
/// that no weight is transformed twice. Beyond that, each thread takes blocks of tiles.
constexpr std::size_t kSharedBytes = 1280 * 1024;

/// What an image costs, in multiply-adds at full speed, with the factors that were measured for AVX2, AVX-512 and (in
/// instructions) NEON.
double direct_cost(const ConvProblem& problem) {
  constexpr double kSlack = 1.06;
  const double pixels = static_cast<double>(problem.geometry.output[1]) * static_cast<double>(problem.geometry.output[2]);
  return kSlack * pixels * 9 * static_cast<double>(problem.channels) * static_cast<double>(problem.filters);
}

kernels::Winograd winograd_method(const ConvProblem& problem, std::ptrdiff_t tile) {
  return {&kernels::winograd_kernel(active_isa(), tile), kernels::conv_kernel(active_isa()).gemm, problem.geometry,
          problem.channels, problem.filters};
}

double winograd_cost(kernels::Winograd image) {
  struct Transforms {
    double input, output, weights;  // per channel, filter, and pair of both
  };
  const Transforms cost = image.kernel->tile == 4 ? Transforms{260, 280, 150} : Transforms{130, 90, 60};
  constexpr double kSlack = 1.06;
  const double call = 150.0 * static_cast<double>(image.kernel->lanes);  // of starting and ending a register tile
  image.geometry.batch = 1;
  const auto padded = [](std::size_t count, std::size_t unit) {
    const std::size_t units = (count + unit - 1) / unit;
    return static_cast<double>(units * unit);
  };
  const std::size_t nr = image.gemm->nr;
  const double tiles = static_cast<double>(image.tiles()), points = static_cast<double>(image.kernel->points());
  const double channels = static_cast<double>(image.channels), filters = padded(image.filters, image.kernel->lanes);
  const double panels = padded(image.filters, nr) / static_cast<double>(nr);
  const double blocks = padded(image.channels, image.channel_block()) / static_cast<double>(image.channel_block());
  const double groups = static_cast<double>(kernels::RowGroups(image.tiles(), image.gemm->mr).count);
  return points * (kSlack * tiles * channels * filters + groups * panels * blocks * call) + cost.weights * channels * filters +
         tiles * (cost.input * padded(image.channels, image.kernel->lanes) + cost.output * filters);
}

class WinogradConv final : public ConvWay {
 public:
  WinogradConv(const ConvProblem& problem, const kernels::Winograd& method, std::size_t threads)
      : problem_(problem), method_(method), zeros_(make_aligned(problem.channels * sizeof(float))) {
    kernel = method.kernel->name;
    packing = taps_.name;
    group_floats_ = kernels::packed_conv_size(taps_, problem.geometry.taps(), problem.channels, problem.filters);
    packed_floats = group_floats_ * problem.groups;
    tiles_ = method.tiles();
    input_floats_ = tiles_ * method.tile_floats();
    shared_ = problem.groups * input_floats_ * sizeof(float) <= kSharedBytes;
    if (shared_) {
      block_ = tiles_per_task(threads);
      scratch_at_ = align_up(problem.groups * input_floats_ * sizeof(float));
      scratch_ = method.scratch(block_);
    } else {
      block_ = kernels::winograd_block(method, threads);
      scratch_ = align_up(block_ * method.tile_floats() * sizeof(float)) + method.scratch(block_);
    }
    workspace = scratch_at_ + threads * scratch_;
    std::fill_n(reinterpret_cast<float*>(zeros_.get()), problem.channels, 0.0F);
  }

  void pack(const float* source, float* packed) const override {
    for (std::size_t group = 0; group < problem_.groups; ++group) {
      kernels::pack_conv(taps_, problem_.geometry.kernel, problem_.channels, problem_.filters,
                         source + static_cast<std::int64_t>(group * problem_.filters) * problem_.filter_stride,
                         problem_.filter_stride, problem_.channel_stride, problem_.tap_stride, packed + group * group_floats_);
    }
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    if (shared_) {
      run_filters(run, conv);
    } else {
      run_blocks(run, conv);
    }
  }

  std::string why() const override { return winograd_verdict(problem_); }

 private:
  kernels::ConvArgs args(const ConvRun& conv, std::size_t group) const {
    const std::size_t column = group * problem_.filters;
    return {problem_.geometry,
            problem_.channels,
            problem_.filters,
            conv.x + group * problem_.channels,
            reinterpret_cast<const float*>(zeros_.get()),
            conv.weights + group * group_floats_,
            conv.y + column,
            conv.y_stride,
            kernels::shifted(conv.epilogue, 0, static_cast<std::ptrdiff_t>(column))};
  }

  std::size_t panels() const { return (problem_.filters + method_.gemm->nr - 1) / method_.gemm->nr; }
  std::size_t blocks() const { return (tiles_ + block_ - 1) / block_; }

  /// All tiles, unless there are so few panels of filters that threads would be idle or wait for another's last one.
  std::size_t tiles_per_task(std::size_t threads) const {
    constexpr std::size_t kWeightRows = 4;  // transforming the weights takes as long as multiplying them with so many tiles
    std::size_t least = SIZE_MAX, best = 1;
    for (std::size_t cuts = 1; cuts <= threads; ++cuts) {
      const std::size_t tiles = std::max<std::size_t>(1, (tiles_ + cuts - 1) / cuts);
      const std::size_t rounds = (cuts * panels() * problem_.groups + threads - 1) / threads;
      const std::size_t cost = rounds * (tiles + kWeightRows);
      if (cost >= least) continue;
      least = cost;
      best = tiles;
    }
    return best;
  }

  void run_filters(const StepRun& run, const ConvRun& conv) const {
    auto* inputs = reinterpret_cast<float*>(conv.workspace);
    const double input_cost = static_cast<double>(problem_.groups * input_floats_) * 0.5;
    parallel_tasks(run, tiles_ * problem_.groups, input_cost, [&](std::size_t index, std::size_t) {
      const std::size_t group = index / tiles_, tile = index % tiles_;
      kernels::winograd_inputs(method_, args(conv, group), tile, tile + 1, inputs + index * method_.tile_floats());
    });
    const std::size_t nr = method_.gemm->nr, panels = this->panels(), blocks = this->blocks();
    parallel_tasks(run, blocks * panels * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const std::size_t group = index / panels / blocks, filter = index / blocks % panels * nr;
      const std::size_t first = index % blocks * block_, last = std::min(first + block_, tiles_);
      kernels::winograd_results(method_, args(conv, group), first, last,
                                inputs + group * input_floats_ + first * method_.tile_floats(), filter,
                                std::min(filter + nr, problem_.filters), conv.workspace + scratch_at_ + worker * scratch_);
    });
  }

  void run_blocks(const StepRun& run, const ConvRun& conv) const {
    const std::size_t blocks = this->blocks();
    parallel_tasks(run, blocks * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const kernels::ConvArgs part = args(conv, index / blocks);
      const std::size_t first = index % blocks * block_, last = std::min(first + block_, tiles_);
      std::byte* scratch = conv.workspace + worker * scratch_;
      auto* inputs = reinterpret_cast<float*>(scratch);
      scratch += align_up(block_ * method_.tile_floats() * sizeof(float));
      kernels::winograd_inputs(method_, part, first, last, inputs);
      kernels::winograd_results(method_, part, first, last, inputs, 0, problem_.filters, scratch);
    });
  }

  ConvProblem problem_;
  kernels::Winograd method_;
  const kernels::ConvKernel& taps_ = kernels::conv_kernel(active_isa());
  AlignedBuffer zeros_;
  std::size_t group_floats_ = 0, input_floats_ = 0;  // of one group
  std::size_t tiles_ = 0, block_ = 1;                // block_: tiles at a time
  bool shared_ = false;
  std::size_t scratch_at_ = 0, scratch_ = 0;  // bytes; scratch_ per worker
};

}  // namespace

std::string winograd_verdict(const ConvProblem& problem) {
  if (!kernels::winograd_fits(problem.geometry)) return "Winograd's method wants 3×3 taps side by side and stride 1";
  const auto in_millions = [](double count) {
    const long tenths = std::lround(count / 1e5);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " M";
  };
  return "an image costs " + in_millions(winograd_cost(winograd_method(problem, 4))) +
         " multiply-adds by Winograd's method with 4×4 tiles, " + in_millions(winograd_cost(winograd_method(problem, 2))) +
         " with 2×2, transforms included, and " + in_millions(direct_cost(problem)) + " directly";
}

std::unique_ptr<ConvWay> winograd_conv(const ConvProblem& problem, std::ptrdiff_t tile, std::size_t threads) {
  if (!kernels::winograd_fits(problem.geometry)) return nullptr;
  return std::make_unique<WinogradConv>(problem, winograd_method(problem, tile), threads);
}

std::vector<ConvEstimate> conv_estimates(const ConvProblem& problem) {
  std::vector<ConvEstimate> estimates = {{"indirect", 0, direct_cost(problem)}};
  if (kernels::winograd_fits(problem.geometry)) {
    estimates.push_back({"winograd_4x4", 4, winograd_cost(winograd_method(problem, 4))});
    estimates.push_back({"winograd_2x2", 2, winograd_cost(winograd_method(problem, 2))});
  }
  std::ranges::stable_sort(estimates, {}, &ConvEstimate::cost);
  return estimates;
}

}  // namespace jitney::cpu
