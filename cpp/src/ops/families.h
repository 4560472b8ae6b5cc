// The families of ops, each defined in the file of its name. Named one by one so that no linker can drop a family.
#pragma once

#include <span>

#include "ops/op.h"

namespace jitney {

std::span<const OpDef> along_axis_ops();
std::span<const OpDef> attention_ops();
std::span<const OpDef> binary_ops();
std::span<const OpDef> concat_ops();
std::span<const OpDef> control_ops();
std::span<const OpDef> conv_ops();
std::span<const OpDef> conv_transpose_ops();
std::span<const OpDef> dft_ops();
std::span<const OpDef> determinant_ops();
std::span<const OpDef> elementwise_ops();
std::span<const OpDef> fold_ops();
std::span<const OpDef> gather_ops();
std::span<const OpDef> grid_sample_ops();
std::span<const OpDef> matmul_ops();
std::span<const OpDef> movement_ops();
std::span<const OpDef> norm_ops();
std::span<const OpDef> pad_ops();
std::span<const OpDef> pool_ops();
std::span<const OpDef> quantize_ops();
std::span<const OpDef> random_ops();
std::span<const OpDef> reduce_ops();
std::span<const OpDef> reshape_ops();
std::span<const OpDef> resize_ops();
std::span<const OpDef> rnn_ops();
std::span<const OpDef> roi_ops();
std::span<const OpDef> scatter_ops();
std::span<const OpDef> selection_ops();
std::span<const OpDef> shape_ops();
std::span<const OpDef> slice_ops();
std::span<const OpDef> softmax_ops();
std::span<const OpDef> unary_ops();

}  // namespace jitney
