// The process's one thread pool: static ranges, stealing from the tail, a bounded spin and then a wait.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace jitney {

/// Runs loops on the calling thread and up to N−1 workers. Workers are started on first need and kept. A nested call, or one
/// made while another thread's loop has the workers, runs on the caller's thread alone: never a deadlock, never oversubscribed.
/// After fork() the child starts with no workers and makes its own.
class ThreadPool {
 public:
  /// The shared pool. It lives until the process ends.
  static ThreadPool& process();

  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Cores that this process may run on (affinity mask and cgroup quota considered), at least 1.
  static std::size_t available_threads() noexcept;
  /// How many threads a run gets if nobody says: one for each of those cores that is no little one beside others.
  static std::size_t default_threads() noexcept;

  /// Calls body(index, worker) once for every index in [0, count), worker in [0, threads). The first exception that a body
  /// throws is rethrown here after all threads have stopped. Nothing is allocated once the workers exist.
  template <typename Body>
  void parallel_for(std::size_t threads, std::size_t count, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(threads, count, const_cast<void*>(static_cast<const void*>(&body)),
        [](void* self, std::size_t index, std::size_t worker) { (*static_cast<Plain*>(self))(index, worker); });
  }

 private:
  using Call = void (*)(void* body, std::size_t index, std::size_t worker);
  void run(std::size_t threads, std::size_t count, void* body, Call call);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace jitney
