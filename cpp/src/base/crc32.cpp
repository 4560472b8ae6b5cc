// CRC-32 as zlib computes it: by the processor's own instructions where it has them, else by tables, eight bytes per step.
#include "base/crc32.h"

#include <array>

#include "base/crc32_update.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace jitney {

namespace {

constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

/// Carry-less products fold 64 bytes at a time; ARM has an instruction for eight bytes of this very polynomial.
Crc32Update* fastest_update() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) return update_crc32_pclmul;
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kCrc32 = 1ul << 7;  // HWCAP_CRC32
  if ((getauxval(AT_HWCAP) & kCrc32) != 0) return update_crc32_armcrc;
#endif
  return update_crc32_tables;
}

}  // namespace

std::uint32_t update_crc32_tables(std::uint32_t crc, const unsigned char* p, std::size_t left) noexcept {
  for (; left >= kSlices; left -= kSlices, p += kSlices) {
    const std::uint32_t low = crc ^ (p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24);
    crc = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^ kTables[4][low >> 24] ^
          kTables[3][p[4]] ^ kTables[2][p[5]] ^ kTables[1][p[6]] ^ kTables[0][p[7]];
  }
  for (; left > 0; --left, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xff];
  return crc;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous) noexcept {
  static Crc32Update* const update = fastest_update();
  return ~update(~previous, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace jitney
