// Reads a .jny file (docs/format.md) into a ModelGraph, trusting nothing in it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mapped_file.h"
#include "graph/graph.h"

namespace jitney {

inline constexpr std::uint32_t kFormatVersion = 1;

/// Checks the container (magic, versions, sizes, section checksums) and every count, offset, enum, index and shape product of
/// the graph section; then what no single record shows: topological order, one definition per value, subgraphs that nest
/// without cycles, constants inside the weights section. Does not look at ops' schemas (ops/ does) nor at weight bytes.
/// The constants point into `file`, which must outlive the result. Throws Error(invalid_model) saying which section and why.
ModelGraph read_model(const MappedFile& file);

/// Throws Error(invalid_model) if a constant's bytes do not match its checksum, or are neither 0 nor 1 in a bool. Apart from
/// read_model(), so that loading does not touch the weights.
void verify_checksum(const Constant& constant);

}  // namespace jitney
