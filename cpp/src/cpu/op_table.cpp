// Joins the lists of the step files.
#include "cpu/op_table.h"

#include <algorithm>
#include <vector>

#include "cpu/attention_step.h"
#include "cpu/conv_chain_step.h"
#include "cpu/conv_step.h"
#include "cpu/conv_transpose_step.h"
#include "cpu/elementwise_step.h"
#include "cpu/first_conv_step.h"
#include "cpu/instance_norm_step.h"
#include "cpu/matmul_step.h"
#include "cpu/pad_step.h"
#include "cpu/pool_step.h"
#include "cpu/reduce_step.h"
#include "cpu/resize_step.h"
#include "cpu/rnn_step.h"
#include "cpu/row_steps.h"
#include "cpu/typed_step.h"

namespace jitney::cpu {
namespace {

std::vector<FastOp> join_lists() {
  std::vector<FastOp> all;
  for (const std::span<const FastOp> list :
       {attention_steps(), conv_steps(), conv_transpose_steps(), elementwise_steps(), instance_norm_steps(), matmul_steps(),
        pad_steps(), pool_steps(), reduce_steps(), resize_steps(), rnn_steps(), row_steps(), typed_steps()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  std::sort(all.begin(), all.end(), [](const FastOp& a, const FastOp& b) { return a.op < b.op; });
  return all;
}

}  // namespace

const FastOp* find_fast_op(std::string_view op) noexcept {
  static const std::vector<FastOp> all = join_lists();
  const auto found = std::lower_bound(all.begin(), all.end(), op, [](const FastOp& a, std::string_view b) { return a.op < b; });
  return found != all.end() && found->op == op ? &*found : nullptr;
}

std::span<const FusedOp> fused_ops() noexcept {
  static const std::vector<FusedOp> all = {fused_first_conv(), fused_conv_chain(), fused_elementwise()};
  return all;
}

}  // namespace jitney::cpu
