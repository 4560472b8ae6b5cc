// All guarded locks of the process are taken before a fork and freed after it, in the parent and in the child.
#include "base/fork_guard.h"

#include <pthread.h>

#include <array>
#include <utility>

namespace jitney {

struct ForkGuards {
  static ForkGuards& all() {
    static auto* guards = new ForkGuards;  // never destroyed: a process may fork while it ends
    return *guards;
  }

  ForkGuards() { pthread_atfork(&before, &in_parent, &in_child); }

  static void before() {
    all().mutex.lock();
    for (const auto& list : all().lists)
      for (ForkGuard* guard : list) guard->mutex_->lock();
  }

  static void in_parent() {
    for (const auto& list : all().lists)
      for (ForkGuard* guard : list) guard->mutex_->unlock();
    all().mutex.unlock();
  }

  static void in_child() {
    for (const auto& list : all().lists)
      for (ForkGuard* guard : list)
        if (guard->in_child_) guard->in_child_();
    in_parent();
  }

  std::mutex mutex;  // of the lists
  std::array<std::list<ForkGuard*>, 2> lists;
};

ForkGuard::ForkGuard(Order order, std::mutex& mutex, std::function<void()> in_child)
    : order_(order), mutex_(&mutex), in_child_(std::move(in_child)) {
  ForkGuards& guards = ForkGuards::all();
  const std::lock_guard lock(guards.mutex);
  auto& list = guards.lists[static_cast<std::size_t>(order_)];
  place_ = list.insert(list.end(), this);
}

ForkGuard::~ForkGuard() {
  ForkGuards& guards = ForkGuards::all();
  const std::lock_guard lock(guards.mutex);
  guards.lists[static_cast<std::size_t>(order_)].erase(place_);
}

}  // namespace jitney
