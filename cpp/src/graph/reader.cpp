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

void verify_checksum(const Constant& constant) {
  const std::span<const std::byte> bytes(constant.data, static_cast<std::size_t>(constant.bytes));
  const std::string name =
      "weights section: the " + std::string(to_string(constant.dtype)) + " constant of shape " + to_string(constant.shape);
  if (crc32(bytes) != constant.checksum) fail_invalid(name + " does not match its checksum");
  if (constant.dtype == DType::boolean && std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
    fail_invalid(name + " holds a byte that is neither 0 nor 1");
  }
}

}  // namespace jitney
