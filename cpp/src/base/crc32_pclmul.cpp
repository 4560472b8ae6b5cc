// CRC-32 by carry-less products, after Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ" (Intel,
// 2009).
//
// The remainder of a long message does not change if a block is multiplied by x^distance mod P and added to the block that lies
// that distance further on. So 64 bytes at a time are folded into the next 64, then four blocks of 16 into one, whose remainder
// the tables give.
#include <immintrin.h>

#include "base/crc32_update.h"

namespace jitney {
namespace {

inline __m128i load(const unsigned char* bytes) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)); }

/// The block moved on by a distance: each of its halves times that power of x, mod P.
inline __m128i fold(__m128i block, __m128i powers) {
  return _mm_xor_si128(_mm_clmulepi64_si128(block, powers, 0x00), _mm_clmulepi64_si128(block, powers, 0x11));
}

}  // namespace

std::uint32_t update_crc32_pclmul(std::uint32_t crc, const unsigned char* bytes, std::size_t count) noexcept {
  constexpr std::size_t kStride = 64;
  if (count < kStride) return update_crc32_tables(crc, bytes, count);
  // Powers of x for each half of a block, bits reflected as in the message.
  const __m128i by_64_bytes = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by_16_bytes = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i b = load(bytes + 16);
  __m128i c = load(bytes + 32);
  __m128i d = load(bytes + 48);
  for (bytes += kStride, count -= kStride; count >= kStride; bytes += kStride, count -= kStride) {
    a = _mm_xor_si128(fold(a, by_64_bytes), load(bytes));
    b = _mm_xor_si128(fold(b, by_64_bytes), load(bytes + 16));
    c = _mm_xor_si128(fold(c, by_64_bytes), load(bytes + 32));
    d = _mm_xor_si128(fold(d, by_64_bytes), load(bytes + 48));
  }
  b = _mm_xor_si128(fold(a, by_16_bytes), b);
  c = _mm_xor_si128(fold(b, by_16_bytes), c);
  d = _mm_xor_si128(fold(c, by_16_bytes), d);
  for (; count >= 16; bytes += 16, count -= 16) d = _mm_xor_si128(fold(d, by_16_bytes), load(bytes));
  alignas(16) unsigned char last[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(last), d);
  return update_crc32_tables(update_crc32_tables(0, last, sizeof last), bytes, count);
}

}  // namespace jitney
