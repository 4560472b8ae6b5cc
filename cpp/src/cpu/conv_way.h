// One way to compute a float32 convolution: the interface behind a conv step, and the ways that there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/kernels/conv/conv.h"
#include "plan/backend.h"

namespace jitney::cpu {

/// A convolution with all that is known at plan time. Which way computes it follows from its shape per item, its strides and its
/// weights alone, never from the batch or the number of threads.
struct ConvProblem {
  kernels::ConvGeometry geometry;
  std::size_t groups = 1, channels = 0, filters = 0;   // channels and filters of one group
  std::int64_t filter_stride = 0, channel_stride = 0;  // of the weights, in elements
  kernels::Spatial tap_stride{0, 0, 0};
  std::optional<std::int64_t> pixel_stride;  // between the input's pixels, batch included, if they are evenly spaced
  bool no_padding = false;                   // neither at the beginning nor at the end of any axis
  bool may_keep = false;                     // weights may be kept in forms of several times their bytes

  /// All groups' weights, of which `source` is the first element.
  kernels::FilterWeights weights(const float* source) const noexcept {
    return {source, filter_stride, channel_stride, tap_stride};
  }
  /// Rough cost of all products.
  double nanoseconds() const;
};

/// The problem of a node that is_plain_conv() took and whose input has pixel strides.
ConvProblem conv_problem(const NodeRequest& node);

/// Addresses of one run.
struct ConvRun {
  const float* x = nullptr;
  const float* weights = nullptr;  // packed
  float* y = nullptr;
  std::int64_t y_stride = 0;  // between pixels
  kernels::Epilogue epilogue;
  std::byte* workspace = nullptr;  // 64-byte aligned
};

class ConvWay {
 public:
  virtual ~ConvWay() = default;
  /// All groups. `packed` has packed_floats places, which may hold anything.
  virtual void pack(const float* source, float* packed) const = 0;
  virtual void run(const StepRun& run, const ConvRun& conv) const = 0;
  /// See Step::why().
  virtual std::string why() const = 0;

  std::string kernel;
  std::string packing;  // names the layout of the packed weights: ways that share it share the bytes
  std::size_t packed_floats = 0;
  std::size_t workspace = 0;  // bytes
};

bool is_depthwise(const ConvProblem& problem) noexcept;
bool is_pointwise(const ConvProblem& problem) noexcept;

/// Each gives the way, or null where it does not fit. The last always fits. `wanted`: the kernel by its name, if it can be had.
std::unique_ptr<ConvWay> depthwise_conv(const ConvProblem& problem, std::size_t threads, std::string_view wanted = {});
std::unique_ptr<ConvWay> pointwise_conv(const ConvProblem& problem, std::size_t threads, std::string_view wanted = {});
/// With tiles of tile×tile results: 4 or 2. Transformed weights are kept, or made in each run.
std::unique_ptr<ConvWay> winograd_conv(const ConvProblem& problem, std::ptrdiff_t tile, bool kept, std::size_t threads);
std::unique_ptr<ConvWay> indirect_conv(const ConvProblem& problem, std::size_t threads);

/// The ways of transposed convolutions, whose problem has the transposed geometry; its input's pixels are evenly spaced. The
/// first two give null where they do not fit: windows that do not overlap, and one filter per channel. The last always fits.
std::unique_ptr<ConvWay> transposed_blocks(const ConvProblem& problem, std::size_t threads);
std::unique_ptr<ConvWay> transposed_depthwise(const ConvProblem& problem, std::size_t threads);
std::unique_ptr<ConvWay> transposed_sums(const ConvProblem& problem, std::size_t threads);

/// What an image is expected to cost, in multiply-adds at full speed, transforms included.
struct ConvEstimate {
  std::string_view way;     // "winograd_4x4", "winograd_2x2", with "_kept" behind if the problem allows it, or "indirect"
  std::ptrdiff_t tile = 0;  // Winograd's
  bool kept = false;        // its transformed weights
  double cost = 0;
};
/// All ways that fit a convolution which is neither pointwise nor depthwise; the one expected to be the fastest comes first.
std::vector<ConvEstimate> conv_estimates(const ConvProblem& problem);
/// What decides between Winograd's method and the products as they stand, in words.
std::string winograd_verdict(const ConvProblem& problem);
/// "3×3 stride 2 on 1×56×56, 64 to 128 channels": all that decides between ways, without the batch.
std::string conv_work(const ConvProblem& problem);
/// "[pixels×depth]·[depth×filters]", and how often if there are groups.
std::string product_words(const ConvProblem& problem);
/// "3×3", without an axis of one tap that the author did not mean.
std::string tap_words(const kernels::ConvGeometry& geometry);

}  // namespace jitney::cpu
