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

constexpr std::ptrdiff_t kTiles[] = {4, 2};

/// What reading a float of kept weights takes, in multiply-adds: as much as two dozen tiles have to do with it hides that they
/// stream from memory in each run. Measured on x86; for NEON there are instructions to go by, which take no notice.
double streaming_cost(const kernels::WinogradKernel& kernel, double tiles) {
  return kernel.isa == Isa::neon ? 0 : std::max(0.0, 7 - tiles / 7);
}

/// What an image costs, in multiply-adds at full speed, with the factors that were measured for AVX2, AVX-512 and (in
/// instructions) NEON.
double direct_cost(const ConvProblem& problem) {
  constexpr double kSlack = 1.06;
  const double pixels = static_cast<double>(problem.geometry.output[1]) * static_cast<double>(problem.geometry.output[2]);
  return kSlack * pixels * 9 * static_cast<double>(problem.channels) * static_cast<double>(problem.filters);
}

kernels::Winograd winograd_method(const ConvProblem& problem, std::ptrdiff_t tile, bool kept) {
  return {&kernels::winograd_kernel(active_isa(), tile),
          kernels::conv_kernel(active_isa()).gemm,
          problem.geometry,
          problem.channels,
          problem.filters,
          kept};
}

double winograd_cost(kernels::Winograd image) {
  struct Transforms {
    double input, output, weights;  // per channel, filter, and pair of both
  };
  Transforms cost = image.kernel->tile == 4 ? Transforms{260, 280, 150} : Transforms{130, 90, 60};
  constexpr double kSlack = 1.06;
  const double call = 150.0 * static_cast<double>(image.kernel->lanes);  // of starting and ending a register tile
  image.geometry.batch = 1;
  const auto padded = [](std::size_t count, std::size_t unit) {
    const std::size_t units = (count + unit - 1) / unit;
    return static_cast<double>(units * unit);
  };
  const std::size_t nr = image.gemm->nr;
  const double tiles = static_cast<double>(image.tiles()), points = static_cast<double>(image.kernel->points());
  if (image.kept) cost.weights = points * streaming_cost(*image.kernel, tiles);
  const double channels = static_cast<double>(image.channels), filters = padded(image.filters, image.kernel->lanes);
  const double panels = padded(image.filters, nr) / static_cast<double>(nr);
  const double blocks = padded(image.channels, image.channel_block()) / static_cast<double>(image.channel_block());
  const double groups = static_cast<double>(kernels::RowGroups(image.tiles(), image.gemm->mr).count);
  return points * (kSlack * tiles * channels * filters + groups * panels * blocks * call) + cost.weights * channels * filters +
         tiles * (cost.input * padded(image.channels, image.kernel->lanes) + cost.output * filters);
}

std::string in_thousands(std::size_t bytes) { return std::to_string((bytes + 500) / 1000); }

class WinogradConv final : public ConvWay {
 public:
  WinogradConv(const ConvProblem& problem, const kernels::Winograd& method, std::size_t threads)
      : problem_(problem), method_(method), zeros_(make_aligned(problem.channels * sizeof(float))) {
    kernel = method.kernel->name;
    packing = method.kept ? taps_.name + ("/" + kernel) : taps_.name;
    group_floats_ = method.kept ? method.weight_floats()
                                : kernels::packed_conv_size(taps_, problem.geometry.taps(), problem.channels, problem.filters);
    packed_floats = group_floats_ * problem.groups;
    tiles_ = method.tiles();
    block_ = tiles_per_task(threads);
    block_floats_ = method.input_floats(block_);
    shared_ = problem.groups * blocks() * block_floats_ * sizeof(float) <= kSharedBytes;
    if (shared_) {
      scratch_at_ = align_up(problem.groups * blocks() * block_floats_ * sizeof(float));
      scratch_ = method.scratch(block_);
    } else {
      block_ = kernels::winograd_block(method, threads);
      block_floats_ = method.input_floats(block_);
      scratch_ = align_up(block_floats_ * sizeof(float)) + method.scratch(block_);
    }
    workspace = scratch_at_ + threads * scratch_;
    std::fill_n(reinterpret_cast<float*>(zeros_.get()), problem.channels, 0.0F);
  }

  void pack(const float* source, float* packed) const override {
    for (std::size_t group = 0; group < problem_.groups; ++group, packed += group_floats_) {
      const kernels::FilterWeights weights = problem_.weights(source).from(group * problem_.filters);
      if (method_.kept) {
        kernels::winograd_pack(method_, weights, packed);
      } else {
        kernels::pack_conv(taps_, problem_.geometry.kernel, problem_.channels, problem_.filters, weights, packed);
      }
    }
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    if (shared_) {
      run_filters(run, conv);
    } else {
      run_blocks(run, conv);
    }
  }

  std::string why() const override {
    if (!method_.kept) return winograd_verdict(problem_);
    return winograd_verdict(problem_) +
           "; transformed weights are kept, as speed is preferred to memory: " + in_thousands(packed_floats * sizeof(float)) +
           " kB, " + in_thousands(problem_.channels * problem_.filters * problem_.groups * 9 * sizeof(float)) + " before";
  }

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
  /// A block of a group's tiles, where the inputs of all lie together.
  kernels::WinogradTiles block(std::size_t group, std::size_t index, float* inputs) const {
    return {index * block_, std::min((index + 1) * block_, tiles_), inputs + (group * blocks() + index) * block_floats_};
  }

  /// All tiles, unless there are so few panels of filters that threads would be idle or wait for another's last one.
  std::size_t tiles_per_task(std::size_t threads) const {
    // Transforming the weights takes as long as multiplying them with so many tiles.
    const std::size_t weight_rows = method_.kept ? 1 : 4;
    std::size_t least = SIZE_MAX, best = 1;
    for (std::size_t cuts = 1; cuts <= threads; ++cuts) {
      const std::size_t tiles = std::max<std::size_t>(1, (tiles_ + cuts - 1) / cuts);
      const std::size_t rounds = (cuts * panels() * problem_.groups + threads - 1) / threads;
      const std::size_t cost = rounds * (tiles + weight_rows);
      if (cost >= least) continue;
      least = cost;
      best = tiles;
    }
    return best;
  }

  void run_filters(const StepRun& run, const ConvRun& conv) const {
    auto* inputs = reinterpret_cast<float*>(conv.workspace);
    const std::size_t nr = method_.gemm->nr, panels = this->panels(), blocks = this->blocks();
    const double input_cost = static_cast<double>(problem_.groups * blocks * block_floats_) * 0.5;
    parallel_tasks(run, tiles_ * problem_.groups, input_cost, [&](std::size_t index, std::size_t) {
      const std::size_t group = index / tiles_, tile = index % tiles_;
      kernels::winograd_inputs(method_, args(conv, group), block(group, tile / block_, inputs), tile, tile + 1);
    });
    parallel_tasks(run, blocks * panels * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const std::size_t group = index / panels / blocks, filter = index / blocks % panels * nr;
      kernels::winograd_results(method_, args(conv, group), block(group, index % blocks, inputs), filter,
                                std::min(filter + nr, problem_.filters), conv.workspace + scratch_at_ + worker * scratch_);
    });
  }

  void run_blocks(const StepRun& run, const ConvRun& conv) const {
    const std::size_t blocks = this->blocks();
    parallel_tasks(run, blocks * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const kernels::ConvArgs part = args(conv, index / blocks);
      std::byte* const scratch = conv.workspace + worker * scratch_;
      kernels::WinogradTiles tiles = block(0, index % blocks, nullptr);
      tiles.inputs = reinterpret_cast<float*>(scratch);
      kernels::winograd_inputs(method_, part, tiles, tiles.first, tiles.last);
      kernels::winograd_results(method_, part, tiles, 0, problem_.filters, scratch + align_up(block_floats_ * sizeof(float)));
    });
  }

  ConvProblem problem_;
  kernels::Winograd method_;
  const kernels::ConvKernel& taps_ = kernels::conv_kernel(active_isa());
  AlignedBuffer zeros_;
  std::size_t group_floats_ = 0;                          // of the weights of one group
  std::size_t tiles_ = 0, block_ = 1, block_floats_ = 0;  // block_: tiles at a time; the floats of their inputs
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
  std::string words = "an image costs ";
  for (const std::ptrdiff_t tile : kTiles) {
    words += in_millions(winograd_cost(winograd_method(problem, tile, false)));
    if (problem.may_keep)
      words += " (" + in_millions(winograd_cost(winograd_method(problem, tile, true))) + " with kept weights)";
    words += tile == 4 ? " multiply-adds by Winograd's method with 4×4 tiles, " : " with 2×2, transforms included, and ";
  }
  return words + in_millions(direct_cost(problem)) + " directly";
}

std::unique_ptr<ConvWay> winograd_conv(const ConvProblem& problem, std::ptrdiff_t tile, bool kept, std::size_t threads) {
  if (!kernels::winograd_fits(problem.geometry)) return nullptr;
  return std::make_unique<WinogradConv>(problem, winograd_method(problem, tile, kept), threads);
}

std::vector<ConvEstimate> conv_estimates(const ConvProblem& problem) {
  std::vector<ConvEstimate> estimates = {{"indirect", 0, false, direct_cost(problem)}};
  const auto add = [&](std::string_view way, std::ptrdiff_t tile, bool kept) {
    estimates.push_back({way, tile, kept, winograd_cost(winograd_method(problem, tile, kept))});
  };
  if (kernels::winograd_fits(problem.geometry)) {
    add("winograd_4x4", 4, false);
    add("winograd_2x2", 2, false);
    if (problem.may_keep) {
      add("winograd_4x4_kept", 4, true);
      add("winograd_2x2_kept", 2, true);
    }
  }
  std::ranges::stable_sort(estimates, {}, &ConvEstimate::cost);
  return estimates;
}

}  // namespace jitney::cpu
