// What holds between the records of a graph section, but shows in no single one.
#pragma once

#include "graph/graph.h"

namespace jitney {

/// Subgraphs may nest this deep; code that walks them recursively relies on it.
inline constexpr std::size_t kMaxGraphDepth = 64;

/// Definitions, topological order, states, names, quantisation, nesting. Values that are constants get the dtype and shape of
/// their constant where the file leaves them open. Throws Error(invalid_model).
void check_structure(ModelGraph& model);

}  // namespace jitney
