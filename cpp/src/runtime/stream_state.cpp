// The states of one stream of runs.
#include "runtime/stream_state.h"

#include <cstring>

#include "jitney/error.h"

namespace jitney {

State::Buffers::Buffers(std::shared_ptr<detail::ModelData> of) : model(std::move(of)) {
  for (const detail::StateIndex& state : model->states) {
    const Value& input = model->input(state.input);
    Shape shape;
    for (const Dim& dim : input.shape.dims) shape.push_back(dim.value());
    entries.push_back({Tensor(input.dtype, shape), Tensor(input.dtype, shape)});
  }
}

State::State(std::shared_ptr<Buffers> buffers) : buffers_(std::move(buffers)) { reset(); }

void State::reset() {
  if (!buffers_)
    throw Error(ErrorCode::invalid_input, "the state belongs to no session", "get one from new_state() of a session");
  const StateLock lock(*buffers_);
  const std::lock_guard change(buffers_->changing);
  for (Buffers::Entry& entry : buffers_->entries) std::memset(entry.current.data(), 0, entry.current.bytes());
}

StateLock::StateLock(State::Buffers& buffers) : buffers_(buffers) {
  if (buffers_.busy.exchange(true, std::memory_order_acquire))
    throw Error(ErrorCode::invalid_input, "the state is in use by another run",
                "run one stream after the other, or give each its own state: new_state()");
}

}  // namespace jitney
