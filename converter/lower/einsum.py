"""Einsum: diagonals, sums and one matrix product (or elementwise product) for each further operand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from onnx import TensorProto

from ..ir import Value
from .einsum_equation import Equation, parse
from .node import OnnxNode
from .registry import lowers
from .sizes import Size, product, reshape, size_of, transpose

_NARROW_INTEGERS = {TensorProto.INT8, TensorProto.INT16, TensorProto.UINT8, TensorProto.UINT16}


@dataclass(frozen=True)
class _Term:
    """A tensor and the labels of its axes, each once."""

    value: Value
    labels: list[str]


@lowers("Einsum")
def einsum(node: OnnxNode) -> Value:
    ranks = [node.rank(operand) for operand in node.operands]
    equation = parse(node, node.text("equation"), ranks)
    dtype = node.dtype(node.operand(0))
    narrow = dtype in _NARROW_INTEGERS
    terms = []
    for index, labels in enumerate(equation.operands):
        operand = node.operand(index)
        if narrow:  # wraps in the same way, as the low bits of sums and products depend on low bits alone
            operand = node.emit("cast", [operand], to=int(TensorProto.INT32), saturate=1)
        elsewhere = _labels_outside(equation, index)
        terms.append(_without_lone_labels(node, _diagonal(node, operand, labels), elsewhere))
    _check_sizes(node, terms)
    result = terms[0]
    for index, term in enumerate(terms[1:], 1):
        later = {label for other in terms[index + 1 :] for label in other.labels} | set(equation.output)
        result = _combine(node, result, term, later, equation.output)
    y = transpose(node, result.value, [result.labels.index(label) for label in equation.output])
    if narrow:
        return node.emit("cast", [y], to=dtype, saturate=1)
    return node.emit("identity", [y]) if y is node.operand(0) else y


def _labels_outside(equation: Equation, index: int) -> set[str]:
    others = (labels for other, labels in enumerate(equation.operands) if other != index)
    return {label for labels in others for label in labels} | set(equation.output)


def _check_sizes(node: OnnxNode, terms: list[_Term]) -> None:
    """A label has one size, or 1, which broadcasts."""
    sizes: dict[str, int] = {}
    for term in terms:
        for label, size in zip(term.labels, node.shape(term.value) or [], strict=True):
            if isinstance(size, int) and size != 1 and sizes.setdefault(label, size) != size:
                raise node.invalid(f"the label '{label}' stands for {sizes[label]} and for {size} elements", "they must be equal")


def _diagonal(node: OnnxNode, x: Value, labels: list[str]) -> _Term:
    """Takes the diagonal where a label is repeated: in a square laid out in a row, each size + 1 elements apart."""
    repeated = next((label for label, count in Counter(labels).items() if count > 1), None)
    if repeated is None:
        return _Term(x, labels)
    first = labels.index(repeated)
    second = labels.index(repeated, first + 1)
    shape = node.shape(x)
    assert shape is not None
    if isinstance(shape[first], int) and isinstance(shape[second], int) and shape[first] != shape[second]:
        raise node.invalid(f"the label '{repeated}' stands for {shape[first]} and for {shape[second]} elements of one operand")
    others = [axis for axis in range(len(labels)) if axis not in (first, second)]
    kept: list[Size] = [size_of(node, x, axis) for axis in others]
    size, other_size = size_of(node, x, first), size_of(node, x, second)
    rows = reshape(node, transpose(node, x, [*others, first, second]), [*kept, product(node, [size, other_size])])
    one = node.int64s([1])
    step = node.int64s([size + 1]) if isinstance(size, int) else node.emit("add", [size, one])
    operands = [rows, node.int64s([0]), node.int64s([2**62]), node.int64s([-1]), step]
    # The reshape says again how long the diagonal is, and fails where the two sizes differ.
    line = reshape(node, node.emit("slice", operands), [*kept, size])
    return _diagonal(node, line, [*(labels[axis] for axis in others), repeated])


def _without_lone_labels(node: OnnxNode, term: _Term, wanted: set[str]) -> _Term:
    """Sums over the axes whose labels are wanted nowhere else."""
    axes = [axis for axis, label in enumerate(term.labels) if label not in wanted]
    if not axes:
        return term
    kept = [label for label in term.labels if label in wanted]
    return _Term(_sum(node, term.value, axes), kept)


def _sum(node: OnnxNode, x: Value, axes: list[int]) -> Value:
    return node.emit("reduce", [x, node.int64s(axes)], kind="sum", keep_dims=0, noop_with_empty_axes=0)


def _combine(node: OnnxNode, a: _Term, b: _Term, later: set[str], output: list[str]) -> _Term:
    """The product of two terms, summed over the labels that are not wanted later."""
    a, b = _drop_broadcast_sums(node, a, b, later)
    summed = [label for label in a.labels if label in b.labels and label not in later]
    if not summed:
        return _elementwise(node, a, b)
    # The product's own axes come as batch, left, right: the order of the operands decides how near that is to the output.
    candidates = [_Product(left, right, summed) for left, right in ((a, b), (b, a))]
    best = min(candidates, key=lambda each: each.transposes(output))
    return best.emit(node)


def _drop_broadcast_sums(node: OnnxNode, a: _Term, b: _Term, later: set[str]) -> tuple[_Term, _Term]:
    """Where one of two summed axes has size 1, the other is summed alone."""
    shapes = [node.shape(term.value) for term in (a, b)]
    sizes = [dict(zip(term.labels, shape or [], strict=True)) for term, shape in zip((a, b), shapes, strict=True)]
    uneven = {
        label
        for label in a.labels
        if label in b.labels
        and label not in later
        and sizes[0][label] != sizes[1][label]
        and 1 in (sizes[0][label], sizes[1][label])
    }
    dropped = [_without_lone_labels(node, term, set(term.labels) - uneven) for term in (a, b)]
    return dropped[0], dropped[1]


def _elementwise(node: OnnxNode, a: _Term, b: _Term) -> _Term:
    labels = [*a.labels, *(label for label in b.labels if label not in a.labels)]
    operands = []
    for term in (a, b):
        ordered = [label for label in labels if label in term.labels]
        value = transpose(node, term.value, [term.labels.index(label) for label in ordered])
        first = next((axis for axis, label in enumerate(labels) if label in term.labels), len(labels))
        missing = [axis - first for axis, label in enumerate(labels) if label not in term.labels and axis > first]
        operands.append(node.emit("unsqueeze", [value, node.int64s(missing)]) if missing else value)
    return _Term(node.emit("mul", operands), labels)


_Layout: TypeAlias = "tuple[list[str], list[str]]"


class _Product:
    """A matrix product of two terms, left operand first, over the summed labels."""

    def __init__(self, left: _Term, right: _Term, summed: list[str]) -> None:
        self.left, self.right, self.summed = left, right, summed
        self.batch = [label for label in left.labels if label in right.labels and label not in summed]
        self.rows = [label for label in left.labels if label not in right.labels]
        self.columns = [label for label in right.labels if label not in left.labels]
        self.result = [*self.batch, *self.rows, *self.columns]

    def transposes(self, output: list[str]) -> int:
        """How many tensors must be transposed."""
        moved = sum(
            all(term.labels != [*self.batch, *first, *second] for first, second in layouts)
            for term, layouts in ((self.left, self._left_layouts()), (self.right, self._right_layouts()))
        )
        return moved + ([label for label in output if label in self.result] != self.result)

    def _left_layouts(self) -> list[_Layout]:
        """The two groups of labels that make up matrices: as they are multiplied, and transposed."""
        return [(self.rows, self.summed), (self.summed, self.rows)]

    def _right_layouts(self) -> list[_Layout]:
        return [(self.summed, self.columns), (self.columns, self.summed)]

    def emit(self, node: OnnxNode) -> _Term:
        """Adds the product; its labels are batch, rows, columns."""
        left, trans_a = self._matrices(node, self.left, self._left_layouts())
        right, trans_b = self._matrices(node, self.right, self._right_layouts())
        y = node.emit("matmul", [left, right], trans_a=trans_a, trans_b=trans_b)
        if len(self.rows) != 1 or len(self.columns) != 1:
            sizes = [size_of(node, y, axis) for axis in range(len(self.batch))]  # broadcast, so asked of the product itself
            sizes += _sizes(node, self.left, self.rows) + _sizes(node, self.right, self.columns)
            y = reshape(node, y, sizes)
        return _Term(y, self.result)

    def _matrices(self, node: OnnxNode, term: _Term, layouts: list[_Layout]) -> tuple[Value, int]:
        """The term as a stack of matrices, and whether they lie transposed."""
        orders = [[*self.batch, *first, *second] for first, second in layouts]
        transposed = orders.index(term.labels) if term.labels in orders else 0
        value = transpose(node, term.value, [term.labels.index(label) for label in orders[transposed]])
        groups = layouts[transposed]
        if any(len(group) != 1 for group in groups):
            sizes = [*_sizes(node, term, self.batch), *(product(node, _sizes(node, term, group)) for group in groups)]
            value = reshape(node, value, sizes)
        return value, transposed


def _sizes(node: OnnxNode, term: _Term, labels: list[str]) -> list[Size]:
    return [size_of(node, term.value, term.labels.index(label)) for label in labels]
