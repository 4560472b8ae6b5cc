// The profiler's memory.
#include "runtime/recorder.h"

#include <algorithm>

#include "runtime/report.h"

namespace jitney {

void Recorder::step(const std::shared_ptr<CachedPlan>& plan, std::size_t step, Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  plans_.try_emplace(plan->id, plan);
  add(plan->id, step, start, end);
}

void Recorder::run(Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  add(0, 0, start, end);
}

void Recorder::add(std::uint64_t plan, std::size_t step, Clock::time_point start, Clock::time_point end) {
  if (events_.size() >= kMostEvents) {
    ++dropped_;
    return;
  }
  const std::thread::id caller = std::this_thread::get_id();
  const auto known = std::ranges::find(threads_, caller);
  const auto thread = static_cast<std::uint32_t>(known - threads_.begin());
  if (known == threads_.end()) threads_.push_back(caller);
  events_.push_back({plan, step, thread, start, end});
}

Profile Recorder::take() {
  const std::lock_guard lock(mutex_);
  Profile profile;
  std::map<std::uint64_t, std::size_t> first;  // by plan: where its steps begin in the profile
  for (const auto& [id, plan] : plans_) {
    first[id] = profile.steps.size();
    for (StepReport& report : describe_steps(*plan)) profile.steps.push_back(std::move(report));
  }
  const auto since = [this](Clock::time_point time) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin_).count());
  };
  profile.events.reserve(events_.size());
  for (const Event& event : events_) {
    const std::int64_t step = event.plan == 0 ? -1 : static_cast<std::int64_t>(first[event.plan] + event.step);
    profile.events.push_back({step, event.thread, since(event.start), since(event.end)});
  }
  profile.dropped = dropped_;
  events_.clear();
  plans_.clear();
  dropped_ = 0;
  return profile;
}

}  // namespace jitney
