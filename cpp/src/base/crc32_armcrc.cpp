// CRC-32 by ARM's instructions for it.
#include <arm_acle.h>

#include <cstring>

#include "base/crc32_update.h"

namespace jitney {

std::uint32_t update_crc32_armcrc(std::uint32_t crc, const unsigned char* bytes, std::size_t count) noexcept {
  for (; count >= 8; count -= 8, bytes += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    crc = __crc32d(crc, word);
  }
  for (; count > 0; --count, ++bytes) crc = __crc32b(crc, *bytes);
  return crc;
}

}  // namespace jitney
