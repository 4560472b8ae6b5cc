// What conv and conv_transpose steps need to know of a request.
#include "cpu/conv_shape.h"

#include "cpu/epilogue_operands.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"

namespace jitney::cpu {

kernels::Spatial spatial3(const Shape& values, std::int64_t fill) {
  kernels::Spatial all{fill, fill, fill};
  for (std::size_t i = 0; i < values.size(); ++i) all[3 - values.size() + i] = values[i];
  return all;
}

kernels::ConvGeometry conv_sizes(const WindowGeometry& window, std::int64_t batch) {
  kernels::ConvGeometry geometry;
  geometry.batch = batch;
  geometry.input = spatial3(window.input, 1);
  geometry.output = spatial3(window.output, 1);
  geometry.kernel = spatial3(window.kernel, 1);
  geometry.stride = spatial3(window.stride, 1);
  geometry.dilation = spatial3(window.dilation, 1);
  geometry.pad_begin = spatial3(window.pad_begin, 0);
  return geometry;
}

kernels::ConvGeometry conv_geometry(const WindowGeometry& window, const Operand& x) {
  const PixelStrides pixels = *pixel_strides(x.shape, x.strides);
  kernels::ConvGeometry geometry = conv_sizes(window, x.shape[0]);
  geometry.input_stride = spatial3(pixels.spatial, 0);
  geometry.input_batch_stride = pixels.batch;
  return geometry;
}

bool is_plain_conv(const NodeRequest& node, std::int64_t filters) {
  const Operand& x = node.inputs[0];
  const Operand& w = node.inputs[1];
  const std::size_t rank = x.shape.size();
  return x.dtype == DType::float32 && w.dtype == DType::float32 && rank >= 3 && rank <= 5 && x.shape[1] > 0 &&
         w.shape.elements() > 0 && epilogue_fits(node, filters);
}

NodeLayout conv_layout(const NodeRequest& node) {
  const Order channels_last = channels_last_order(node.inputs[0].shape.size());
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  if (!pixel_strides(node.inputs[0].shape, node.inputs[0].strides)) layout.inputs[0] = channels_last;
  epilogue_layout(node, layout);
  if (present(node.inputs, kResidualOperand)) {
    const Operand& residual = node.inputs[kResidualOperand];
    if (!uniform_pixel_stride(residual.shape, residual.strides)) layout.inputs[kResidualOperand] = channels_last;
    layout.in_place = 1U << kResidualOperand;
  }
  layout.outputs.push_back(channels_last);
  layout.strided_output = true;
  return layout;
}

}  // namespace jitney::cpu
