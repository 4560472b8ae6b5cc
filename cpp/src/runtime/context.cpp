// The bounded pool of execution contexts.
#include "runtime/context.h"

#include <memory>

#include "jitney/error.h"

namespace jitney {

ExecutionContext::Level& ExecutionContext::level(std::size_t depth) {
  while (levels.size() <= depth) levels.emplace_back();
  return levels[depth];
}

ContextPool::Lease ContextPool::borrow() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || lent_ < most_; });
  if (closed_) throw Error(ErrorCode::closed, "the session is closed", "make a new Session");
  std::unique_ptr<ExecutionContext> context;
  if (idle_.empty()) {
    idle_.reserve(most_ < 64 ? most_ : 64);
    context = std::make_unique<ExecutionContext>();
  } else {
    context = std::move(idle_.back());
    idle_.pop_back();
  }
  ++lent_;
  return {*this, std::move(context)};
}

void ContextPool::give_back(std::unique_ptr<ExecutionContext> context) noexcept {
  // Notified under the lock: close() may destroy the pool as soon as it sees the last context back.
  const std::lock_guard lock(mutex_);
  if (lent_ > 0) --lent_;
  if (!closed_) {
    try {
      idle_.push_back(std::move(context));
    } catch (...) {  // no memory to remember it: it is freed instead
      context.reset();
    }
  }
  changed_.notify_all();
}

void ContextPool::forget_lent() {
  lent_ = 0;
  std::construct_at(&changed_);  // it may count waiters whom the child does not have
}

void ContextPool::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return lent_ == 0; });
  idle_.clear();
}

}  // namespace jitney
