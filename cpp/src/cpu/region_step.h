// Data movement as a list of strided copies.
#pragma once

#include "cpu/op_table.h"

namespace jitney::cpu {

/// Ops whose OpDef has a regions rule. Returns null where the regions are not known before the run, or not for these strides.
std::optional<NodeLayout> region_layout(const NodeRequest& node);
std::unique_ptr<Step> region_step(const NodeRequest& node);

}  // namespace jitney::cpu
