// Convolution in float32: the step around the ways that there are to compute one (conv_way.h).
#pragma once

#include <memory>
#include <span>

#include "cpu/conv_way.h"
#include "cpu/op_table.h"
#include "cpu/packed_weight.h"
#include "cpu/staged_output.h"

namespace jitney::cpu {

/// Packs the weights, and binds epilogue and output of a run, for a convolution or a transposed one.
class ConvStep : public Step {
 public:
  ConvStep(const NodeRequest& node, PackCache& cache, std::unique_ptr<ConvWay> way);
  void run(const StepRun& run) const override;
  std::string why() const override { return way_->why(); }

 private:
  NodeRequest node_;
  StagedOutput output_;
  std::unique_ptr<ConvWay> way_;
  kernels::Epilogue epilogue_;
  PackedWeight packed_;
  std::size_t pack_at_ = 0;
};

std::span<const FastOp> conv_steps() noexcept;

}  // namespace jitney::cpu
