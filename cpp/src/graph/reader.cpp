// Reads a .jny file: container, sections, cross checks.
#include "graph/reader.h"

#include <algorithm>

#include "base/crc32.h"
#include "graph/byte_reader.h"
#include "graph/container.h"
#include "graph/graph_section.h"
#include "graph/structure.h"

namespace jitney {

ModelGraph read_model(const MappedFile& file) {
  const Sections sections = read_container(file.bytes());
  ModelGraph model = read_graph_section(sections.graph, sections.weights);
  model.metadata = read_metadata_section(sections.metadata);
  check_structure(model);
  return model;
}

namespace {

/// The values that a byte of a type narrower than one may have.
struct ByteRange {
  int least;
  int most;
  bool is_signed;
};

ByteRange byte_range(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
      return {0, 1, false};
    case DType::uint4:
    case DType::float4e2m1:
      return {0, 15, false};
    case DType::int4:
      return {-8, 7, true};
    case DType::uint2:
      return {0, 3, false};
    case DType::int2:
      return {-2, 1, true};
    default:
      return {0, 255, false};
  }
}

}  // namespace

void verify_checksum(const Constant& constant) {
  const std::span<const std::byte> bytes(constant.data, static_cast<std::size_t>(constant.bytes));
  const std::string name =
      "weights section: the " + std::string(to_string(constant.dtype)) + " constant of shape " + to_string(constant.shape);
  if (crc32(bytes) != constant.checksum) fail_invalid(name + " does not match its checksum");
  const ByteRange range = byte_range(constant.dtype);
  if (size_of(constant.dtype) > 1 || range.most == 255) return;
  const bool valid = std::all_of(bytes.begin(), bytes.end(), [range](std::byte b) {
    const int value = range.is_signed ? static_cast<std::int8_t>(b) : static_cast<int>(b);
    return value >= range.least && value <= range.most;
  });
  if (!valid) {
    fail_invalid(name + " holds a value outside " + std::to_string(range.least) + " … " + std::to_string(range.most));
  }
}

}  // namespace jitney
