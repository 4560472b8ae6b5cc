// A damaged file is refused or gives a model that holds together; it never crashes. Run under sanitizers for its full worth.
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "graph/file_builder.h"
#include "graph/reader.h"
#include "graph/sample_model.h"
#include "jitney/error.h"

namespace {

using namespace jitney;
using namespace jitney::testing;

struct File {
  std::vector<std::byte> bytes;
  std::size_t graph_begin, graph_size, metadata_begin, metadata_size;
};

File sample_file() {
  ModelBuilder builder;
  build_sample(builder);
  File file;
  file.bytes = write_model(builder.model);
  const auto field = [&](std::size_t offset) {
    std::size_t value = 0;
    for (std::size_t i = 8; i-- > 0;) value = value << 8 | std::to_integer<std::size_t>(file.bytes[offset + i]);
    return value;
  };
  file.graph_begin = field(64 + 8);
  file.graph_size = field(64 + 16);
  file.metadata_begin = field(96 + 8);
  file.metadata_size = field(96 + 16);
  return file;
}

void repair_checksums(std::span<std::byte> bytes, const File& file) {
  patch(bytes, 64 + 4, crc32(bytes.subspan(file.graph_begin, file.graph_size)));
  patch(bytes, 96 + 4, crc32(bytes.subspan(file.metadata_begin, file.metadata_size)));
  patch(bytes, 32, crc32(bytes.subspan(64, 96)));
}

/// True if the bytes are a model. Every constant is touched, so that a wrong address shows.
bool is_model(std::span<const std::byte> bytes) {
  const auto file = MappedFile::copy(bytes);
  ModelGraph model;
  try {
    model = read_model(*file);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_model);
    return false;
  }
  for (const Constant& constant : model.constants) {
    try {
      verify_checksum(constant);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_model);
    }
  }
  return true;
}

TEST_CASE("a file cut off anywhere is refused") {
  const File file = sample_file();
  REQUIRE(is_model(file.bytes));
  for (std::size_t length = 0; length < file.bytes.size(); ++length) {
    CAPTURE(length);
    REQUIRE_FALSE(is_model(std::span(file.bytes).first(length)));
    if (length < 160) continue;
    std::vector<std::byte> cut(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(length));
    patch(cut, 24, std::uint64_t{length});  // the header now tells the true size, the table does not
    REQUIRE_FALSE(is_model(cut));
  }
}

TEST_CASE("a graph section cut off anywhere is refused") {
  const File file = sample_file();
  ModelBuilder builder;
  build_sample(builder);
  const std::vector<std::byte> graph = write_graph_section(builder.model), metadata(4);
  for (std::size_t length = 0; length < graph.size(); ++length) {
    const std::vector<std::byte> cut(graph.begin(), graph.begin() + static_cast<std::ptrdiff_t>(length));
    REQUIRE_FALSE(
        is_model(write_container({{1, crc32(cut), cut}, {2, crc32(metadata), metadata}, {3, 0, std::vector<std::byte>(4096)}})));
  }
}

TEST_CASE("a flipped bit in header, table, graph or metadata is noticed by a checksum or a check") {
  const File file = sample_file();
  std::vector<std::byte> bytes = file.bytes;
  const std::size_t end = file.metadata_begin + file.metadata_size;
  for (std::size_t i = 0; i < end; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= std::byte{1} << bit;
      CAPTURE(i);
      CAPTURE(bit);
      // A higher format version whose oldest reader is still this one reads the same.
      const bool version = i >= 8 && i < 12;
      if (!version) REQUIRE_FALSE(is_model(bytes));
      if (version) is_model(bytes);
      bytes[i] ^= std::byte{1} << bit;
    }
  }
}

TEST_CASE("any byte may change behind a right checksum") {
  const File file = sample_file();
  std::vector<std::byte> bytes = file.bytes;
  const std::size_t end = file.metadata_begin + file.metadata_size;
  std::size_t accepted = 0, tried = 0;
  for (std::size_t i = 8; i < end; ++i) {
    const std::byte kept = bytes[i];
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x7f, 0xff}) {
      bytes[i] = kept ^ static_cast<std::byte>(change);
      repair_checksums(bytes, file);
      accepted += is_model(bytes);
      ++tried;
    }
    bytes[i] = kept;
    repair_checksums(bytes, file);
  }
  CHECK(is_model(bytes));
  CHECK(accepted > 0);  // names, say, may be anything
  CHECK(accepted < tried);
}

TEST_CASE("any 32-bit word may become huge, zero or negative behind a right checksum") {
  const File file = sample_file();
  std::vector<std::byte> bytes = file.bytes;
  const std::size_t end = file.metadata_begin + file.metadata_size;
  for (std::size_t i = 64; i + 4 <= end; ++i) {
    const std::vector<std::byte> kept(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(i + 4));
    for (const std::uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      patch(bytes, i, value);
      repair_checksums(bytes, file);
      is_model(bytes);
    }
    std::copy(kept.begin(), kept.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  repair_checksums(bytes, file);
  CHECK(is_model(bytes));
}

}  // namespace
