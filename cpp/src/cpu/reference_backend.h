// The backend of plain kernels: every op through OpDef::compute. Slow, small, and what all others are checked against.
#pragma once

#include <memory>

#include "plan/backend.h"

namespace jitney {

/// Named "reference": takes inputs with any strides and writes row-major.
std::unique_ptr<Backend> make_reference_backend();

/// The layout and the step that it uses, for backends that fall back to them. The step takes outputs of any strides, too.
NodeLayout reference_layout(const NodeRequest& node);
std::unique_ptr<Step> reference_step(const NodeRequest& node);

}  // namespace jitney
