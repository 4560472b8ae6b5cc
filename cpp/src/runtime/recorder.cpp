// The profiler's memory.
#include "runtime/recorder.h"

#include <algorithm>

#include "runtime/report.h"

namespace jitney {

void Recorder::step(const std::shared_ptr<CachedPlan>& plan, std::size_t step, Clock::time_point start, Clock::time_point end,
                    const WorkerWatch* watch) {
  const std::lock_guard lock(mutex_);
  plans_.try_emplace(plan->id, plan);
  const std::optional<std::uint32_t> thread = add(plan->id, step, start, end);
  if (watch == nullptr || !thread) return;
  for (std::size_t worker = 0; worker < watch->records().size(); ++worker) {
    const WorkerWatch::Record& record = watch->records()[worker];
    if (record.tasks != 0) work_.push_back({plan->id, step, *thread, static_cast<std::uint32_t>(worker), record});
  }
}

void Recorder::run(Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  add(0, 0, start, end);
}

std::optional<std::uint32_t> Recorder::add(std::uint64_t plan, std::size_t step, Clock::time_point start, Clock::time_point end) {
  if (events_.size() >= kMostEvents) {
    ++dropped_;
    return std::nullopt;
  }
  const std::thread::id caller = std::this_thread::get_id();
  const auto known = std::ranges::find(threads_, caller);
  const auto thread = static_cast<std::uint32_t>(known - threads_.begin());
  if (known == threads_.end()) threads_.push_back(caller);
  events_.push_back({plan, step, thread, start, end});
  return thread;
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
  for (const Work& work : work_) {
    const auto busy = std::chrono::duration_cast<std::chrono::nanoseconds>(work.record.busy).count();
    profile.work.push_back({static_cast<std::int64_t>(first[work.plan] + work.step), work.thread, work.worker,
                            since(work.record.first), since(work.record.last), static_cast<std::uint64_t>(busy)});
  }
  profile.dropped = dropped_;
  work_.clear();
  events_.clear();
  plans_.clear();
  dropped_ = 0;
  return profile;
}

}  // namespace jitney
