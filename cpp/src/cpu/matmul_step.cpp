// Matrix products in float32, B packed once if constant and in waves per run otherwise.
#include "cpu/matmul_step.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "cpu/epilogue_operands.h"
#include "cpu/kernel_ways.h"
#include "cpu/kernels/gemm/gemm.h"
#include "cpu/matmul_shape.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"

namespace jitney::cpu {
namespace {

/// Matrices of B that are packed at a time take about so much of the cache, if there are more than one.
constexpr std::size_t kWaveBytes = std::size_t{256} << 10;
/// Panels that are packed as one task.
constexpr std::size_t kPackPanels = 8;

/// All that decides between kernels, without the batch.
std::string product_work(const NodeRequest& node, const MatmulShape& shape) {
  std::string words = "product with [" + std::to_string(shape.k) + "×" + std::to_string(shape.n) + "]";
  const Shape& a = node.inputs[0].shape;
  if (a.size() > 2)
    words += " of " +
             std::to_string(a[2 * a.size() - 3 - contraction_axis(node.inputs[0], node.node->integer("trans_a", 0) != 0)]) +
             " rows";
  return node.inputs[1].weight ? words : words + " not constant";
}

const kernels::GemmKernel& best_gemm(const NodeRequest& node, const MatmulShape& shape) {
  const kernels::GemmKernel& best = kernels::gemm_kernel(active_isa());
  if (node.measured == nullptr || node.measured->empty()) return best;
  const auto found = node.measured->find(product_work(node, shape));
  return found == node.measured->end() ? best : kernel_of(kernels::gemm_kernels(), &best, found->second);
}

class MatmulStep final : public Step {
 public:
  MatmulStep(const NodeRequest& node, PackCache& cache, std::size_t threads)
      : node_(node),
        shape_(matmul_shape(node)),
        gemm_(best_gemm(node, shape_)),
        epilogue_(make_epilogue(node, shape_.residual_row, node.node->number("scale", 1.0))) {
    m_ = static_cast<std::size_t>(shape_.m);
    n_ = static_cast<std::size_t>(shape_.n);
    k_ = static_cast<std::size_t>(shape_.k);
    grid_ = kernels::gemm_tiles(gemm_, m_, n_, k_, threads);
    matrix_ = kernels::packed_b_size(gemm_, k_, n_);
    kernel = gemm_.name;
    if (shape_.m == 0 || shape_.n == 0 || shape_.b_matrices.empty()) return;
    const std::string how = "matmul/" + kernel + "/" + std::to_string(node.node->integer("trans_b", 0));
    packed_ = PackedWeight(node.inputs[1], cache, how, matrix_ * shape_.b_matrices.size(), [&](const float* b, float* target) {
      for (std::size_t i = 0; i < shape_.b_matrices.size(); ++i) {
        kernels::pack_b(gemm_, k_, n_, b + shape_.b_matrices[i], shape_.b_k, shape_.b_column, target + i * matrix_);
      }
    });
    copy_ = kernels::row_copy_bytes(gemm_, grid_.row_step, grid_.column_step, k_);
    workspace = threads * copy_;
    if (packed_.data() != nullptr) {
      packed = 1U << 1;
      wave_ = shape_.a.size();
      return;
    }
    wave_ = std::max<std::size_t>(kWaveBytes / std::max<std::size_t>(matrix_ * sizeof(float), 1), 1);
    // Products that share a matrix of B make packing in waves of products useless: pack all of them at once.
    if (shape_.b_matrices.size() != shape_.a.size()) wave_ = shape_.a.size();
    wave_ = std::min(wave_, shape_.a.size());
    matrices_ = std::min(wave_, shape_.b_matrices.size());
    copy_at_ = align_up(matrices_ * matrix_ * sizeof(float));
    workspace += copy_at_;
  }

  void run(const StepRun& run) const override {
    if (m_ == 0 || n_ == 0) return;
    for (std::size_t first = 0; first < shape_.a.size(); first += wave_) {
      const std::size_t last = std::min(first + wave_, shape_.a.size());
      if (packed_.data() == nullptr) pack(run, first);
      multiply(run, first, last);
    }
  }

  std::string why() const override {
    std::string text =
        "[" + std::to_string(m_) + "×" + std::to_string(k_) + "]·[" + std::to_string(k_) + "×" + std::to_string(n_) + "]";
    if (shape_.a.size() > 1) text += ", " + std::to_string(shape_.a.size()) + " products";
    text += " in tiles of " + std::to_string(gemm_.mr) + "×" + std::to_string(gemm_.nr);
    if (packed_.data() != nullptr) return text + "; B is a weight, packed once";
    text += "; B is packed in each run";
    if (wave_ < shape_.a.size()) text += ", " + std::to_string(wave_) + " matrices at a time";
    return text;
  }

  std::optional<Choice> choice() const override {
    Choice choice{product_work(node_, shape_), kernel, kernel_names(kernels::gemm_kernels(), kernels::gemm_kernel(active_isa()))};
    if (choice.ways.size() < 2 || m_ == 0 || n_ == 0) return std::nullopt;
    return choice;
  }

 private:
  /// Packs the matrices that products from `first` on use: all, or those of one wave (then products and matrices match).
  void pack(const StepRun& run, std::size_t first) const {
    const float* b = input_data(run, node_, 1);
    auto* target = static_cast<float*>(run.workspace);
    const std::size_t panels = (n_ + gemm_.nr - 1) / gemm_.nr, pieces = (panels + kPackPanels - 1) / kPackPanels;
    const std::size_t matrices = std::min(matrices_, shape_.b_matrices.size() - first);
    const double cost = static_cast<double>(matrices * n_ * k_) * 0.5;
    parallel_tasks(run, matrices * pieces, cost, [&](std::size_t task, std::size_t) {
      const std::size_t matrix = task / pieces, panel = task % pieces * kPackPanels;
      // In waves, products and matrices are paired one to one, so take the product's own.
      const std::size_t source = matrices_ == shape_.b_matrices.size() ? matrix : shape_.b_index[first + matrix];
      kernels::pack_b(gemm_, k_, n_, b + shape_.b_matrices[source], shape_.b_k, shape_.b_column, target + matrix * matrix_, panel,
                      std::min(panel + kPackPanels, panels));
    });
  }

  void multiply(const StepRun& run, std::size_t first, std::size_t last) const {
    const float* a = input_data(run, node_, 0);
    const float* b = packed_.data() != nullptr ? packed_.data() : static_cast<const float*>(run.workspace);
    auto* c = static_cast<float*>(run.outputs[0]);
    const kernels::Epilogue epilogue = bind_epilogue(epilogue_, node_, run);
    const std::size_t tiles = grid_.count();
    const bool all_packed = packed_.data() != nullptr || matrices_ == shape_.b_matrices.size();
    const double cost = product_nanoseconds(static_cast<double>(m_), static_cast<double>(n_), static_cast<double>(k_));
    parallel_tasks(
        run, tiles * (last - first), cost * static_cast<double>(last - first), [&](std::size_t index, std::size_t worker) {
          const std::size_t product = first + index / tiles;
          const auto tile = grid_.tile(index % tiles);
          const std::size_t matrix = all_packed ? shape_.b_index[product] : product - first;
          kernels::GemmArgs args{
              m_,           n_,      k_, a + shape_.a[product], shape_.a_row, b + matrix * matrix_, c + shape_.c[product],
              shape_.c_row, epilogue};
          if (args.epilogue.residual != nullptr) args.epilogue.residual += shape_.residual[product];
          auto* copy =
              copy_ == 0 ? nullptr : reinterpret_cast<float*>(static_cast<std::byte*>(run.workspace) + copy_at_ + worker * copy_);
          kernels::gemm_tile(gemm_, args, tile.row, tile.row_end, tile.column, tile.column_end, copy);
        });
  }

  NodeRequest node_;
  MatmulShape shape_;
  const kernels::GemmKernel& gemm_;
  kernels::Epilogue epilogue_;
  std::size_t m_ = 0, n_ = 0, k_ = 0;
  kernels::TileGrid grid_;
  PackedWeight packed_;
  std::size_t matrix_ = 0;    // floats of one packed matrix
  std::size_t wave_ = 1;      // products per wave
  std::size_t matrices_ = 1;  // matrices of B packed per wave
  std::size_t copy_ = 0;      // bytes per worker for copies of rows, from copy_at_ on in the workspace
  std::size_t copy_at_ = 0;
};

std::int64_t columns(const NodeRequest& node) {
  const Operand& b = node.inputs[1];
  if (b.shape.size() < 2) return 1;
  return b.shape[b.shape.size() - (node.node->integer("trans_b", 0) != 0 ? 2 : 1)];
}

bool takes(const NodeRequest& node) {
  return node.inputs[0].dtype == DType::float32 && node.inputs[1].dtype == DType::float32 && epilogue_fits(node, columns(node));
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  const Operand& a = node.inputs[0];
  const std::size_t k_axis = contraction_axis(a, node.node->integer("trans_a", 0) != 0);
  if (a.strides[k_axis] != 1 && a.shape[k_axis] != 1) {
    Order order = row_major_order(a.shape.size());
    if (k_axis + 1 < order.size()) std::swap(order[k_axis], order[k_axis + 1]);
    layout.inputs[0] = order;
  }
  epilogue_layout(node, layout);
  const Order rows = row_major_order(node.outputs[0].shape.size());
  if (present(node.inputs, kResidualOperand)) {
    const Operand& residual = node.inputs[kResidualOperand];
    const bool has_columns = node.inputs[1].shape.size() >= 2;
    if (has_columns && residual.strides.back() != 1 && residual.shape.back() != 1) layout.inputs[kResidualOperand] = rows;
    layout.in_place = 1U << kResidualOperand;
  }
  layout.outputs.push_back(rows);
  layout.strided_output = true;
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache& cache, std::size_t threads) {
  if (!takes(node)) return nullptr;
  return std::make_unique<MatmulStep>(node, cache, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"matmul", layout, prepare}}};

}  // namespace

std::span<const FastOp> matmul_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
