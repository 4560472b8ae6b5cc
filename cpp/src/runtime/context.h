// What one run needs for itself: arenas and address tables. Contexts are lent from a bounded pool and kept for the next run.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned.h"
#include "base/fork_guard.h"
#include "jitney/tensor.h"
#include "runtime/plan_cache.h"

namespace jitney {

struct LoopState;

struct ExecutionContext {
  /// One for each plan in the chain that cuts make of a run.
  struct Level {
    std::shared_ptr<CachedPlan> plan;  // later plans of the chain may point into what it holds
    AlignedBuffer arena;
    std::size_t arena_bytes = 0;
    std::vector<void*> bases;         // by buffer of the plan
    std::vector<TensorView> dynamic;  // operands of the data-dependent node at this level's cut
    std::vector<TensorView> results;  // its results, dense
    std::vector<Tensor> owned;        // their memory, unless the node is a loop
    std::shared_ptr<LoopState> loop;  // what a loop keeps between its iterations, and for the next run
    PlanKey key;
  };

  Level& level(std::size_t depth);

  std::deque<Level> levels;    // a deque: growing leaves references intact
  std::vector<void*> outer;    // addresses of values that live across a cut, by FlatId
  std::vector<void*> inputs;   // the caller's, or dense copies of them
  std::vector<void*> outputs;  // where the model's outputs go
  std::vector<void*> operands;
  std::vector<Tensor> copies;
};

class ContextPool {
 public:
  explicit ContextPool(std::size_t most) : most_(most) {}

  /// Gives its context back when it goes out of scope.
  class Lease {
   public:
    Lease(ContextPool& pool, std::unique_ptr<ExecutionContext> context) : pool_(&pool), context_(std::move(context)) {}
    Lease(Lease&& other) noexcept : pool_(other.pool_), context_(std::move(other.context_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (context_) pool_->give_back(std::move(context_));
    }
    ExecutionContext& operator*() const noexcept { return *context_; }
    ExecutionContext* operator->() const noexcept { return context_.get(); }

   private:
    ContextPool* pool_;
    std::unique_ptr<ExecutionContext> context_;
  };

  /// Waits while all contexts are lent. Throws Error(closed) once close() was called.
  Lease borrow();
  /// Lets no one borrow any more, waits until all contexts are back, and frees them.
  void close();

 private:
  void give_back(std::unique_ptr<ExecutionContext> context) noexcept;
  /// In the child of a fork: the runs that had them, or waited for them, go on in the parent only.
  void forget_lent();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<ExecutionContext>> idle_;
  std::size_t lent_ = 0;
  std::size_t most_;
  bool closed_ = false;
  ForkGuard fork_guard_{ForkGuard::Order::inner, mutex_, [this] { forget_lent(); }};
};

}  // namespace jitney
