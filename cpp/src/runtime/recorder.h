// What a session that profiles remembers: when each step of its runs began and ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fork_guard.h"
#include "base/worker_watch.h"
#include "jitney/session.h"
#include "runtime/plan_cache.h"

namespace jitney {

/// May be used by many runs at a time.
class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Step `step` of that plan; the number of its steps stands for the node with data-dependent sizes that the plan ends at.
  /// `watch`, if it is not null, has noted what the threads did in it.
  void step(const std::shared_ptr<CachedPlan>& plan, std::size_t step, Clock::time_point start, Clock::time_point end,
            const WorkerWatch* watch = nullptr);
  /// A whole run.
  void run(Clock::time_point start, Clock::time_point end);
  /// All since the last call.
  Profile take();

 private:
  /// Beyond so many, events are counted, not kept: some 40 MB, and as much again for each thread.
  static constexpr std::size_t kMostEvents = std::size_t{1} << 20;

  struct Event {
    std::uint64_t plan;  // its id; 0: a whole run
    std::size_t step;
    std::uint32_t thread;
    Clock::time_point start, end;
  };
  struct Work {
    std::uint64_t plan;
    std::size_t step;
    std::uint32_t thread, worker;
    WorkerWatch::Record record;
  };
  /// The caller's number if there was room for the event.
  std::optional<std::uint32_t> add(std::uint64_t plan, std::size_t step, Clock::time_point start, Clock::time_point end);

  std::mutex mutex_;
  std::deque<Event> events_;
  std::deque<Work> work_;
  std::uint64_t dropped_ = 0;
  std::map<std::uint64_t, std::shared_ptr<CachedPlan>> plans_;  // by id; a plan that the cache forgets is still described
  std::vector<std::thread::id> threads_;
  Clock::time_point origin_ = Clock::now();
  ForkGuard fork_guard_{ForkGuard::Order::inner, mutex_};
};

}  // namespace jitney
