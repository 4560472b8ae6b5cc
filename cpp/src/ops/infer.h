// Applies the shape rules to a whole graph, with symbols where the author left dims open.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "ops/op.h"

namespace jitney {

/// Where a rule finds that shapes contradict each other: throw Error(invalid_model), naming the node; or, in graphs that may
/// never run, forget the shapes that the node was given, so that its results have dtypes at least.
enum class OnContradiction : std::uint8_t { fail, forget };

/// Facts of every value of graph `index`, given its inputs' (indexed like Graph::values). Unknown stays unknown.
std::vector<Facts> infer_graph(const ModelGraph& model, std::uint32_t index, std::span<const Facts> inputs,
                               OnContradiction contradiction = OnContradiction::fail);

/// The same for the main graph with its inputs as declared in the file.
std::vector<Facts> infer_model(const ModelGraph& model, OnContradiction contradiction = OnContradiction::fail);

}  // namespace jitney
