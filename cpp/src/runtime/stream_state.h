// What runs of one stream hand on: for each state of the model, two tensors that change places after every run.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "base/fork_guard.h"
#include "jitney/session.h"
#include "runtime/model_data.h"

namespace jitney {

struct State::Buffers {
  struct Entry {
    Tensor current;  // what the next run reads
    Tensor next;     // what it writes
  };

  explicit Buffers(std::shared_ptr<detail::ModelData> of);

  std::shared_ptr<detail::ModelData> model;
  std::vector<Entry> entries;  // as in the model's list of states
  std::atomic<bool> busy = false;
  std::mutex changing;  // held while the entries change, so that a child after fork has them before or after that
  /// A run that had the state goes on in the parent only.
  ForkGuard fork_guard{ForkGuard::Order::inner, changing, [this] { busy.store(false, std::memory_order_relaxed); }};
};

/// Holds a state for one run; two at a time would not know whose result is next.
class StateLock {
 public:
  explicit StateLock(State::Buffers& buffers);
  ~StateLock() { buffers_.busy.store(false, std::memory_order_release); }
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  State::Buffers& buffers_;
};

}  // namespace jitney
