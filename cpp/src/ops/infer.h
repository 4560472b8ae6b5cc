// Applies the shape rules to a whole graph, with symbols where the author left dims open.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "ops/op.h"

namespace jitney {

/// Facts of every value of graph `index`, given its inputs' (indexed like Graph::values). Unknown stays unknown.
/// Throws Error(invalid_model), naming the node, where a rule finds a contradiction.
std::vector<Facts> infer_graph(const ModelGraph& model, std::uint32_t index, std::span<const Facts> inputs);

/// The same for the main graph with its inputs as declared in the file.
std::vector<Facts> infer_model(const ModelGraph& model);

}  // namespace jitney
