// CRC-32 as zlib computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace jitney {

/// Of `bytes`, continuing from the checksum of what came before (0: nothing).
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t previous = 0) noexcept;

}  // namespace jitney
