// The graph and metadata sections of a .jny file, record by record.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "graph/graph.h"

namespace jitney {

/// Checks what each record shows by itself: counts, enums, ranks, indices, shape products, offsets into `weights`.
ModelGraph read_graph_section(std::span<const std::byte> section, std::span<const std::byte> weights);

std::map<std::string, std::string> read_metadata_section(std::span<const std::byte> section);

}  // namespace jitney
