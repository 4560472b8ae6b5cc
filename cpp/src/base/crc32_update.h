// The ways to compute a CRC-32. All take and give the running remainder, whose bits crc32() inverts before and after.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jitney {

using Crc32Update = std::uint32_t(std::uint32_t crc, const unsigned char* bytes, std::size_t count) noexcept;

Crc32Update update_crc32_tables;
Crc32Update update_crc32_pclmul;  // x86 with PCLMULQDQ
Crc32Update update_crc32_armcrc;  // ARM with the CRC extension

}  // namespace jitney
