// The thread pool: every index once, nesting, contention, exceptions, forks.
#include "base/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "jitney/error.h"

namespace {

using jitney::ThreadPool;

/// How often each index was called; fails on a worker number out of range.
std::vector<int> count_calls(ThreadPool& pool, std::size_t threads, std::size_t count) {
  std::vector<std::atomic<int>> calls(count);
  std::atomic<int> wrong_worker{0};
  pool.parallel_for(threads, count, [&](std::size_t index, std::size_t worker) {
    calls[index].fetch_add(1);
    if (worker >= std::max<std::size_t>(threads, 1)) wrong_worker.fetch_add(1);
  });
  CHECK(wrong_worker == 0);
  return {calls.begin(), calls.end()};
}

bool all_once(const std::vector<int>& calls) {
  return std::all_of(calls.begin(), calls.end(), [](int calls_of_index) { return calls_of_index == 1; });
}

TEST_CASE("every index is called once, for any count and number of threads") {
  ThreadPool pool;
  for (const std::size_t threads : {0, 1, 2, 3, 8, 300}) {
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000}) {
      CAPTURE(threads);
      CAPTURE(count);
      CHECK(all_once(count_calls(pool, threads, count)));
    }
  }
}

TEST_CASE("an index sees what was written before the loop, and the caller what was written in it") {
  ThreadPool pool;
  std::vector<int> data(500, 0);
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for(4, data.size(), [&](std::size_t i, std::size_t) { data[i] += static_cast<int>(i); });
  }
  for (std::size_t i = 0; i < data.size(); ++i) REQUIRE(data[i] == 200 * static_cast<int>(i));
}

TEST_CASE("workers never share a number within a loop") {
  ThreadPool pool;
  constexpr std::size_t kThreads = 4;
  std::vector<int> scratch(kThreads * 64, 0);  // unsynchronised: a data race here shows under TSan, a lost count everywhere
  for (int round = 0; round < 50; ++round) {
    pool.parallel_for(kThreads, 200, [&](std::size_t, std::size_t worker) { ++scratch[worker * 64]; });
  }
  int sum = 0;
  for (const int part : scratch) sum += part;
  CHECK(sum == 50 * 200);
}

TEST_CASE("idle workers take over from a busy one") {
  ThreadPool pool;
  std::atomic<int> done{0};
  // Index 0 ends only when all others are done: somebody else must have taken them from its owner's range.
  pool.parallel_for(2, 64, [&](std::size_t index, std::size_t) {
    if (index == 0) {
      while (done.load() < 63 - 3) std::this_thread::yield();  // the owner took an eighth of its 32 with index 0
    } else {
      done.fetch_add(1);
    }
  });
  CHECK(done == 63);
}

TEST_CASE("nested loops run on their caller alone") {
  ThreadPool pool;
  std::atomic<int> calls{0}, foreign{0};
  pool.parallel_for(4, 16, [&](std::size_t, std::size_t) {
    const auto self = std::this_thread::get_id();
    pool.parallel_for(4, 10, [&](std::size_t, std::size_t worker) {
      calls.fetch_add(1);
      if (worker != 0 || std::this_thread::get_id() != self) foreign.fetch_add(1);
    });
  });
  CHECK(calls == 160);
  CHECK(foreign == 0);
}

TEST_CASE("many threads may run loops at once") {
  ThreadPool pool;
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::atomic<std::size_t> sum{0};
        pool.parallel_for(3, 101, [&](std::size_t index, std::size_t) { sum.fetch_add(index); });
        if (sum != 101 * 100 / 2) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("the first exception reaches the caller after all threads have stopped") {
  ThreadPool pool;
  for (std::size_t thrower = 0; thrower < 40; ++thrower) {
    std::atomic<int> active{0};
    CHECK_THROWS_WITH_AS(pool.parallel_for(4, 40,
                                           [&](std::size_t index, std::size_t) {
                                             active.fetch_add(1);
                                             if (index == thrower) {
                                               active.fetch_sub(1);
                                               throw std::runtime_error("from index " + std::to_string(thrower));
                                             }
                                             active.fetch_sub(1);
                                           }),
                         ("from index " + std::to_string(thrower)).c_str(), std::runtime_error);
    CHECK(active == 0);
    CHECK(all_once(count_calls(pool, 4, 40)));
  }
  CHECK_THROWS_AS(pool.parallel_for(1, 1, [](std::size_t, std::size_t) { throw 1; }), int);
  CHECK_THROWS_AS(pool.parallel_for(4, 100, [](std::size_t, std::size_t) { throw 1; }), int);
}

TEST_CASE("a const body and a body with state work") {
  ThreadPool pool;
  std::atomic<int> calls{0};
  const auto body = [&](std::size_t, std::size_t) { calls.fetch_add(1); };
  pool.parallel_for(2, 10, body);
  CHECK(calls == 10);
}

TEST_CASE("workers that sleep are woken") {
  ThreadPool pool;
  for (int round = 0; round < 5; ++round) {
    CHECK(all_once(count_calls(pool, 3, 50)));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than any spin
  }
}

TEST_CASE("no core is burnt after a loop") {
  ThreadPool pool;
  std::atomic<std::size_t> calls{0};
  pool.parallel_for(4, 1000, [&](std::size_t, std::size_t) { ++calls; });
  CHECK(calls == 1000);
  const std::clock_t before = std::clock();  // time that this process spent on processors
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double burnt = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  CHECK(burnt < 0.1);
}

TEST_CASE("there is at least one thread, and the process's pool is one") {
  CHECK(ThreadPool::available_threads() >= 1);
  CHECK(&ThreadPool::process() == &ThreadPool::process());
}

/// Runs the check in a child process; true if it returned true.
template <typename Check>
bool in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Whether a child of a process with threads can start threads at all: not under the thread sanitizer, nor under qemu.
bool threads_work_in_child() {
  static const bool work = [] {
    std::atomic<bool> stop{false};
    std::thread other([&] {
      while (!stop) std::this_thread::yield();
    });
    const bool started = in_child([] {
      std::thread([] {}).join();
      return true;
    });
    stop = true;
    other.join();
    return started;
  }();
  if (!work) MESSAGE("skipped: this system cannot start threads in a child process");
  return work;
}

TEST_CASE("a child after fork makes its own workers") {
  if (!threads_work_in_child()) return;
  ThreadPool pool;
  CHECK(all_once(count_calls(pool, 4, 100)));
  const auto check = [&] { return all_once(count_calls(pool, 4, 100)); };
  CHECK(in_child(check));
  CHECK(in_child([&] { return check() && in_child(check) && check(); }));
  CHECK(check());
}

TEST_CASE("a pool may be destroyed in a child") {
  if (!threads_work_in_child()) return;
  CHECK(in_child([] {
    ThreadPool pool;
    return all_once(count_calls(pool, 4, 100));
  }));
  auto pool = std::make_unique<ThreadPool>();
  CHECK(all_once(count_calls(*pool, 4, 100)));
  CHECK(in_child([&] {
    pool.reset();
    return true;
  }));
}

TEST_CASE("fork while another thread runs a loop leaves the child a working pool") {
  if (!threads_work_in_child()) return;
  ThreadPool pool;
  std::atomic<bool> stop{false}, started{false};
  std::thread busy([&] {
    while (!stop) {
      pool.parallel_for(3, 64, [&](std::size_t, std::size_t) { started = true; });
    }
  });
  while (!started) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) {
    CHECK(in_child([&] {
      std::atomic<int> calls{0};
      for (int round = 0; round < 20; ++round) pool.parallel_for(3, 64, [&](std::size_t, std::size_t) { calls.fetch_add(1); });
      return calls == 20 * 64;
    }));
  }
  stop = true;
  busy.join();
}

TEST_CASE("fork from inside a loop is an error in the child, not a wait for workers that it does not have") {
  if (!threads_work_in_child()) return;
  ThreadPool pool;
  std::atomic<bool> worker_runs{false}, forked{false};
  pid_t child = -1;
  const auto loop = [&] {
    pool.parallel_for(2, 2, [&](std::size_t, std::size_t worker) {
      if (worker == 0) {
        while (!worker_runs) std::this_thread::yield();
        child = fork();
        forked = true;
      } else {
        worker_runs = true;
        while (!forked) std::this_thread::yield();
      }
    });
  };
  try {
    loop();
  } catch (const jitney::Error& error) {
    if (child != 0) throw;
    _exit(error.code() == jitney::ErrorCode::unsupported && all_once(count_calls(pool, 2, 50)) ? 0 : 1);
  }
  if (child == 0) _exit(2);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
