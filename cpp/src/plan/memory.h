// Places buffers with known lifetimes in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace jitney {

struct Lifetime {
  std::uint64_t bytes = 0;
  std::size_t first = 0;  // step that writes it
  std::size_t last = 0;   // last step that reads it, included
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  // multiples of kArenaAlignment, by buffer
  std::uint64_t bytes = 0;
  std::string_view strategy;
};

inline constexpr std::uint64_t kArenaAlignment = 64;

/// The smallest arena that the strategies find: buffers placed by size, by breadth (the fullest step first), or in order of
/// birth, each in the tightest gap among the buffers that live at the same time; then by swaps in the best of these orders, if it
/// is more than 2% above the lower bound.
MemoryPlan plan_memory(std::span<const Lifetime> buffers);

/// Bytes live at the fullest step: no arena can be smaller.
std::uint64_t memory_lower_bound(std::span<const Lifetime> buffers);

}  // namespace jitney
