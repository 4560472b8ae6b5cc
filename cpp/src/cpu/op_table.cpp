// Joins the lists of the step files.
#include "cpu/op_table.h"

namespace jitney::cpu {

const FastOp* find_fast_op(std::string_view op) noexcept {
  static_cast<void>(op);
  return nullptr;
}

}  // namespace jitney::cpu
