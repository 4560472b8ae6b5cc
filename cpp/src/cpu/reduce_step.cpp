// Reductions of float32 over any axes: along contiguous runs, over rows column by column, or element by element.
#include "cpu/reduce_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/kernels/reduce/reduce.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/access.h"

namespace jitney::cpu {
namespace {

struct Kind {
  std::string_view name;
  kernels::ReduceOp op;
};
constexpr std::array<Kind, 7> kKinds = {{{"sum", kernels::ReduceOp::sum},
                                         {"mean", kernels::ReduceOp::sum},
                                         {"max", kernels::ReduceOp::max},
                                         {"min", kernels::ReduceOp::min},
                                         {"l1", kernels::ReduceOp::abs_sum},
                                         {"l2", kernels::ReduceOp::square_sum},
                                         {"sum_square", kernels::ReduceOp::square_sum}}};

const Kind* find_kind(std::string_view name) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

/// Which axes are reduced; nullopt if that is not known before the run.
std::optional<std::vector<bool>> reduced_axes(const NodeRequest& node) {
  const std::size_t rank = node.inputs[0].shape.size();
  std::vector<std::int64_t> axes;
  if (present(node.inputs, 1)) {
    const auto known = node.inputs[1].bytes();
    if (!known) return std::nullopt;
    axes = read_integers(*known);
  }
  if (axes.empty()) return std::vector<bool>(rank, node.node->integer("noop_with_empty_axes", 0) == 0);
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  return reduced;
}

/// Axes walked as nested loops, outermost first.
struct Loops {
  struct Axis {
    std::int64_t size, from, to;  // strides in the input and in the output
  };
  std::array<Axis, kMaxRank> axes{};
  std::size_t rank = 0;
  std::int64_t count = 1;

  /// Axes are given in logical order and sorted by their input strides, so that memory is read in order.
  void add(Axis axis) {
    count *= axis.size;
    if (axis.size == 1) return;
    std::size_t place = rank++;
    for (; place > 0 && axes[place - 1].from < axis.from; --place) axes[place] = axes[place - 1];
    axes[place] = axis;
  }
  void merge() {
    std::size_t merged = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      Axis* outer = merged > 0 ? &axes[merged - 1] : nullptr;
      if (outer != nullptr && outer->from == axes[i].from * axes[i].size && outer->to == axes[i].to * axes[i].size) {
        *outer = {outer->size * axes[i].size, axes[i].from, axes[i].to};
      } else {
        axes[merged++] = axes[i];
      }
    }
    rank = merged;
  }
  /// Removes and returns the innermost axis (of size 1 if there is none).
  Axis pop() { return rank > 0 ? (count /= std::max<std::int64_t>(axes[rank - 1].size, 1), axes[--rank]) : Axis{1, 0, 0}; }
  /// Offsets of a flat index.
  std::pair<std::int64_t, std::int64_t> at(std::int64_t index) const {
    std::int64_t from = 0, to = 0;
    for (std::size_t i = rank; i-- > 0; index /= axes[i].size) {
      from += index % axes[i].size * axes[i].from;
      to += index % axes[i].size * axes[i].to;
    }
    return {from, to};
  }
};

class ReduceStep final : public Step {
 public:
  ReduceStep(const NodeRequest& node, const std::vector<bool>& reduced, const Kind& kind)
      : node_(node), kind_(kind), kernel_(kernels::reduce_kernel(kind.op)) {
    const Operand &x = node.inputs[0], &y = node.outputs[0];
    empty_ = y.shape.elements() == 0;
    const bool keep = node.node->integer("keep_dims", 1) != 0;
    std::size_t output_axis = 0;
    for (std::size_t i = 0; i < x.shape.size(); ++i) {
      if (reduced[i]) {
        inner_.add({x.shape[i], x.strides[i], 0});
        if (keep) ++output_axis;
      } else {
        outer_.add({x.shape[i], x.strides[i], y.strides[output_axis++]});
      }
    }
    elements_ = inner_.count;
    inner_.merge();
    outer_.merge();
    mean_ = kind.name == "mean";
    root_ = kind.name == "l2";
    if (inner_.rank > 0 && inner_.axes[inner_.rank - 1].from == 1) {
      run_ = inner_.pop();
      kernel = "f32_reduce_runs";
      const Loops::Axis* next = outer_.rank > 0 ? &outer_.axes[outer_.rank - 1] : nullptr;
      if (inner_.count == 1 && next != nullptr && run_.size <= kShort && next->from == run_.size) {
        columns_ = outer_.pop();
        by_short_runs_ = true;
      }
    } else if (outer_.rank > 0 && outer_.axes[outer_.rank - 1].from == 1) {
      columns_ = outer_.pop();
      run_ = inner_.pop();
      by_columns_ = true;
      cut_rows();
      kernel = "f32_reduce_columns";
    } else {
      run_ = inner_.pop();
      kernel = "f32_reduce_strided";
    }
    if (elements_ == 0) run_.size = 0;
  }

  void run(const StepRun& run) const override {
    if (empty_) return;
    const float* x = input_data(run, node_, 0);
    auto* y = static_cast<float*>(run.outputs[0]);
    if (by_short_runs_ && run_.size > 0) {
      const std::int64_t blocks = (columns_.size + kBlock - 1) / kBlock;
      const std::int64_t piece = piece_size(static_cast<double>(std::min(kBlock, columns_.size) * run_.size) * 0.5);
      parallel_ranges(run, outer_.count * blocks, piece, [&](std::int64_t begin, std::int64_t end, std::size_t) {
        for (std::int64_t i = begin; i < end; ++i) reduce_short_runs(x, y, i / blocks, i % blocks * kBlock);
      });
    } else if (by_columns_) {
      reduce_all_columns(run, x, y);
    } else {
      const double cost = static_cast<double>(elements_) * (run_.from == 1 ? 0.1 : 1.0) + 5;
      parallel_ranges(run, outer_.count, piece_size(cost), [&](std::int64_t begin, std::int64_t end, std::size_t) {
        for (std::int64_t i = begin; i < end; ++i) reduce_one(x, y, i);
      });
    }
  }

 private:
  static constexpr auto kBlock = static_cast<std::int64_t>(kernels::kMostReduceColumns);
  static constexpr auto kShort = static_cast<std::int64_t>(kernels::kShortRun);
  /// Rows are cut into segments of at least so many elements, whose totals are joined at last: work for several threads.
  static constexpr std::int64_t kSegmentElements = 32 * 1024;
  static constexpr std::int64_t kSegmentRows = 64;
  static constexpr std::int64_t kMostSegments = 32;

  float finish(double total) const {
    if (mean_) total /= static_cast<double>(elements_);
    if (root_) total = std::sqrt(total);
    return static_cast<float>(total);
  }

  void reduce_one(const float* x, float* y, std::int64_t index) const {
    const auto [from, to] = outer_.at(index);
    double total = kernel_.start;
    for (std::int64_t i = 0; i < inner_.count && run_.size > 0; ++i) {
      const float* start = x + from + inner_.at(i).first;
      if (run_.from == 1) {
        total = kernel_.run(static_cast<std::size_t>(run_.size), start, total);
        continue;
      }
      for (std::int64_t k = 0; k < run_.size; ++k) total = kernel_.join(total, static_cast<double>(start[k * run_.from]));
    }
    y[to] = finish(total);
  }

  void reduce_short_runs(const float* x, float* y, std::int64_t index, std::int64_t first) const {
    const auto [from, to] = outer_.at(index);
    const std::int64_t count = std::min(kBlock, columns_.size - first);
    std::array<double, kernels::kMostReduceColumns> totals;
    kernel_.short_runs(static_cast<std::size_t>(run_.size), static_cast<std::size_t>(count), x + from + first * run_.size,
                       totals.data());
    for (std::int64_t i = 0; i < count; ++i) y[to + (first + i) * columns_.to] = finish(totals[static_cast<std::size_t>(i)]);
  }

  /// A matter of the shape alone, like all that results depend on.
  void cut_rows() {
    segment_rows_ = run_.size;
    const bool joins = kind_.op != kernels::ReduceOp::abs_sum && kind_.op != kernels::ReduceOp::square_sum;
    if (!joins || inner_.count != 1 || run_.size == 0) return;
    const std::int64_t wanted = std::max(kSegmentElements / std::clamp<std::int64_t>(columns_.size, 1, kBlock),
                                         (run_.size + kMostSegments - 1) / kMostSegments);
    segment_rows_ = std::min((wanted + kSegmentRows - 1) / kSegmentRows * kSegmentRows, run_.size);
    segments_ = (run_.size + segment_rows_ - 1) / segment_rows_;
    if (segments_ > 1) workspace = static_cast<std::size_t>(outer_.count * segments_ * columns_.size) * sizeof(double);
  }

  void reduce_all_columns(const StepRun& run, const float* x, float* y) const {
    const std::int64_t blocks = (columns_.size + kBlock - 1) / kBlock;
    const double cost = static_cast<double>(std::min(kBlock, columns_.size) * segment_rows_ * inner_.count) * 0.1;
    auto* parts = static_cast<double*>(run.workspace);
    parallel_ranges(run, outer_.count * segments_ * blocks, piece_size(cost),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t i = begin; i < end; ++i) reduce_columns(x, y, parts, i / blocks, i % blocks * kBlock);
                    });
    if (segments_ == 1) return;
    for (std::int64_t index = 0; index < outer_.count; ++index) {
      const std::int64_t to = outer_.at(index).second;
      const double* part = parts + index * segments_ * columns_.size;
      for (std::int64_t c = 0; c < columns_.size; ++c) {
        double total = part[c];
        for (std::int64_t s = 1; s < segments_; ++s) total = kernel_.join(total, part[s * columns_.size + c]);
        y[to + c * columns_.to] = finish(total);
      }
    }
  }

  /// Columns from `first` on of a segment; into `parts` if there are several of them.
  void reduce_columns(const float* x, float* y, double* parts, std::int64_t segment, std::int64_t first) const {
    const auto [from, to] = outer_.at(segment / segments_);
    const std::int64_t count = std::min(kBlock, columns_.size - first), row = segment % segments_ * segment_rows_;
    const std::int64_t rows = std::min(segment_rows_, run_.size - row);
    std::array<double, kernels::kMostReduceColumns> own;
    double* totals = segments_ > 1 ? parts + segment * columns_.size + first : own.data();
    std::fill_n(totals, count, kernel_.start);
    for (std::int64_t i = 0; i < inner_.count && run_.size > 0; ++i) {
      kernel_.columns(static_cast<std::size_t>(rows), run_.from, static_cast<std::size_t>(count),
                      x + from + first + inner_.at(i).first + row * run_.from, totals);
    }
    if (segments_ > 1) return;
    for (std::int64_t c = 0; c < count; ++c) y[to + (first + c) * columns_.to] = finish(totals[c]);
  }

  NodeRequest node_;
  const Kind& kind_;
  const kernels::ReduceKernel& kernel_;
  Loops outer_, inner_;
  Loops::Axis run_{1, 0, 0}, columns_{1, 0, 0};
  std::int64_t elements_ = 0;  // per result
  std::int64_t segments_ = 1, segment_rows_ = 0;
  bool empty_ = false, by_columns_ = false, by_short_runs_ = false;
  bool mean_ = false, root_ = false;
};

std::optional<NodeLayout> layout(const NodeRequest& node) {
  const auto reduced = reduced_axes(node);
  if (!reduced) return std::nullopt;
  // Kept axes keep their order; reduced ones, of size 1 then, lie anywhere.
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  const Order order = storage_order(node.inputs[0].shape, node.inputs[0].strides);
  if (node.outputs[0].shape.size() == order.size()) {
    layout.outputs.push_back(order);
    return layout;
  }
  Order kept;
  for (const std::int64_t axis : order) {
    if ((*reduced)[static_cast<std::size_t>(axis)]) continue;
    kept.push_back(axis - std::count(reduced->begin(), reduced->begin() + axis, true));
  }
  layout.outputs.push_back(kept);
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t) {
  const Kind* kind = find_kind(node.node->text("kind"));
  const auto reduced = reduced_axes(node);
  if (kind == nullptr || !reduced || node.inputs[0].dtype != DType::float32) return nullptr;
  return std::make_unique<ReduceStep>(node, *reduced, *kind);
}

constexpr std::array<FastOp, 1> kOps = {{{"reduce", layout, prepare}}};

}  // namespace

std::span<const FastOp> reduce_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
