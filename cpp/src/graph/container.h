// The outer frame of a .jny file: header, section table, checksums.
#pragma once

#include <cstddef>
#include <span>

namespace jitney {

/// Parts of a file, borrowed from it.
struct Sections {
  std::span<const std::byte> graph;
  std::span<const std::byte> metadata;
  std::span<const std::byte> weights;  // empty if the file has none
};

/// Checks everything that docs/format.md says of the container; the bytes of weights are not read.
Sections read_container(std::span<const std::byte> file);

}  // namespace jitney
