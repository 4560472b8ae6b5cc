// The thread pool: how a loop is posted to workers, shared out by stealing, and finished.
#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "jitney/error.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace jitney {

namespace {

constexpr std::size_t kMaxThreads = 256;
constexpr std::size_t kCacheLine = 64;
constexpr std::uint64_t kMaxCount = 0xffffffff;  // indices of one round fit half of a range word
constexpr auto kSpin = std::chrono::microseconds(80);

/// Counts forks on the way to this process: workers of an earlier generation exist only in an ancestor.
std::atomic<std::uint64_t> generation{0};

void count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // waits longer than `yield`, which is a no-op on most cores
#else
  std::this_thread::yield();
#endif
}

/// Polls for at most kSpin; false if `done` never held.
template <typename Done>
bool spin_until(bool may_spin, Done done) {
  if (done()) return true;
  if (!may_spin) return false;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      pause_cpu();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// A half-open range of indices in one word, so that the owner at its front and thieves at its tail need one atomic step each.
class Range {
 public:
  void set(std::uint64_t begin, std::uint64_t end) noexcept { word_.store(begin << 32 | end, std::memory_order_relaxed); }

  /// For the owner: an eighth of what is left, at least one index, from the front; how many (0: none left).
  std::uint64_t take(std::uint64_t& first) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t begin = word >> 32, end = word & kMaxCount;
      if (begin >= end) return 0;
      const std::uint64_t share = std::max<std::uint64_t>(1, (end - begin) / 8);
      if (word_.compare_exchange_weak(word, (begin + share) << 32 | end, std::memory_order_relaxed)) {
        first = begin;
        return share;
      }
    }
  }

  /// For thieves: the last index; false if none is left.
  bool steal(std::uint64_t& index) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t begin = word >> 32, end = word & kMaxCount;
      if (begin >= end) return false;
      if (word_.compare_exchange_weak(word, word - 1, std::memory_order_relaxed)) {
        index = end - 1;
        return true;
      }
    }
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

/// A wait for a change that another thread makes and then announces. Announcing costs a load unless somebody sleeps.
class Sleeper {
 public:
  template <typename Done>
  void wait(Done done) {
    std::unique_lock lock(mutex_);
    asleep_.store(true, std::memory_order_seq_cst);
    condition_.wait(lock, done);
    asleep_.store(false, std::memory_order_relaxed);
  }

  /// The change must have been made with a seq_cst store: then either this load sees the sleeper, or the sleeper the change.
  void announce() {
    if (!asleep_.load(std::memory_order_seq_cst)) return;
    {
      const std::lock_guard lock(mutex_);
    }
    condition_.notify_one();
  }

 private:
  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable condition_;
};

/// What a worker has been told, and what it says. The caller moves idle → posted → idle (withdrawn) and any → exit; the worker
/// posted → running → idle.
enum class Duty : std::uint32_t { idle, posted, running, exit };

/// The workers of one process and the loop that they share.
struct Crew {
  struct alignas(kCacheLine) Seat {
    Range range;
    alignas(kCacheLine) std::atomic<Duty> duty{Duty::idle};
    Sleeper sleeper;
    std::thread thread;
  };

  ~Crew();
  std::size_t hire(std::size_t threads);
  void run(std::size_t threads, std::uint64_t count);
  void work(std::size_t worker);
  void serve(std::size_t worker);

  // The loop; written by the caller while no worker runs, published by its store of `posted`.
  void* body = nullptr;
  void (*call)(void*, std::size_t, std::size_t) = nullptr;
  std::uint64_t offset = 0;
  std::size_t threads_in_loop = 1;
  std::atomic<bool> may_spin{false};

  std::atomic<bool> failed{false};
  std::exception_ptr failure;  // written by whoever set `failed`, read when all have stopped

  std::array<Seat, kMaxThreads> seats;  // seat 0 is the caller's
  std::size_t hired = 1;
  std::size_t cores = 1;  // what this process could keep running when the last worker was hired
  Sleeper caller;
  std::uint64_t born = generation.load(std::memory_order_relaxed);
  Crew* buried_before = nullptr;

  bool is_stale() const noexcept { return born != generation.load(std::memory_order_relaxed); }
};

/// Keeps a crew whose threads exist only in the parent process. It cannot be destroyed: its threads cannot be joined, and its
/// locks may be held for ever.
void bury(std::unique_ptr<Crew> crew) noexcept {
  static std::atomic<Crew*> buried{nullptr};
  Crew* const last = crew.release();
  last->buried_before = buried.load(std::memory_order_relaxed);
  while (!buried.compare_exchange_weak(last->buried_before, last, std::memory_order_relaxed)) {
  }
}

Crew::~Crew() {
  for (std::size_t i = 1; i < hired; ++i) {
    seats[i].duty.store(Duty::exit, std::memory_order_seq_cst);
    seats[i].sleeper.announce();
    seats[i].thread.join();
  }
}

/// Starts workers until there are `threads` threads with the caller; returns how many there are if the system refuses more.
std::size_t Crew::hire(std::size_t threads) {
  if (hired < threads) cores = ThreadPool::available_threads();
  while (hired < threads) {
    try {
      seats[hired].thread = std::thread([this, worker = hired] { serve(worker); });
    } catch (const std::system_error&) {
      break;
    }
    ++hired;
  }
  return std::min(threads, hired);
}

void Crew::run(std::size_t threads, std::uint64_t count) {
  threads_in_loop = threads;
  failed.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < threads; ++i) seats[i].range.set(count * i / threads, count * (i + 1) / threads);
  for (std::size_t i = 1; i < threads; ++i) {
    seats[i].duty.store(Duty::posted, std::memory_order_seq_cst);
    seats[i].sleeper.announce();
  }
  work(0);
  for (std::size_t i = 1; i < threads; ++i) {
    // A worker that has not begun is not waited for: its share was stolen.
    Duty expected = Duty::posted;
    if (seats[i].duty.compare_exchange_strong(expected, Duty::idle, std::memory_order_acquire)) continue;
    if (is_stale()) throw Error(ErrorCode::unsupported, "the process was forked from inside a parallel loop");
    const auto done = [&seat = seats[i]] { return seat.duty.load(std::memory_order_seq_cst) == Duty::idle; };
    if (!spin_until(may_spin.load(std::memory_order_relaxed), done)) caller.wait(done);
  }
  if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
}

/// Empties the own range, then the others' from their tails.
void Crew::work(std::size_t worker) {
  const auto stop = [this] { return failed.load(std::memory_order_relaxed); };
  try {
    std::uint64_t index = 0;
    while (const std::uint64_t share = seats[worker].range.take(index)) {
      for (const std::uint64_t end = index + share; index < end; ++index) {
        if (stop()) return;
        call(body, static_cast<std::size_t>(offset + index), worker);
      }
    }
    for (std::size_t next = 1; next < threads_in_loop; ++next) {
      Range& victim = seats[(worker + next) % threads_in_loop].range;
      while (!stop() && victim.steal(index)) call(body, static_cast<std::size_t>(offset + index), worker);
    }
  } catch (...) {
    if (!failed.exchange(true, std::memory_order_relaxed)) failure = std::current_exception();
  }
}

void Crew::serve(std::size_t worker) {
  Seat& seat = seats[worker];
  const auto called = [&seat] {
    const Duty duty = seat.duty.load(std::memory_order_seq_cst);
    return duty == Duty::posted || duty == Duty::exit;
  };
  for (;;) {
    if (!spin_until(may_spin.load(std::memory_order_relaxed), called)) seat.sleeper.wait(called);
    Duty expected = Duty::posted;
    if (seat.duty.compare_exchange_strong(expected, Duty::running, std::memory_order_acquire)) {
      work(worker);
      seat.duty.store(Duty::idle, std::memory_order_seq_cst);
      caller.announce();
    } else if (expected == Duty::exit) {
      return;
    }
  }
}

}  // namespace

struct ThreadPool::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (crew && crew->is_stale()) bury(std::exchange(crew, nullptr));
  }

  /// Generation · 2, plus 1 while a loop has the workers. A word of an older generation counts as free: its loop, if there was
  /// one, goes on in the parent only.
  std::atomic<std::uint64_t> lease{0};
  std::unique_ptr<Crew> crew;  // touched only by the holder of the lease
};

ThreadPool::ThreadPool() : state_(std::make_unique<State>()) { count_forks(); }

ThreadPool::~ThreadPool() = default;

ThreadPool& ThreadPool::process() {
  static auto* pool = new ThreadPool;  // never destroyed: other static objects may still run loops while the process ends
  return *pool;
}

void ThreadPool::run(std::size_t threads, std::size_t count, void* body, Call call) {
  threads = std::min({threads, count, kMaxThreads});
  const auto alone = [&] {
    for (std::size_t i = 0; i < count; ++i) call(body, i, 0);
  };
  if (threads <= 1) return alone();
  const std::uint64_t free = generation.load(std::memory_order_relaxed) << 1, taken = free | 1;
  std::uint64_t lease = state_->lease.load(std::memory_order_relaxed);
  if (lease == taken || !state_->lease.compare_exchange_strong(lease, taken, std::memory_order_acquire)) return alone();

  struct Release {
    std::atomic<std::uint64_t>& lease;
    std::uint64_t free;
    ~Release() { lease.store(free, std::memory_order_release); }
  } const release{state_->lease, free};
  std::unique_ptr<Crew>& crew = state_->crew;
  if (crew && crew->is_stale()) bury(std::exchange(crew, nullptr));
  if (!crew) crew = std::make_unique<Crew>();
  threads = crew->hire(threads);
  if (threads <= 1) return alone();
  crew->may_spin.store(threads <= crew->cores, std::memory_order_relaxed);
  crew->body = body;
  crew->call = call;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t round = std::min<std::uint64_t>(count - done, kMaxCount);
    crew->offset = done;
    crew->run(threads, round);
    done += round;
  }
}

}  // namespace jitney
