// Runs expressions: for each block of elements, one kernel after another.
#include "cpu/expression.h"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"

namespace jitney::cpu {

struct Expression::Bound {
  std::array<float*, BroadcastWalk::kOperands> memory{};
  std::array<float, kMostInstructions> alpha{}, beta{};
};

void Expression::run(const StepRun& run) const {
  Bound bound;
  for (std::size_t i = 0; i < outputs_; ++i) bound.memory[i] = static_cast<float*>(run.outputs[i]);
  const auto input = [&](std::size_t i) {
    const void* address = i < run.inputs.size() ? run.inputs[i] : nullptr;
    if (address == nullptr) {
      if (const auto known = inputs_[i].bytes()) address = known->data;
    }
    return static_cast<float*>(const_cast<void*>(address));  // values of inputs are only read
  };
  for (std::size_t v = outputs_; v < values_.size(); ++v) {
    if (values_[v].input != kNone) bound.memory[values_[v].operand] = input(values_[v].input);
  }
  for (std::size_t k = 0; k < instructions_.size(); ++k) {
    const Instruction& instruction = instructions_[k];
    bound.alpha[k] = instruction.alpha;
    bound.beta[k] = instruction.beta;
    if (instruction.low != kNone) bound.alpha[k] = *input(instruction.low);
    if (instruction.high != kNone) bound.beta[k] = *input(instruction.high);
  }
  const std::int64_t piece = piece_size(nanoseconds_ * static_cast<double>(walk_->unit_elements()) + 5);
  parallel_ranges(run, walk_->units(), piece, [&](std::int64_t begin, std::int64_t end, std::size_t) {
    walk_->for_each(begin, end, [&](const BroadcastWalk::Offsets& at, std::int64_t count) { run_unit(bound, at, count); });
  });
}

namespace {

/// body(element, offset in memory, length) for each run in [start, start + count) of a long row.
template <typename Body>
void for_each_run(std::int64_t run, std::int64_t run_stride, std::int64_t stride, std::int64_t start, std::int64_t count,
                  const Body& body) {
  std::int64_t first = start / run * run_stride + start % run * stride, rest = run - start % run;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t length = std::min(rest, count - i);
    body(i, first, length);
    i += length;
    first = (start + i) / run * run_stride;
    rest = run;
  }
}

void copy_run(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

}  // namespace

void Expression::run_unit(const Bound& bound, const BroadcastWalk::Offsets& at, std::int64_t count) const {
  if (whole_) {
    const Instruction& only = instructions_[0];
    const auto address = [&](std::size_t value) { return bound.memory[values_[value].operand] + at[values_[value].operand]; };
    const auto n = static_cast<std::size_t>(count);
    if (only.unary != nullptr) {
      only.unary(n, address(only.a), address(only.y), bound.alpha[0], bound.beta[0]);
    } else {
      only.binary(n, address(only.a), address(only.b), address(only.y));
    }
    return;
  }
  // Left as they are: clearing would cost as much as computing.
  alignas(64) float buffers[kMostValues][kBlock];
  std::array<float*, kMostValues> start;
  const std::int64_t block = walk_->run() < kBlock ? kBlock / walk_->run() * walk_->run() : kBlock;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const Value& value = values_[v];
    if (value.access == Access::direct || value.access == Access::single) {
      start[v] = bound.memory[value.operand] + at[value.operand];
    } else {
      start[v] = buffers[value.buffer];
      if (value.access == Access::periodic)
        fill(value, bound.memory[value.operand] + at[value.operand], 0, std::min(block, count), start[v]);
    }
  }
  for (std::int64_t done = 0; done < count; done += block) {
    const std::int64_t some = std::min(block, count - done);
    for (std::size_t v = outputs_; v < values_.size(); ++v) {
      const Value& value = values_[v];
      if (value.access == Access::gathered) fill(value, bound.memory[value.operand] + at[value.operand], done, some, start[v]);
    }
    const auto address = [&](std::size_t v) { return values_[v].access == Access::direct ? start[v] + done : start[v]; };
    const auto n = static_cast<std::size_t>(some);
    for (std::size_t k = 0; k < instructions_.size(); ++k) {
      const Instruction& instruction = instructions_[k];
      if (instruction.unary != nullptr) {
        instruction.unary(n, address(instruction.a), address(instruction.y), bound.alpha[k], bound.beta[k]);
      } else {
        instruction.binary(n, address(instruction.a), address(instruction.b), address(instruction.y));
      }
    }
    for (std::size_t v = 0; v < outputs_; ++v) {
      const Value& value = values_[v];
      if (value.access == Access::gathered) put(value, start[v], bound.memory[value.operand] + at[value.operand], done, some);
    }
  }
}

void Expression::fill(const Value& value, const float* from, std::int64_t start, std::int64_t count, float* buffer) const {
  const std::int64_t stride = walk_->row_strides()[value.operand];
  for_each_run(walk_->run(), walk_->run_strides()[value.operand], stride, start, count,
               [&](std::int64_t i, std::int64_t at, std::int64_t length) { copy_run(from + at, stride, buffer + i, 1, length); });
}

void Expression::put(const Value& value, const float* buffer, float* to, std::int64_t start, std::int64_t count) const {
  const std::int64_t stride = walk_->row_strides()[value.operand];
  for_each_run(walk_->run(), walk_->run_strides()[value.operand], stride, start, count,
               [&](std::int64_t i, std::int64_t at, std::int64_t length) { copy_run(buffer + i, 1, to + at, stride, length); });
}

}  // namespace jitney::cpu
