// Memory aligned for every kernel and cache line, with a typed error instead of bad_alloc.
#pragma once

#include <cstddef>
#include <memory>

namespace jitney {

inline constexpr std::size_t kAlignment = 64;

/// Weights are read once per run, so a page table's cache misses are felt: from large pages a core reads memory a third faster.
/// Allocations of at least this size begin at such a page and ask the system for as many as they fill.
inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// `bytes` rounded up to a multiple of kAlignment; throws Error(out_of_memory) on overflow.
std::size_t align_up(std::size_t bytes);

/// At least one byte, not cleared. Throws Error(out_of_memory) naming the size; also for sizes beyond the machine's memory and
/// swap, which some systems would grant and then kill the process for using.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory) noexcept;

struct AlignedFree {
  void operator()(std::byte* memory) const noexcept { free_aligned(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte[], AlignedFree>;

inline AlignedBuffer make_aligned(std::size_t bytes) { return AlignedBuffer(static_cast<std::byte*>(allocate_aligned(bytes))); }

}  // namespace jitney
