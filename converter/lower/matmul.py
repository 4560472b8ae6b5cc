"""Matrix products and softmax."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..ir import Attribute, Value
from .node import OnnxNode
from .registry import lowers


@lowers("MatMul")
def matmul(node: OnnxNode) -> Value:
    return node.emit("matmul", [node.operand(0), node.operand(1)], trans_a=0, trans_b=0)


@lowers("Gemm")
def gemm(node: OnnxNode) -> Value:
    a, b, c = node.operand(0), node.operand(1), node.input(2)
    alpha, beta = node.number("alpha"), node.number("beta")
    attributes: dict[str, Attribute] = {"trans_a": int(node.integer("transA") != 0), "trans_b": int(node.integer("transB") != 0)}
    whole = node.dtype(a) in (TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64)
    if whole and not (alpha.is_integer() and beta.is_integer()):
        raise node.unsupported(f"products of integers with alpha {alpha} and beta {beta}", "cast the operands to a float type")
    if alpha != 1 and whole:
        a = node.emit("mul", [a, node.constant(alpha, node.dtype(a))])
    elif alpha != 1:
        attributes["scale"] = alpha
    if c is None or beta == 0:
        return node.emit("matmul", [a, b], **attributes)
    if beta != 1:
        c = _scaled(node, c, beta)
    columns = _columns(node, b, bool(attributes["trans_b"]))
    shape = node.shape(c)
    if shape is not None and columns is not None and (list(shape) == [columns] or list(shape) == [1, columns]):
        if len(shape) == 2:
            c = _as_row(node, c)
        return node.emit("matmul", [a, b, c], **attributes)
    return node.emit("add", [node.emit("matmul", [a, b], **attributes), c])


def _scaled(node: OnnxNode, c: Value, beta: float) -> Value:
    if c.constant is not None:
        return node.constant(c.constant.astype(np.float64) * beta, c.dtype)
    return node.emit("mul", [c, node.constant(beta, node.dtype(c))])


def _columns(node: OnnxNode, b: Value, transposed: bool) -> object:
    shape = node.shape(b)
    return shape[0 if transposed else 1] if shape is not None and len(shape) == 2 else None


def _as_row(node: OnnxNode, c: Value) -> Value:
    if c.constant is not None:
        return node.constant(c.constant.reshape(-1), c.dtype)
    return node.emit("reshape", [c, node.int64s([-1])], allow_zero=0)


@lowers("Softmax", "LogSoftmax", since=1)
def softmax_of_rows(node: OnnxNode) -> Value:
    """Up to opset 12 the tensor is taken as a matrix whose rows begin at `axis`."""
    x, op = node.operand(0), _softmax_name(node)
    axis = node.integer("axis")
    shape = node.shape(x)
    if shape is not None and node.axis(axis, len(shape)) == len(shape) - 1:
        return node.emit(op, [x], axis=-1)
    rows = node.emit(op, [node.emit("flatten", [x], axis=axis)], axis=1)
    return node.emit("reshape", [rows, node.emit("shape", [x], start=0)], allow_zero=1)


@lowers("Softmax", "LogSoftmax", since=13)
def softmax(node: OnnxNode) -> Value:
    return node.emit(_softmax_name(node), [node.operand(0)], axis=node.integer("axis"))


def _softmax_name(node: OnnxNode) -> str:
    return "softmax" if node.op == "Softmax" else "log_softmax"
