// A chain of convolutions in bands of rows: each link computes rows when the next one needs them.
#include "cpu/conv_chain.h"

#include <algorithm>

#include "base/aligned.h"

namespace jitney::cpu {

std::ptrdiff_t ChainLink::first_input(std::ptrdiff_t row) const noexcept {
  const std::ptrdiff_t first = row * geometry.stride[1] - geometry.pad_begin[1];
  return std::clamp<std::ptrdiff_t>(first, 0, geometry.input[1]);
}

std::ptrdiff_t ChainLink::end_input(std::ptrdiff_t end) const noexcept {
  const std::ptrdiff_t reach = (geometry.kernel[1] - 1) * geometry.dilation[1];
  const std::ptrdiff_t last = (end - 1) * geometry.stride[1] - geometry.pad_begin[1] + reach;
  return std::clamp<std::ptrdiff_t>(last + 1, 0, geometry.input[1]);
}

ConvChain::ConvChain(const ChainLink* links, std::size_t count)
    : count_(count), gemm_(&kernels::gemm_kernel(active_isa())), depthwise_(&kernels::dwconv_kernel(active_isa())) {
  std::copy_n(links, count, links_.begin());
  // Enough pixels at a time to fill register tiles, and pairs of rows for the depthwise kernel.
  const auto tile = static_cast<std::ptrdiff_t>(4 * gemm_->mr);
  const std::ptrdiff_t columns = std::max<std::ptrdiff_t>(1, links_[count - 1].columns_out());
  step_ = ((tile + columns - 1) / columns + 1) / 2 * 2;
  std::ptrdiff_t rows = step_;
  for (std::size_t i = count - 1; i-- > 0;) {
    const kernels::ConvGeometry& next = links_[i + 1].geometry;
    ChainLink& link = links_[i];
    rows = (rows - 1) * next.stride[1] + (next.kernel[1] - 1) * next.dilation[1] + 1;
    rows = std::min(rows, std::max<std::ptrdiff_t>(1, link.rows_out()));
    link.kept_rows = static_cast<std::size_t>(rows);
    // Whole lines of the cache, and not so many that pixels compete for the same sets.
    const std::size_t line = kAlignment / sizeof(float);
    std::size_t pixel = (link.filters + line - 1) / line * line;
    if (pixel % (16 * line) == 0) pixel += line;
    link.pixel = static_cast<std::ptrdiff_t>(pixel);
    link.rows_at = scratch_;
    scratch_ += align_up(link.kept_rows * static_cast<std::size_t>(link.columns_out()) * pixel * sizeof(float));
    link.pointers_at = scratch_;
    scratch_ += align_up(static_cast<std::size_t>(link.rows_out()) * sizeof(float*));
  }
}

/// One band of rows: what each link has computed so far, and how it goes on.
class ConvChain::Band {
 public:
  Band(const ConvChain& chain, const Run& run, std::ptrdiff_t image, std::byte* scratch)
      : chain_(chain), run_(run), image_(image), scratch_(scratch) {}

  void compute(std::ptrdiff_t first, std::ptrdiff_t end) {
    std::ptrdiff_t row = first;
    for (std::size_t i = chain_.count_; i-- > 0;) {
      done_[i] = row;
      row = chain_.links_[i].first_input(row);
    }
    while (done_[chain_.count_ - 1] < end) need(chain_.count_ - 1, std::min(end, done_[chain_.count_ - 1] + chain_.step_));
  }

 private:
  float* row_of(std::size_t link, std::ptrdiff_t row) const {
    const ChainLink& from = chain_.links_[link];
    const std::ptrdiff_t place = row % static_cast<std::ptrdiff_t>(from.kept_rows);
    return reinterpret_cast<float*>(scratch_ + from.rows_at) + place * from.columns_out() * from.pixel;
  }
  const float** pointers_of(std::size_t link) const {
    return reinterpret_cast<const float**>(scratch_ + chain_.links_[link].pointers_at);
  }
  /// Rows of a link's output that follow each other in memory from this one on.
  std::ptrdiff_t rows_together(std::size_t link, std::ptrdiff_t row) const {
    const auto kept = static_cast<std::ptrdiff_t>(chain_.links_[link].kept_rows);
    return kept - row % kept;
  }

  /// Computes the link's rows up to `end`.
  void need(std::size_t i, std::ptrdiff_t end) {
    const ChainLink& link = chain_.links_[i];
    if (i > 0) need(i - 1, link.end_input(end));
    const bool last = i + 1 == chain_.count_;
    while (done_[i] < end) {
      const std::ptrdiff_t row = done_[i];
      std::ptrdiff_t count = end - row;
      if (!last) count = std::min(count, rows_together(i, row));
      if (!link.depthwise) count = std::min(count, input_together(i, row));
      const std::ptrdiff_t pixel = (image_ * link.rows_out() + row) * link.columns_out();
      float* const y = last ? run_.y + pixel * run_.y_stride : row_of(i, row);
      const std::ptrdiff_t y_stride = last ? run_.y_stride : link.pixel;
      const kernels::Epilogue epilogue = last ? kernels::shifted(run_.epilogues[i], pixel, 0) : run_.epilogues[i];
      if (link.depthwise) {
        slide(i, row, count, y, y_stride, epilogue);
      } else {
        multiply(i, row, count, y, y_stride, epilogue);
      }
      if (!last) {
        const float** pointers = pointers_of(i);
        for (std::ptrdiff_t r = row; r < row + count; ++r) pointers[r] = row_of(i, r);
      }
      done_[i] = row + count;
    }
  }

  std::ptrdiff_t input_together(std::size_t i, std::ptrdiff_t row) const {
    if (i > 0) return rows_together(i - 1, row);
    const kernels::ConvGeometry& g = chain_.links_[0].geometry;
    return g.input_stride[1] == g.input[2] * g.input_stride[2] ? g.input[1] - row : 1;
  }

  const float* image_of(const kernels::ConvGeometry& g) const { return run_.x + image_ * g.input_batch_stride; }

  void multiply(std::size_t i, std::ptrdiff_t row, std::ptrdiff_t count, float* y, std::ptrdiff_t y_stride,
                const kernels::Epilogue& epilogue) const {
    const ChainLink& link = chain_.links_[i];
    kernels::GemmArgs args;
    args.m = static_cast<std::size_t>(count * link.columns_out());
    args.n = link.filters;
    args.k = link.channels;
    args.a = i == 0 ? image_of(link.geometry) + row * link.geometry.input_stride[1] : row_of(i - 1, row);
    args.lda = i == 0 ? link.geometry.input_stride[2] : chain_.links_[i - 1].pixel;
    args.b = run_.weights[i];
    args.c = y;
    args.ldc = y_stride;
    args.epilogue = epilogue;
    kernels::gemm_tile(*chain_.gemm_, args, 0, args.m, 0, args.n);
  }

  void slide(std::size_t i, std::ptrdiff_t row, std::ptrdiff_t count, float* y, std::ptrdiff_t y_stride,
             const kernels::Epilogue& epilogue) const {
    const ChainLink& link = chain_.links_[i];
    kernels::DwConvArgs args;
    args.geometry = link.geometry;
    // The band as an image of its own.
    args.geometry.pad_begin[1] -= row * link.geometry.stride[1];
    args.geometry.output[1] = count;
    args.channels = link.channels;
    if (i == 0) {
      args.input = image_of(link.geometry);
    } else {
      args.input_rows = pointers_of(i - 1);
      args.geometry.input_stride[2] = chain_.links_[i - 1].pixel;
    }
    args.weights = run_.weights[i];
    args.output = y;
    args.output_stride = y_stride;
    args.epilogue = epilogue;
    kernels::dwconv_tile(*chain_.depthwise_, args, 0, static_cast<std::size_t>(count), 0, link.channels);
  }

  const ConvChain& chain_;
  const Run& run_;
  std::ptrdiff_t image_;
  std::byte* scratch_;
  std::array<std::ptrdiff_t, kMostLinks> done_{};
};

void ConvChain::run(const Run& run, std::ptrdiff_t image, std::ptrdiff_t first, std::ptrdiff_t end, std::byte* scratch) const {
  Band(*this, run, image, scratch).compute(first, end);
}

}  // namespace jitney::cpu
