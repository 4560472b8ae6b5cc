// The inner loops of a strided copy.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace jitney::kernels {

/// An element as bytes alone: copies keep every bit pattern (signalling NaNs too).
template <std::size_t Bytes>
struct Element {
  unsigned char bytes[Bytes];
};

/// dst[j·dst_row + i] = src[i·src_row + j] for 4 × 4 elements of 4 bytes.
inline void transpose_4x4(const Element<4>* src, std::int64_t src_row, Element<4>* dst, std::int64_t dst_row) {
#if defined(__SSE2__)
  const auto load = [&](std::int64_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i * src_row)); };
  const auto store = [&](std::int64_t j, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + j * dst_row), v); };
  const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
  const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
  const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
  store(0, _mm_unpacklo_epi64(ab_low, cd_low));
  store(1, _mm_unpackhi_epi64(ab_low, cd_low));
  store(2, _mm_unpacklo_epi64(ab_high, cd_high));
  store(3, _mm_unpackhi_epi64(ab_high, cd_high));
#elif defined(__ARM_NEON)
  const auto load = [&](std::int64_t i) { return vreinterpretq_u32_u8(vld1q_u8(src[i * src_row].bytes)); };
  const auto store = [&](std::int64_t j, uint32x4_t v) { vst1q_u8(dst[j * dst_row].bytes, vreinterpretq_u8_u32(v)); };
  const uint32x4x2_t ab = vtrnq_u32(load(0), load(1)), cd = vtrnq_u32(load(2), load(3));
  store(0, vcombine_u32(vget_low_u32(ab.val[0]), vget_low_u32(cd.val[0])));
  store(1, vcombine_u32(vget_low_u32(ab.val[1]), vget_low_u32(cd.val[1])));
  store(2, vcombine_u32(vget_high_u32(ab.val[0]), vget_high_u32(cd.val[0])));
  store(3, vcombine_u32(vget_high_u32(ab.val[1]), vget_high_u32(cd.val[1])));
#else
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t i = 0; i < 4; ++i) {
      dst[j * dst_row + i] = src[i * src_row + j];
    }
  }
#endif
}

/// dst[j·dst_row + i] = src[i·src_row + j] for j < columns and i < rows, whichever is contiguous where.
template <std::size_t Bytes>
void transpose(const Element<Bytes>* src, std::int64_t src_row, Element<Bytes>* dst, std::int64_t dst_row, std::int64_t rows,
               std::int64_t columns) {
  constexpr std::int64_t kTile = 16;  // one cache line of 4-byte elements on both sides
  const auto plain = [&](std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
    for (std::int64_t j = j0; j < j1; ++j) {
      for (std::int64_t i = i0; i < i1; ++i) {
        dst[j * dst_row + i] = src[i * src_row + j];
      }
    }
  };
  for (std::int64_t j0 = 0; j0 < columns; j0 += kTile) {
    const std::int64_t j1 = j0 + kTile < columns ? j0 + kTile : columns;
    for (std::int64_t i0 = 0; i0 < rows; i0 += kTile) {
      const std::int64_t i1 = i0 + kTile < rows ? i0 + kTile : rows;
      // Reads leap from row to row, often into another page each: no processor fetches that ahead.
      for (std::int64_t i = i1; i < i1 + kTile && i < rows; ++i) __builtin_prefetch(src + i * src_row + j0);
      if constexpr (Bytes == 4) {
        const std::int64_t j4 = j0 + (j1 - j0) / 4 * 4, i4 = i0 + (i1 - i0) / 4 * 4;
        for (std::int64_t j = j0; j < j4; j += 4) {
          for (std::int64_t i = i0; i < i4; i += 4) {
            transpose_4x4(src + i * src_row + j, src_row, dst + j * dst_row + i, dst_row);
          }
        }
        plain(i4, i1, j0, j4);
        plain(i0, i1, j4, j1);
      } else {
        plain(i0, i1, j0, j1);
      }
    }
  }
}

/// Vectors of copies: compilers make none of a loop over structs.
template <std::size_t Bytes>
void fill_row(const Element<Bytes>& value, Element<Bytes>* dst, std::int64_t count) {
  constexpr std::int64_t kCopies = 64 / static_cast<std::int64_t>(Bytes);
  std::array<Element<Bytes>, kCopies> copies;
  copies.fill(value);
  for (; count >= kCopies; count -= kCopies, dst += kCopies) std::memcpy(dst, copies.data(), sizeof copies);
  std::memcpy(dst, copies.data(), static_cast<std::size_t>(count) * Bytes);
}

template <std::size_t Bytes>
void copy_strided_row(const Element<Bytes>* src, std::int64_t src_stride, Element<Bytes>* dst, std::int64_t dst_stride,
                      std::int64_t count) {
  if (src_stride == 0) {
    const Element<Bytes> value = *src;
    if (dst_stride == 1) return fill_row(value, dst, count);
    for (std::int64_t i = 0; i < count; ++i) {
      dst[i * dst_stride] = value;
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    dst[i * dst_stride] = src[i * src_stride];
  }
}

/// Rows of a few elements cost less inline than through a call to memcpy.
inline void copy_row(const void* src, void* dst, std::size_t bytes) {
  if (bytes == 4) {
    std::memcpy(dst, src, 4);
  } else if (bytes == 8) {
    std::memcpy(dst, src, 8);
  } else {
    std::memcpy(dst, src, bytes);
  }
}

}  // namespace jitney::kernels
