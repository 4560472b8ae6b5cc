// Sweeps over the steps, keeping the set of occupied address ranges.
#include "plan/memory_verify.h"

#include <algorithm>
#include <map>
#include <vector>

namespace jitney {

std::string verify_memory(std::span<const Lifetime> buffers, const MemoryPlan& plan) {
  if (plan.offsets.size() != buffers.size()) return "the plan has another number of buffers";
  struct Event {
    std::size_t step;
    bool birth;  // deaths happen after the births of the same step: `last` is included in the lifetime
    std::size_t buffer;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes == 0) continue;
    const std::string name = "buffer " + std::to_string(i);
    if (plan.offsets[i] % kArenaAlignment != 0) return name + " is not aligned";
    if (plan.offsets[i] > plan.bytes || buffers[i].bytes > plan.bytes - plan.offsets[i]) return name + " leaves the arena";
    if (buffers[i].last < buffers[i].first) return name + " dies before it is born";
    events.push_back({buffers[i].first, true, i});
    events.push_back({buffers[i].last, false, i});
  }
  std::ranges::sort(events,
                    [](const Event& a, const Event& b) { return a.step != b.step ? a.step < b.step : a.birth > b.birth; });

  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> occupied;  // start -> (end, buffer)
  for (const Event& event : events) {
    const std::uint64_t start = plan.offsets[event.buffer];
    const std::uint64_t end = start + buffers[event.buffer].bytes;
    if (!event.birth) {
      occupied.erase(start);
      continue;
    }
    const auto next = occupied.lower_bound(start);
    const auto clash = [&](std::size_t other) {
      return "buffers " + std::to_string(event.buffer) + " and " + std::to_string(other) + " overlap at step " +
             std::to_string(event.step);
    };
    if (next != occupied.end() && next->first < end) return clash(next->second.second);
    if (next != occupied.begin() && std::prev(next)->second.first > start) return clash(std::prev(next)->second.second);
    occupied.emplace(start, std::pair{end, event.buffer});
  }
  return {};
}

}  // namespace jitney
