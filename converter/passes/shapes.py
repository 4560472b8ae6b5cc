"""Proves that dims are equal where inference has no expression for them, by comparing how they were computed."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import zip_longest
from typing import Final

from ..ir import Graph, Node, Value, known_shape
from .facts import integer, integer_list, text

_LIKE_FIRST: Final = (
    "neg abs exp log sqrt reciprocal floor ceil round sign erf sigmoid tanh sin cos tan asin acos atan sinh cosh asinh acosh "
    "atanh relu softplus softsign hard_swish silu mish not bitwise_not is_nan is_inf leaky_relu elu thresholded_relu celu selu "
    "hard_sigmoid gelu clip cast prelu identity softmax log_softmax layer_norm rms_norm instance_norm lrn cumsum "
    "quantize dequantize"
)
_BROADCASTING: Final = (
    "add sub mul div pow max min mod bitwise_and bitwise_or bitwise_xor bit_shift and or xor "
    "equal less less_equal greater greater_equal where"
)
_LIKE_FIRST_OPS: Final = frozenset(_LIKE_FIRST.split())
_BROADCASTING_OPS: Final = frozenset(_BROADCASTING.split())
_WINDOWS: Final = frozenset({"conv", "max_pool", "average_pool", "lp_pool"})

_Keys = list[int]


class ShapeProof:
    """Gives every dim of every value of a graph a number; dims with the same number are equal whatever the inputs are."""

    def __init__(self, graph: Graph) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._keys: dict[Value, _Keys | None] = {}
        for node in graph.nodes:
            for index, value in enumerate(node.outputs):
                if value is not None:
                    self._keys[value] = self._known_or(value, self._rule(node) if index == 0 else None)

    def same(self, a: Value, b: Value) -> bool:
        """Whether both values surely have the same shape."""
        keys = self._of(a)
        return keys is not None and keys == self._of(b)

    def _of(self, value: Value) -> _Keys | None:
        if value not in self._keys:
            self._keys[value] = self._known_or(value, None)
        return self._keys[value]

    def _number(self, *key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _known_or(self, value: Value, computed: _Keys | None) -> _Keys | None:
        """Known dims by what they are, others by how they were computed, or else as equal to nothing but themselves."""
        if value.shape is None:
            return computed
        if computed is None or len(computed) != len(value.shape):
            computed = [self._number("own", value, axis) for axis in range(len(value.shape))]
        return [key if dim is None else self._number("known", dim) for key, dim in zip(computed, value.shape, strict=True)]

    def _rule(self, node: Node) -> _Keys | None:
        """Dims of the first result, where the op computes them from its operands' in a way known here."""
        operands = [None if value is None else self._of(value) for value in node.inputs]
        x = operands[0] if operands else None
        if node.op in _BROADCASTING_OPS:
            return self._broadcast(node, operands)
        if x is None:
            return None
        if node.op in _LIKE_FIRST_OPS:
            return x
        if node.op in _WINDOWS:
            return self._window(node, x)
        if node.op == "transpose":
            return [x[axis] for axis in integer_list(node, "perm")]
        if node.op == "concat":
            return self._concat(node, operands)
        if node.op == "resize":
            return self._resize(node, x)
        return None

    def _broadcast(self, node: Node, operands: list[_Keys | None]) -> _Keys | None:
        one = self._number("known", 1)
        if any(keys is None for keys in operands):
            return None
        result: _Keys = []
        for axis, keys in enumerate(zip_longest(*(reversed(keys or []) for keys in operands), fillvalue=one)):
            different = {key for key in keys if key != one}
            result.append(different.pop() if len(different) == 1 else self._number("own", node, axis) if different else one)
        return result[::-1]

    def _window(self, node: Node, x: _Keys) -> _Keys:
        """Windows over the spatial axes: floor or ceil of (size + padding − extent) / stride, plus one."""
        weights = node.input(1) if node.op == "conv" else None
        shape = known_shape(weights) if weights is not None else None
        kernel = list(shape[2:]) if shape is not None else integer_list(node, "kernel")
        count = len(x) - 2
        strides, dilations = integer_list(node, "strides") or [1] * count, integer_list(node, "dilations") or [1] * count
        pads, auto_pad = integer_list(node, "pads") or [0] * (2 * count), text(node, "auto_pad", "explicit")
        result = [x[0], self._number("own", node, 1)]
        for i, size in enumerate(x[2:]):
            if len(kernel) != count:
                result.append(self._number("own", node, 2 + i))
                continue
            extent = (kernel[i] - 1) * dilations[i] + 1
            room = {"explicit": pads[i] + pads[count + i] - extent, "valid": -extent}.get(auto_pad, -1)
            if strides[i] == 1 and room == -1:
                result.append(size)
            else:
                rounding = (integer(node, "ceil_mode"), pads[i]) if integer(node, "ceil_mode") else 0
                result.append(self._number("window", size, room, strides[i], rounding))
        return result

    def _concat(self, node: Node, operands: list[_Keys | None]) -> _Keys | None:
        known = [keys for keys in operands if keys is not None]
        if len(known) != len(operands) or len({len(keys) for keys in known}) != 1:
            return None
        axis = integer(node, "axis") % len(known[0])
        result = list(known[0])
        result[axis] = self._number("concat", *(keys[axis] for keys in known))
        return result

    def _resize(self, node: Node, x: _Keys) -> _Keys | None:
        """Constant scales make dims by a fixed formula. Whole numbers on a symbol are known to inference already."""
        scales = node.input(2)
        if node.input(1) is not None or scales is None or scales.constant is None or integer_list(node, "axes"):
            return None
        factors = [float(factor) for factor in scales.constant.reshape(-1)]
        if len(factors) != len(x):
            return None
        return [key if factor == 1 else self._number("resize", key, factor) for key, factor in zip(x, factors, strict=True)]
