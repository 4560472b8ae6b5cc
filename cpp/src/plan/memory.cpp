// Greedy arena planning in three orders and, where a gap to the lower bound remains, in orders near the best of them.
#include "plan/memory.h"

#include <algorithm>
#include <numeric>

#include "jitney/error.h"

namespace jitney {
namespace {

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Bytes live at each step.
std::vector<std::uint64_t> breadth(std::span<const Lifetime> buffers) {
  std::size_t steps = 0;
  for (const Lifetime& buffer : buffers) steps = std::max(steps, buffer.last + 1);
  std::vector<std::uint64_t> change(steps + 1, 0);  // wraps around below zero, and back when summed
  for (const Lifetime& buffer : buffers) {
    change[buffer.first] += aligned(buffer.bytes);
    change[buffer.last + 1] -= aligned(buffer.bytes);
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  return change;
}

/// Places buffers one by one, each in the smallest gap that holds it, else at the end.
MemoryPlan place(std::span<const Lifetime> buffers, const std::vector<std::size_t>& order, std::string_view strategy) {
  MemoryPlan plan{std::vector<std::uint64_t>(buffers.size(), 0), 0, strategy};
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t id : order) {
    const std::uint64_t bytes = aligned(buffers[id].bytes);
    if (bytes == 0) continue;
    std::uint64_t end = 0, best = 0, best_gap = UINT64_MAX;
    for (const std::size_t other : placed) {
      if (!overlap(buffers[id], buffers[other])) continue;
      const std::uint64_t start = plan.offsets[other];
      if (start > end && start - end >= bytes && start - end < best_gap) {
        best = end;
        best_gap = start - end;
      }
      end = std::max(end, start + aligned(buffers[other].bytes));
    }
    plan.offsets[id] = best_gap == UINT64_MAX ? end : best;
    plan.bytes = std::max(plan.bytes, plan.offsets[id] + bytes);
    placed.insert(std::ranges::upper_bound(placed, plan.offsets[id], {}, [&](std::size_t i) { return plan.offsets[i]; }), id);
  }
  return plan;
}

/// Tries orders that differ from the best one by a swap, keeping those that are no worse. A fixed sequence of swaps: the same
/// plan for the same buffers, always.
void climb(std::span<const Lifetime> buffers, std::vector<std::size_t> order, std::uint64_t bound, MemoryPlan& best) {
  constexpr int kSwaps = 60;
  constexpr std::size_t kMostBuffers = 400;  // a placement takes time by the square of their number
  if (order.size() > kMostBuffers) return;
  std::uint32_t random = 1;
  const auto draw = [&] {
    random = random * 1664525 + 1013904223;
    return static_cast<std::size_t>((std::uint64_t{random} * order.size()) >> 32);
  };
  for (int i = 0; i < kSwaps && best.bytes > bound; ++i) {
    const std::size_t a = draw(), b = draw();
    std::swap(order[a], order[b]);
    if (MemoryPlan plan = place(buffers, order, "climbed"); plan.bytes <= best.bytes) {
      if (plan.bytes < best.bytes) best = std::move(plan);
    } else {
      std::swap(order[a], order[b]);
    }
  }
}

}  // namespace

std::uint64_t memory_lower_bound(std::span<const Lifetime> buffers) {
  const std::vector<std::uint64_t> live = breadth(buffers);
  return live.empty() ? 0 : *std::ranges::max_element(live);
}

MemoryPlan plan_memory(std::span<const Lifetime> buffers) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t total = 0;
  for (const Lifetime& buffer : buffers) {
    total = buffer.bytes >= kMost || total >= kMost ? kMost : total + aligned(buffer.bytes);
  }
  if (total >= kMost)
    throw Error(ErrorCode::out_of_memory, "the intermediate results of these input shapes exceed the address space",
                "run with smaller inputs");

  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});

  std::vector<std::size_t> by_size = order;
  std::ranges::stable_sort(by_size, std::greater<>{}, [&](std::size_t i) { return buffers[i].bytes; });

  const std::vector<std::uint64_t> live = breadth(buffers);
  const std::uint64_t bound = live.empty() ? 0 : *std::ranges::max_element(live);
  MemoryPlan best = place(buffers, by_size, "by_size");
  if (best.bytes == bound) return best;

  std::vector<std::uint64_t> fullest(buffers.size(), 0);
  for (const std::size_t i : order)
    for (std::size_t step = buffers[i].first; step <= buffers[i].last; ++step) fullest[i] = std::max(fullest[i], live[step]);
  std::vector<std::size_t> by_breadth = by_size;
  std::ranges::stable_sort(by_breadth, std::greater<>{}, [&](std::size_t i) { return fullest[i]; });
  std::vector<std::size_t> by_birth = by_size;
  std::ranges::stable_sort(by_birth, {}, [&](std::size_t i) { return buffers[i].first; });

  const std::vector<std::size_t>* best_order = &by_size;
  const auto consider = [&](const std::vector<std::size_t>& candidate, std::string_view strategy) {
    MemoryPlan plan = place(buffers, candidate, strategy);
    if (plan.bytes >= best.bytes) return;
    best = std::move(plan);
    best_order = &candidate;
  };
  consider(by_breadth, "by_breadth");
  consider(by_birth, "in_order");
  constexpr std::uint64_t kWorthwhile = 50;  // a gap of less than a fiftieth is left
  if (best.bytes - bound > bound / kWorthwhile) climb(buffers, *best_order, bound, best);
  return best;
}

}  // namespace jitney
