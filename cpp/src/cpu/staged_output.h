// An output whose pixels are evenly spaced, or a dense stand-in in the workspace that is copied afterwards.
#pragma once

#include <optional>

#include "base/aligned.h"
#include "cpu/kernels/copy/copy.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"

namespace jitney::cpu {

class StagedOutput {
 public:
  explicit StagedOutput(const Operand& output) {
    const auto uniform = uniform_pixel_stride(output.shape, output.strides);
    if (uniform && (*uniform >= output.shape[1] || output.shape[1] == 0)) {
      stride_ = *uniform;
      return;
    }
    stride_ = output.shape[1];
    const Shape dense = strides_for(output.shape, channels_last_order(output.shape.size()));
    copy_.emplace(output.shape, dense, output.strides, sizeof(float));
    bytes_ = static_cast<std::size_t>(output.shape.elements()) * sizeof(float);
  }

  /// Takes its part of a workspace that is `workspace` bytes long so far.
  void reserve(std::size_t& workspace) {
    if (!copy_) return;
    offset_ = workspace;
    workspace += align_up(bytes_);
  }

  /// Elements between neighbouring pixels at target().
  std::int64_t stride() const noexcept { return stride_; }
  float* target(const StepRun& run) const {
    if (!copy_) return static_cast<float*>(run.outputs[0]);
    return reinterpret_cast<float*>(static_cast<std::byte*>(run.workspace) + offset_);
  }
  void finish(const StepRun& run) const {
    if (!copy_) return;
    parallel_tasks(run, copy_->tasks(), static_cast<double>(copy_->elements()) * 0.5,
                   [&](std::size_t task, std::size_t) { copy_->run(target(run), run.outputs[0], task); });
  }

 private:
  std::int64_t stride_ = 0;
  std::optional<kernels::StridedCopy> copy_;
  std::size_t bytes_ = 0, offset_ = 0;
};

}  // namespace jitney::cpu
