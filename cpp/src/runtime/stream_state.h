// What runs of one stream hand on: for each state of the model, two tensors that change places after every run.
#pragma once

#include <atomic>
#include <vector>

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
