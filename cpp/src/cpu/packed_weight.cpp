// Weights in a kernel's own layout.
#include "cpu/packed_weight.h"

namespace jitney::cpu {

PackedWeight::PackedWeight(const Operand& operand, PackCache& cache, const std::string& how, std::size_t floats,
                           const Pack& pack) {
  if (!operand.weight) return;
  const std::string key = std::to_string(operand.weight->id) + "/" + how;
  blob_ = cache.get(key, floats * sizeof(float), [&](void* packed) {
    pack(static_cast<const float*>(operand.weight->view().data), static_cast<float*>(packed));
    operand.weight->release();
  });
}

}  // namespace jitney::cpu
