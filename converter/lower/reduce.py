"""Reductions, cumulative sums and selection along axes."""

from __future__ import annotations

from ..ir import Value
from .node import OnnxNode
from .registry import lowers

KINDS = {
    "ReduceL1": "l1", "ReduceL2": "l2", "ReduceLogSum": "log_sum", "ReduceLogSumExp": "log_sum_exp", "ReduceMax": "max",
    "ReduceMean": "mean", "ReduceMin": "min", "ReduceProd": "prod", "ReduceSum": "sum", "ReduceSumSquare": "sum_square",
}  # fmt: skip


@lowers(*KINDS)
def reduce(node: OnnxNode) -> Value:
    listed = node.integers("axes")
    axes = node.int64s(listed) if listed is not None else node.input(1)
    return node.emit(
        "reduce",
        [node.operand(0), axes],
        kind=KINDS[node.op],
        keep_dims=int(node.integer("keepdims") == 1),
        noop_with_empty_axes=node.integer("noop_with_empty_axes") if node.has("noop_with_empty_axes") else 0,
    )


@lowers("ArgMax", "ArgMin")
def arg_reduce(node: OnnxNode) -> Value:
    return node.emit(
        "arg_reduce",
        [node.operand(0)],
        kind="max" if node.op == "ArgMax" else "min",
        axis=node.integer("axis"),
        keep_dims=int(node.integer("keepdims") == 1),
        select_last=node.integer("select_last_index") if node.has("select_last_index") else 0,
    )


@lowers("CumSum", "CumProd")
def cumulative(node: OnnxNode) -> Value:
    return node.emit(
        node.op.lower(), [node.operand(0), node.operand(1)], exclusive=node.integer("exclusive"), reverse=node.integer("reverse")
    )


@lowers("TopK", since=1)
def top_k_with_attribute(node: OnnxNode) -> list[Value | None]:
    return _top_k(node, node.int64s([node.integer("k")]))


@lowers("TopK", since=10)
def top_k(node: OnnxNode) -> list[Value | None]:
    return _top_k(node, node.operand(1))


def _top_k(node: OnnxNode, k: Value) -> list[Value | None]:
    largest = node.integer("largest") if node.has("largest") else 1
    in_order = node.integer("sorted") if node.has("sorted") else 1
    wanted = [True, node.wants(1)]
    return node.emit_results("top_k", [node.operand(0), k], wanted, axis=node.integer("axis"), largest=largest, sorted=in_order)


@lowers("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: OnnxNode) -> Value:
    return over_space(node, node.operand(0), "mean" if node.op == "GlobalAveragePool" else "max")


@lowers("GlobalLpPool")
def global_lp_pool(node: OnnxNode) -> Value:
    x, p = node.operand(0), node.whole("p")
    if p in (1, 2):
        return over_space(node, x, f"l{p}")
    dtype = node.dtype(x)
    powers = node.emit("pow", [node.emit("abs", [x]), node.constant(p, dtype)])
    return node.emit("pow", [over_space(node, powers, "sum"), node.constant(1 / p, dtype)])


def over_space(node: OnnxNode, x: Value, kind: str) -> Value:
    """A reduction over all axes but batch and channels, which stay with size 1."""
    axes = list(range(2, node.rank(x)))
    # With no spatial axes there is nothing to reduce, where an empty list alone would mean all of them.
    return node.emit("reduce", [x, node.int64s(axes)], kind=kind, keep_dims=1, noop_with_empty_axes=1)
