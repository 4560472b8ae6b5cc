// Checks header and section table of a .jny file and finds its sections.
#include "graph/container.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/crc32.h"
#include "graph/byte_reader.h"
#include "graph/reader.h"
#include "jitney/error.h"

namespace jitney {

namespace {

constexpr std::array<unsigned char, 8> kMagic = {0x89, 'J', 'N', 'Y', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kHeaderBytes = 64, kEntryBytes = 32, kSectionAlignment = 64;

// A fuzzer cannot guess checksums; its build looks behind them.
#if defined(JITNEY_FUZZING)
constexpr bool kCheckSums = false;
#else
constexpr bool kCheckSums = true;
#endif

enum class Kind : std::uint32_t { graph = 1, metadata = 2, weights = 3 };

struct Entry {
  std::uint32_t kind;
  std::uint32_t checksum;
  std::uint64_t offset;
  std::uint64_t size;
};

struct Header {
  std::uint32_t version;
  std::uint32_t sections;
  std::uint32_t table_checksum;
};

std::string section_name(std::uint32_t kind) {
  switch (static_cast<Kind>(kind)) {
    case Kind::graph:
      return "graph section";
    case Kind::metadata:
      return "metadata section";
    case Kind::weights:
      return "weights section";
  }
  return "section of kind " + std::to_string(kind);
}

void check_magic(std::span<const std::byte> file) {
  const auto same = [&file](std::size_t from, std::size_t to) {
    return file.size() >= to && std::equal(kMagic.begin() + from, kMagic.begin() + to, file.begin() + from,
                                           [](unsigned char a, std::byte b) { return std::byte{a} == b; });
  };
  if (same(0, kMagic.size())) return;
  if (file.empty()) fail_invalid("header: the file is empty");
  if (same(0, std::min(file.size(), kMagic.size())))
    fail_invalid("header: the file ends after " + std::to_string(file.size()) + " bytes");
  if (same(0, 4) || same(1, 4)) {
    throw Error(ErrorCode::invalid_model,
                "header: the line ends of this Jitney model were changed, as a transfer in text mode does",
                "copy the file again in binary mode");
  }
  throw Error(ErrorCode::invalid_model, "header: this is not a Jitney model (it does not start with the .jny magic number)",
              "give a .jny file; `jitney convert model.onnx -o model.jny` makes one from an ONNX model");
}

/// True if all bytes are zero. Newer writers may use what is reserved now, so this is asked of files of known versions only.
bool is_zero(std::span<const std::byte> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

Header read_header(std::span<const std::byte> file) {
  check_magic(file);
  if (file.size() < kHeaderBytes) fail_invalid("header: the file ends after " + std::to_string(file.size()) + " bytes");
  ByteReader reader(file.subspan(kMagic.size(), kHeaderBytes - kMagic.size()), "header");
  Header header{};
  header.version = reader.integer<std::uint32_t>();
  const auto oldest = reader.integer<std::uint32_t>();
  if (oldest > kFormatVersion) {
    throw Error(ErrorCode::invalid_model,
                "header: the file has format version " + std::to_string(header.version) + " and needs a reader of version " +
                    std::to_string(oldest) + ", but this is one of version " + std::to_string(kFormatVersion),
                "upgrade jitney on this device, or convert the model with the version of jitney that is installed here");
  }
  if (oldest == 0 || header.version < oldest) {
    reader.fail("format version " + std::to_string(header.version) + " with oldest reader " + std::to_string(oldest) +
                " makes no sense");
  }
  header.sections = reader.integer<std::uint32_t>();
  const auto reserved = reader.integer<std::uint32_t>();
  const auto size = reader.integer<std::uint64_t>();
  if (size > file.size()) {
    reader.fail("the file is truncated: it should have " + std::to_string(size) + " bytes but has " +
                std::to_string(file.size()));
  }
  if (size < file.size()) {
    reader.fail(std::to_string(file.size() - size) + " bytes follow the end of the model");
  }
  header.table_checksum = reader.integer<std::uint32_t>();
  if (header.version <= kFormatVersion && (reserved != 0 || !is_zero(file.subspan(36, 28)))) {
    reader.fail("a reserved field is not zero");
  }
  if (header.sections > (file.size() - kHeaderBytes) / kEntryBytes) {
    reader.fail("it claims " + std::to_string(header.sections) + " sections, more than the file can hold");
  }
  return header;
}

std::vector<Entry> read_table(std::span<const std::byte> file, const Header& header) {
  const auto table = file.subspan(kHeaderBytes, header.sections * kEntryBytes);
  if (kCheckSums && crc32(table) != header.table_checksum) fail_invalid("section table: its checksum does not match");
  ByteReader reader(table, "section table");
  std::vector<Entry> entries;
  entries.reserve(header.sections);
  for (std::uint32_t i = 0; i < header.sections; ++i) {
    Entry entry{};
    entry.kind = reader.integer<std::uint32_t>();
    entry.checksum = reader.integer<std::uint32_t>();
    entry.offset = reader.integer<std::uint64_t>();
    entry.size = reader.integer<std::uint64_t>();
    const auto reserved = reader.integer<std::uint64_t>();
    if (header.version <= kFormatVersion && reserved != 0)
      reader.fail("a reserved field of entry " + std::to_string(i) + " is not zero");
    entries.push_back(entry);
  }
  return entries;
}

void check_layout(std::span<const std::byte> file, const std::vector<Entry>& entries) {
  std::size_t end = kHeaderBytes + entries.size() * kEntryBytes;
  for (const Entry& entry : entries) {
    const std::string name = section_name(entry.kind);
    if (entry.offset % kSectionAlignment != 0) {
      fail_invalid("section table: the " + name + " starts at " + std::to_string(entry.offset) + ", which is no multiple of 64");
    }
    if (entry.offset < end) fail_invalid("section table: the " + name + " overlaps what stands before it");
    if (entry.offset > file.size() || entry.size > file.size() - entry.offset) {
      fail_invalid("section table: the " + name + " reaches beyond the end of the file");
    }
    if (!is_zero(file.subspan(end, entry.offset - end)))
      fail_invalid("section table: the gap before the " + name + " is not zero");
    end = static_cast<std::size_t>(entry.offset + entry.size);
  }
  if (end != file.size()) fail_invalid("section table: " + std::to_string(file.size() - end) + " bytes follow the last section");
  std::vector<std::uint32_t> kinds;
  for (const Entry& entry : entries) kinds.push_back(entry.kind);
  std::sort(kinds.begin(), kinds.end());
  const auto twice = std::adjacent_find(kinds.begin(), kinds.end());
  if (twice != kinds.end()) fail_invalid("section table: there are two of the " + section_name(*twice));
}

}  // namespace

Sections read_container(std::span<const std::byte> file) {
  const Header header = read_header(file);
  const std::vector<Entry> entries = read_table(file, header);
  check_layout(file, entries);
  const auto find = [&](Kind kind) -> const Entry* {
    const auto entry = std::find_if(entries.begin(), entries.end(), [kind](const Entry& candidate) {
      return candidate.kind == static_cast<std::uint32_t>(kind);
    });
    return entry != entries.end() ? &*entry : nullptr;
  };
  const auto part = [&](const Entry& entry) {
    return file.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
  };
  const auto checked = [&](Kind kind) {
    const std::string name = section_name(static_cast<std::uint32_t>(kind));
    const Entry* entry = find(kind);
    if (entry == nullptr) fail_invalid("section table: there is no " + name);
    if (kCheckSums && crc32(part(*entry)) != entry->checksum) fail_invalid(name + ": its checksum does not match");
    return part(*entry);
  };
  Sections sections;
  sections.graph = checked(Kind::graph);
  sections.metadata = checked(Kind::metadata);
  if (const Entry* weights = find(Kind::weights)) {
    if (header.version <= kFormatVersion && weights->checksum != 0) {
      fail_invalid("section table: the weights section has a checksum of its own, which must be 0");
    }
    sections.weights = part(*weights);
  } else {
    sections.weights = file.last(0);
  }
  return sections;
}

}  // namespace jitney
