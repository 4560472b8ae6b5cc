// Operands in words, for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitney/tensor.h"

namespace jitney {

/// Adds "name: float32[1, 3]"; of many operands only the first are said. dtype `undefined`: the operand was left out.
void add_operand_text(std::vector<std::string>& texts, std::string_view name, DType dtype, std::string_view shape);

}  // namespace jitney
