// An LRU of plans.
#include "runtime/plan_cache.h"

namespace jitney {

std::size_t PlanCache::Hash::operator()(const PlanKey& key) const noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::int64_t item : key) {
    hash ^= static_cast<std::uint64_t>(item);
    hash *= 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

std::shared_ptr<CachedPlan> PlanCache::find(const PlanKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->plan;
}

std::shared_ptr<CachedPlan> PlanCache::insert(const PlanKey& key, std::unique_ptr<Plan> plan) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) return found->second->plan;
  auto cached = std::make_shared<CachedPlan>();
  cached->id = next_id_++;
  cached->runs = std::vector<std::atomic<std::uint64_t>>(plan->steps.size());
  cached->nanoseconds = std::vector<std::atomic<std::uint64_t>>(plan->steps.size());
  cached->plan = std::move(plan);
  entries_.push_front({key, cached});
  index_.emplace(key, entries_.begin());
  bytes_ += cached->plan->footprint_bytes;
  // The newest always stays, whatever its size.
  while (bytes_ > budget_ && entries_.size() > 1) {
    bytes_ -= entries_.back().plan->plan->footprint_bytes;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return cached;
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  index_.clear();
  entries_.clear();
  bytes_ = 0;
}

}  // namespace jitney
