// Notes when each thread of a loop worked, for the profiler. Without a watch, a span costs one test of a pointer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jitney {

class WorkerWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// What one thread did since the last reset(); only that thread writes it while a loop runs.
  struct alignas(64) Record {
    Clock::time_point first, last;
    Clock::duration busy{};
    std::uint32_t tasks = 0;
  };

  explicit WorkerWatch(std::size_t workers) : records_(workers) {}

  const std::vector<Record>& records() const noexcept { return records_; }
  void reset() {
    for (Record& record : records_) record = {};
  }

  /// A task of that worker, from here to the end of the scope.
  class Span {
   public:
    Span(WorkerWatch* watch, std::size_t worker) {
      if (watch == nullptr || worker >= watch->records_.size()) return;
      record_ = &watch->records_[worker];
      start_ = Clock::now();
    }
    ~Span() {
      if (record_ != nullptr) finish();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    void finish() {
      const Clock::time_point end = Clock::now();
      if (record_->tasks++ == 0) record_->first = start_;
      record_->last = end;
      record_->busy += end - start_;
    }

    Record* record_ = nullptr;
    Clock::time_point start_;
  };

 private:
  std::vector<Record> records_;
};

}  // namespace jitney
