// Recurrent networks in float32: the inputs of many steps as one product, then one product and the gates for each step.
#include "cpu/rnn_step.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "cpu/kernels/gemm/gemm.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/rnn_gates.h"
#include "cpu/storage.h"
#include "ops/access.h"

namespace jitney::cpu {
namespace {

/// The sums of as many steps as fit into so much are made at a time.
constexpr std::size_t kProjectedBytes = std::size_t{256} << 10;

class RnnStep final : public Step {
 public:
  RnnStep(const NodeRequest& node, PackCache& cache, std::size_t threads)
      : node_(node), name_(node.node->name), spec_(rnn_spec(*node.node)) {
    const Shape &x = node.inputs[kRnnX].shape, &r = node.inputs[kRnnR].shape;
    steps_ = static_cast<std::size_t>(x[0]);
    batch_ = static_cast<std::size_t>(x[1]);
    inputs_ = static_cast<std::size_t>(x[2]);
    hidden_ = static_cast<std::size_t>(r[2]);
    width_ = static_cast<std::size_t>(spec_.gates()) * hidden_;
    first_ = spec_.kind == RnnKind::gru ? 2 * hidden_ : width_;
    kernel = gemm_.name;
    for (std::size_t d = 0; d < spec_.directions(); ++d) gates_.emplace_back(spec_, d, hidden_);
    chunk_ =
        std::min(steps_, std::max<std::size_t>(kProjectedBytes / std::max<std::size_t>(1, batch_ * width_ * sizeof(float)), 1));
    input_grid_ = kernels::gemm_tiles(gemm_, chunk_ * batch_, width_, inputs_, threads);
    first_grid_ = kernels::gemm_tiles(gemm_, batch_, first_, hidden_, threads);
    rest_grid_ = kernels::gemm_tiles(gemm_, batch_, width_ - first_, hidden_, threads);
    w_floats_ = kernels::packed_b_size(gemm_, inputs_, width_);
    first_floats_ = kernels::packed_b_size(gemm_, hidden_, first_);
    r_floats_ = first_floats_ + kernels::packed_b_size(gemm_, hidden_, width_ - first_);
    pack_weights(cache);
    place();
  }

  void run(const StepRun& run) const override {
    const Buffers buffers = begin(run);
    for (std::size_t d = 0; d < spec_.directions(); ++d) run_direction(run, buffers, d);
  }

 private:
  /// Parts of the workspace; `w` and `r` may be packed weights of the model instead.
  struct Buffers {
    const float *w, *r;
    float *bias, *sums, *h, *c, *scratch;
    std::int64_t* lengths;
  };

  void pack_w(const float* w, float* target) const {
    for (std::size_t d = 0; d < spec_.directions(); ++d) {
      kernels::pack_b(gemm_, inputs_, width_, w + d * width_ * inputs_, 1, static_cast<std::ptrdiff_t>(inputs_),
                      target + d * w_floats_);
    }
  }

  void pack_r(const float* r, float* target) const {
    const auto rows = static_cast<std::ptrdiff_t>(hidden_);
    for (std::size_t d = 0; d < spec_.directions(); ++d) {
      const float* from = r + d * width_ * hidden_;
      kernels::pack_b(gemm_, hidden_, first_, from, 1, rows, target + d * r_floats_);
      if (first_ == width_) continue;
      kernels::pack_b(gemm_, hidden_, width_ - first_, from + first_ * hidden_, 1, rows, target + d * r_floats_ + first_floats_);
    }
  }

  void pack_weights(PackCache& cache) {
    const std::string how = std::string("rnn/") + gemm_.name + "/" + std::to_string(spec_.gates());
    const std::size_t directions = spec_.directions();
    packed_w_ = PackedWeight(node_.inputs[kRnnW], cache, how + "/w", directions * w_floats_,
                             [&](const float* w, float* to) { pack_w(w, to); });
    packed_r_ = PackedWeight(node_.inputs[kRnnR], cache, how + "/r", directions * r_floats_,
                             [&](const float* r, float* to) { pack_r(r, to); });
    if (packed_w_.data() != nullptr) packed |= 1U << kRnnW;
    if (packed_r_.data() != nullptr) packed |= 1U << kRnnR;
  }

  void place() {
    const auto take = [&](std::size_t bytes) {
      const std::size_t offset = workspace;
      workspace += align_up(bytes);
      return offset;
    };
    const std::size_t rows = batch_ * hidden_ * sizeof(float), directions = spec_.directions();
    w_at_ = take(packed_w_.data() != nullptr ? 0 : directions * w_floats_ * sizeof(float));
    r_at_ = take(packed_r_.data() != nullptr ? 0 : directions * r_floats_ * sizeof(float));
    bias_at_ = take((width_ + hidden_) * sizeof(float));
    sums_at_ = take(chunk_ * batch_ * width_ * sizeof(float));
    h_at_ = take(rows);
    c_at_ = take(rows);
    scratch_at_ = take(rows);
    lengths_at_ = take(batch_ * sizeof(std::int64_t));
  }

  Buffers begin(const StepRun& run) const {
    auto* base = static_cast<std::byte*>(run.workspace);
    const auto floats = [&](std::size_t offset) { return reinterpret_cast<float*>(base + offset); };
    Buffers buffers{packed_w_.data(), packed_r_.data(), floats(bias_at_),    floats(sums_at_),
                    floats(h_at_),    floats(c_at_),    floats(scratch_at_), reinterpret_cast<std::int64_t*>(base + lengths_at_)};
    if (buffers.w == nullptr) {
      pack_w(input_data(run, node_, kRnnW), floats(w_at_));
      buffers.w = floats(w_at_);
    }
    if (buffers.r == nullptr) {
      pack_r(input_data(run, node_, kRnnR), floats(r_at_));
      buffers.r = floats(r_at_);
    }
    std::fill_n(buffers.lengths, batch_, static_cast<std::int64_t>(steps_));
    if (present(node_.inputs, kRnnLengths)) {
      const Operand& operand = node_.inputs[kRnnLengths];
      const auto* lengths = input_data<std::byte>(run, node_, kRnnLengths);
      load_run(operand.dtype, lengths, operand.strides[0], batch_, buffers.lengths);
      for (std::size_t b = 0; b < batch_; ++b) check_rnn_length(name_, buffers.lengths[b], static_cast<std::int64_t>(steps_));
    }
    return buffers;
  }

  /// Both halves of the bias as one, but for the candidate of a gru that is reset after its product: that of R follows.
  bool fill_bias(const StepRun& run, std::size_t direction, float* bias) const {
    const float* given = input_data(run, node_, kRnnBias);
    if (given == nullptr) return false;
    given += direction * 2 * width_;
    const std::size_t joined = spec_.linear_before_reset ? first_ : width_;
    for (std::size_t i = 0; i < joined; ++i) bias[i] = given[i] + given[width_ + i];
    std::copy(given + joined, given + width_, bias + joined);
    if (first_ != width_) std::copy(given + width_ + first_, given + 2 * width_, bias + width_);
    return true;
  }

  void load_state(const StepRun& run, std::size_t operand, std::size_t direction, float* state) const {
    const float* given = input_data(run, node_, operand);
    if (given == nullptr) {
      std::fill_n(state, batch_ * hidden_, 0.0F);
    } else {
      std::copy_n(given + direction * batch_ * hidden_, batch_ * hidden_, state);
    }
  }

  void store_state(const StepRun& run, const Buffers& buffers, std::size_t output, std::size_t direction,
                   const float* state) const {
    if (output >= run.outputs.size() || run.outputs[output] == nullptr) return;
    float* to = static_cast<float*>(run.outputs[output]) + direction * batch_ * hidden_;
    for (std::size_t b = 0; b < batch_; ++b, to += hidden_, state += hidden_) {
      if (buffers.lengths[b] == 0) {
        std::fill_n(to, hidden_, 0.0F);
      } else {
        std::copy_n(state, hidden_, to);
      }
    }
  }

  void run_direction(const StepRun& run, const Buffers& buffers, std::size_t direction) const {
    const bool biased = fill_bias(run, direction, buffers.bias);
    load_state(run, kRnnHidden, direction, buffers.h);
    load_state(run, kRnnCell, direction, buffers.c);
    const float* x = input_data(run, node_, kRnnX);
    for (std::size_t done = 0; done < steps_; done += chunk_) {
      const std::size_t count = std::min(chunk_, steps_ - done);
      const bool reversed = spec_.reversed[direction];
      const std::size_t first = reversed ? steps_ - done - count : done;
      project(run, buffers, direction, x + first * batch_ * inputs_, count * batch_, biased);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t t = reversed ? count - 1 - i : i;
        float* sums = buffers.sums + t * batch_ * width_;
        step(run, buffers, direction, sums, first + t, biased);
      }
    }
    store_state(run, buffers, 1, direction, buffers.h);
    store_state(run, buffers, 2, direction, buffers.c);
  }

  /// sums = x·Wᵀ + bias for `rows` rows.
  void project(const StepRun& run, const Buffers& buffers, std::size_t direction, const float* x, std::size_t rows,
               bool biased) const {
    kernels::GemmArgs args{rows,
                           width_,
                           inputs_,
                           x,
                           static_cast<std::ptrdiff_t>(inputs_),
                           buffers.w + direction * w_floats_,
                           buffers.sums,
                           static_cast<std::ptrdiff_t>(width_),
                           {}};
    if (biased) args.epilogue.bias = buffers.bias;
    kernels::TileGrid grid = input_grid_;
    grid.rows = rows;  // the last chunk may be shorter
    multiply(run, grid, args);
  }

  void multiply(const StepRun& run, const kernels::TileGrid& grid, const kernels::GemmArgs& args) const {
    const double cost =
        product_nanoseconds(static_cast<double>(args.m), static_cast<double>(args.n), static_cast<double>(args.k));
    parallel_tasks(run, grid.count(), cost, [&](std::size_t index, std::size_t) {
      const auto tile = grid.tile(index);
      kernels::gemm_tile(gemm_, args, tile.row, tile.row_end, tile.column, tile.column_end);
    });
  }

  /// c = state·Rᵀ + c for columns of R in these panels.
  kernels::GemmArgs recurrent(const float* state, const float* panels, std::size_t columns, float* c, std::size_t stride) const {
    kernels::GemmArgs args{
        batch_, columns, hidden_, state, static_cast<std::ptrdiff_t>(hidden_), panels, c, static_cast<std::ptrdiff_t>(stride),
        {}};
    args.epilogue.residual = c;
    args.epilogue.residual_stride = args.ldc;
    return args;
  }

  void step(const StepRun& run, const Buffers& buffers, std::size_t direction, float* sums, std::size_t t, bool biased) const {
    const float* r = buffers.r + direction * r_floats_;
    const RnnGates& gates = gates_[direction];
    const float* seen = buffers.h;
    if (spec_.quantised_state) {
      std::copy_n(buffers.h, batch_ * hidden_, buffers.scratch);
      for (std::size_t b = 0; b < batch_; ++b)
        if (spec_.dropped(direction, static_cast<std::int64_t>(t), buffers.lengths[b]))
          std::fill_n(buffers.scratch + b * hidden_, hidden_, 0.0F);
      quantise_rnn_state(buffers.scratch, batch_ * hidden_, buffers.scratch);
      seen = buffers.scratch;
    }
    multiply(run, first_grid_, recurrent(seen, r, first_, sums, width_));
    if (spec_.kind == RnnKind::gru) {
      const auto row = [&](std::size_t b) { return sums + b * width_; };
      const auto scratch = [&](std::size_t b) { return buffers.scratch + b * hidden_; };
      for_rows(run, [&](std::size_t b) {
        gates.gru_gates(row(b));
        if (!spec_.linear_before_reset) gates.multiply(row(b) + hidden_, buffers.h + b * hidden_, scratch(b));
      });
      if (spec_.linear_before_reset) {
        kernels::GemmArgs args = recurrent(buffers.h, r + first_floats_, hidden_, buffers.scratch, hidden_);
        args.epilogue = {};
        if (biased) args.epilogue.bias = buffers.bias + width_;
        multiply(run, rest_grid_, args);
        for_rows(run, [&](std::size_t b) {
          gates.multiply(row(b) + hidden_, scratch(b), scratch(b));
          gates.add(row(b) + first_, scratch(b), row(b) + first_);
        });
      } else {
        multiply(run, rest_grid_, recurrent(buffers.scratch, r + first_floats_, hidden_, sums + first_, width_));
      }
    }
    const float* peephole = input_data(run, node_, kRnnPeephole);
    if (peephole != nullptr) peephole += direction * 3 * hidden_;
    float* y = run.outputs.empty() ? nullptr : static_cast<float*>(run.outputs[0]);
    if (y != nullptr) y += (t * spec_.directions() + direction) * batch_ * hidden_;
    for_rows(run, [&](std::size_t b) {
      float *h = buffers.h + b * hidden_, *row = sums + b * width_;
      const bool inside = static_cast<std::int64_t>(t) < buffers.lengths[b];
      if (inside && spec_.kind == RnnKind::lstm)
        gates.lstm(row, peephole, h, buffers.c + b * hidden_, buffers.scratch + b * hidden_);
      if (inside && spec_.kind == RnnKind::gru) gates.gru_state(row, h, buffers.scratch + b * hidden_);
      if (inside && spec_.kind == RnnKind::simple) gates.simple(row, h);
      if (y == nullptr) return;
      if (inside) {
        std::copy_n(h, hidden_, y + b * hidden_);
      } else {
        std::fill_n(y + b * hidden_, hidden_, 0.0F);
      }
    });
  }

  template <typename Body>
  void for_rows(const StepRun& run, const Body& body) const {
    parallel_ranges(run, static_cast<std::int64_t>(batch_), piece_size(static_cast<double>(width_) * 2),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t b = begin; b < end; ++b) body(static_cast<std::size_t>(b));
                    });
  }

  NodeRequest node_;
  std::string name_;
  RnnSpec spec_;
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  std::vector<RnnGates> gates_;
  std::size_t steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0;
  std::size_t width_ = 0;  // all gates' sums of a row
  std::size_t first_ = 0;  // those of the first product: all, but for the candidate of a gru
  std::size_t chunk_ = 0;  // steps whose inputs are projected at a time
  kernels::TileGrid input_grid_, first_grid_, rest_grid_;
  PackedWeight packed_w_, packed_r_;
  std::size_t w_floats_ = 0, r_floats_ = 0, first_floats_ = 0;  // of one direction; the first product's part of R
  std::size_t w_at_ = 0, r_at_ = 0, bias_at_ = 0, sums_at_ = 0, h_at_ = 0, c_at_ = 0, scratch_at_ = 0, lengths_at_ = 0;
};

bool takes(const NodeRequest& node) {
  return node.inputs[kRnnX].dtype == DType::float32 && RnnGates::known(rnn_spec(*node.node));
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!present(node.inputs, i) || i == kRnnLengths) continue;
    const Order rows = row_major_order(node.inputs[i].shape.size());
    if (!dense_in(node.inputs[i].shape, node.inputs[i].strides, rows)) layout.inputs[i] = rows;
  }
  for (const Operand& output : node.outputs) layout.outputs.push_back(row_major_order(output.shape.size()));
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache& cache, std::size_t threads) {
  if (!takes(node)) return nullptr;
  return std::make_unique<RnnStep>(node, cache, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"rnn", layout, prepare}}};

}  // namespace

std::span<const FastOp> rnn_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
