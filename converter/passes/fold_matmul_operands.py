"""Takes scalings and transpositions of a matmul's operands into its attributes `scale`, `trans_a` and `trans_b`."""

from __future__ import annotations

import math

from onnx import TensorProto

from ..ir import Node, Value
from .affine import multiply_scale
from .facts import broadcasts_into, integer, integer_list, is_float, scalar
from .rewriter import Rewriter, on_every_graph


def _rewrite(rewriter: Rewriter) -> int:
    changes = 0
    for node in rewriter.nodes():
        if node.op == "matmul":
            for index in (0, 1):
                while _fold(rewriter, node, index):
                    changes += 1
    return changes


fold_matmul_operands = on_every_graph(_rewrite)


def _fold(rewriter: Rewriter, node: Node, index: int) -> bool:
    operand = node.inputs[index]
    before = operand.producer if operand is not None else None
    if operand is None or before is None:
        return False
    if before.op == "transpose":
        return _fold_transpose(rewriter, node, index, before)
    return is_float(operand) and rewriter.sole_reader(operand) is node and _fold_scale(rewriter, node, index, before)


def _fold_scale(rewriter: Rewriter, node: Node, index: int, before: Node) -> bool:
    """x·s, x/s and −x multiply the sums by s, 1/s and −1. In 16-bit types only by powers of two: others round x·s so coarsely
    that exporters choose with care where to multiply."""
    found = _scaled(before)
    if found is None:
        return False
    x, factor = found
    if x.dtype not in {TensorProto.FLOAT, TensorProto.DOUBLE} and math.frexp(factor)[0] not in {0.5, -0.5}:
        return False
    multiply_scale(node, factor)
    rewriter.set_input(node, index, x)
    return True


def _scaled(node: Node) -> tuple[Value, float] | None:
    if node.op == "neg" and node.inputs[0] is not None:
        return node.inputs[0], -1.0
    if node.op not in {"mul", "div"}:
        return None
    for x, constant in (node.inputs, node.inputs[::-1]):
        factor = scalar(constant)
        if x is None or constant is None or factor is None or x.is_constant or not broadcasts_into(constant, x):
            continue
        if node.op == "mul":
            return x, factor
        if constant is node.inputs[1] and factor != 0:
            return x, 1 / factor
    return None


def _fold_transpose(rewriter: Rewriter, node: Node, index: int, before: Node) -> bool:
    """A swap of the last two axes is a flag. A transpose that moves the last axis to the place before last leaves the last axis
    where it is if the flag does the swap: rows then stay dense in memory."""
    source, perm = before.inputs[0], integer_list(before, "perm")
    if source is None or len(perm) < 2 or perm[-2] != len(perm) - 1:
        return False
    rest = [*perm[:-2], perm[-1], perm[-2]]
    if rest != sorted(rest):
        if rewriter.sole_reader(before.output) is not node:
            return False
        shape = None if source.shape is None else [source.shape[axis] for axis in rest]
        moved = rewriter.value(before.output.name, before.output.dtype, shape)
        rewriter.insert(Node("transpose", [source], [moved], {"perm": [*rest]}, before.name), before=before)
        source = moved
    flag = ("trans_a", "trans_b")[index]
    node.attributes[flag] = 1 - integer(node, flag)
    rewriter.set_input(node, index, source)
    return True
