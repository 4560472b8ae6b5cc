// Weights in a kernel's own layout: packed once per model if constant, or for each run.
#pragma once

#include <functional>
#include <string>

#include "plan/backend.h"

namespace jitney::cpu {

class PackedWeight {
 public:
  /// Packs floats: pack(source, destination) with `floats` of them, zeroed before. `how` names the packing, kernel included.
  using Pack = std::function<void(const float* source, float* packed)>;

  PackedWeight() = default;
  /// Constant operands are packed now, unless the cache has them already, and their pages released.
  PackedWeight(const Operand& operand, PackCache& cache, const std::string& how, std::size_t floats, const Pack& pack);

  /// Null if the weights are not constant: then the step must pack them into its workspace.
  const float* data() const noexcept { return static_cast<const float*>(blob_.get()); }

 private:
  PackCache::Blob blob_;
};

}  // namespace jitney::cpu
