// Feeds arbitrary bytes to the .jny reader: an Error(invalid_model) or a model whose constants lie inside the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "graph/file_builder.h"
#include "graph/reader.h"
#include "jitney/error.h"

namespace {

using namespace jitney;

void read(std::span<const std::byte> bytes) {
  const auto file = MappedFile::copy(bytes);
  try {
    const ModelGraph model = read_model(*file);
    for (const Constant& constant : model.constants) {
      try {
        verify_checksum(constant);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_model) std::abort();
      }
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_model) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  // What does not start as a file is a graph section: there, sizes may change without breaking the container around it.
  if (size == 0 || data[0] == 0x89) {
    read(bytes);
  } else {
    read(testing::write_container(
        {{1, 0, {bytes.begin(), bytes.end()}}, {2, 0, std::vector<std::byte>(4)}, {3, 0, std::vector<std::byte>(1024)}}));
  }
  return 0;
}
