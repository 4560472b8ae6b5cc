// Checks what a caller passes to run() against what the model declares.
#pragma once

#include <span>
#include <vector>

#include "jitney/session.h"
#include "runtime/model_data.h"

namespace jitney {

/// Position of the name among the infos; throws Error(invalid_input) that lists the names there are and the closest one.
std::size_t find_by_name(std::span<const TensorInfo> infos, std::string_view name, const char* what);

/// The views in the model's order. Throws Error(invalid_input) for a wrong, missing or repeated name, dtype, rank or dim, and for
/// symbols that two inputs give different values.
std::vector<TensorView> check_inputs(const detail::ModelData& model, std::span<const NamedView> inputs);

/// Checks shapes alone, as check_inputs does.
void check_shapes(const detail::ModelData& model, std::span<const Shape> shapes);

}  // namespace jitney
