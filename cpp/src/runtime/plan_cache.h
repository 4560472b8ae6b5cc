// Finished plans by key, least recently used ones forgotten beyond a byte budget.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/fork_guard.h"
#include "plan/plan.h"

namespace jitney {

/// What the plan starts from (the id of the plan that it continues; 0: the model; −index of a loop's body), then shapes and
/// values.
using PlanKey = std::vector<std::int64_t>;

struct CachedPlan {
  std::uint64_t id = 0;
  std::unique_ptr<Plan> plan;
  // Per step, when profiling.
  std::vector<std::atomic<std::uint64_t>> runs;
  std::vector<std::atomic<std::uint64_t>> nanoseconds;
};

class PlanCache {
 public:
  explicit PlanCache(std::size_t budget_bytes) : budget_(budget_bytes) {}

  /// Null if it is not there. Allocates nothing.
  std::shared_ptr<CachedPlan> find(const PlanKey& key);
  /// Keeps the plan (the one found first if two threads made the same).
  std::shared_ptr<CachedPlan> insert(const PlanKey& key, std::unique_ptr<Plan> plan);
  void clear();

 private:
  struct Hash {
    std::size_t operator()(const PlanKey& key) const noexcept;
  };
  struct Entry {
    PlanKey key;
    std::shared_ptr<CachedPlan> plan;
  };

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<PlanKey, std::list<Entry>::iterator, Hash> index_;
  std::size_t budget_;
  std::size_t bytes_ = 0;
  std::uint64_t next_id_ = 1;
  ForkGuard fork_guard_{ForkGuard::Order::inner, mutex_};
};

}  // namespace jitney
