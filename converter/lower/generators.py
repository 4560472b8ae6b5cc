"""Constants, shapes as values, and ops that make tensors out of numbers."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..ir import Attribute, Value
from .node import Array, OnnxNode
from .registry import lowers


@lowers("Constant")
def constant(node: OnnxNode) -> Value:
    array: Array
    if node.has("value"):
        array, dtype = node.tensor("value"), int(node.attributes["value"].t.data_type)
    elif node.has("sparse_value"):
        array, dtype = node.sparse_tensor("sparse_value"), int(node.attributes["sparse_value"].sparse_tensor.values.data_type)
    elif node.has("value_float"):
        array, dtype = np.asarray(node.number("value_float"), np.float32), TensorProto.FLOAT
    elif node.has("value_floats"):
        array, dtype = np.asarray(node.numbers("value_floats"), np.float32), TensorProto.FLOAT
    elif node.has("value_int"):
        array, dtype = np.asarray(node.integer("value_int"), np.int64), TensorProto.INT64
    elif node.has("value_ints"):
        array, dtype = np.asarray(node.integers("value_ints"), np.int64), TensorProto.INT64
    elif node.has("value_string") or node.has("value_strings"):
        raise node.unsupported("constants of strings have no place in the runtime")
    else:
        raise node.invalid("has no value")
    return node.constant(array, dtype)


@lowers("Shape")
def shape(node: OnnxNode) -> Value:
    attributes: dict[str, Attribute] = {"start": node.integer("start") if node.has("start") else 0}
    if node.has("end"):
        attributes["end"] = node.integer("end")
    return node.emit("shape", [node.operand(0)], **attributes)


@lowers("Size")
def size(node: OnnxNode) -> Value:
    return node.emit("size", [node.operand(0)])


@lowers("ConstantOfShape")
def constant_of_shape(node: OnnxNode) -> Value:
    value: Array = np.zeros(1, np.float32)
    dtype = int(TensorProto.FLOAT)
    if node.has("value"):
        value, dtype = node.tensor("value"), int(node.attributes["value"].t.data_type)
    if value.size != 1:
        raise node.invalid(f"value has {value.size} elements; one is wanted")
    return node.emit("constant_of_shape", [node.operand(0), node.constant(value.reshape(1), dtype)])


@lowers("Range")
def range_(node: OnnxNode) -> Value:
    operands = [node.operand(0), node.operand(1), node.operand(2)]
    dtype = node.dtype(operands[0])
    if dtype in (TensorProto.FLOAT16, TensorProto.BFLOAT16) and node.has("stash_type") and node.integer("stash_type") == 1:
        wide = [node.emit("cast", [operand], to=int(TensorProto.FLOAT), saturate=1) for operand in operands]
        return node.emit("cast", [node.emit("range", wide)], to=dtype, saturate=1)
    return node.emit("range", operands)
