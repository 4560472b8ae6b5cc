// Locks that work in a child process after fork(), whatever the parent's other threads were doing.
#pragma once

#include <functional>
#include <list>
#include <mutex>

namespace jitney {

/// Lets fork() wait until nobody holds the lock, so that the child does not find it held by a thread that it does not have. As a
/// member it stands after all that the lock protects.
class ForkGuard {
 public:
  /// Fork takes outer locks first: a thread that holds an inner one takes no other.
  enum class Order { outer, inner };

  /// `in_child`, if there is one, sets right what threads of the parent left behind; it runs in the child, under the lock.
  ForkGuard(Order order, std::mutex& mutex, std::function<void()> in_child = {});
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  friend struct ForkGuards;
  Order order_;
  std::mutex* mutex_;
  std::function<void()> in_child_;
  std::list<ForkGuard*>::iterator place_;
};

}  // namespace jitney
