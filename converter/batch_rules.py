"""For each op: where the batch axis of its operands goes, and whether rows stay independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .ir import Affine, Dim, Node, Value


class Blocked(Exception):
    """Rows would mix, or the batch cannot be followed; the text says why."""


@dataclass(frozen=True)
class Batched:
    """Row i along `axis` depends on row i of the inputs alone."""

    axis: int


@dataclass(frozen=True)
class Sized:
    """The elements depend on how many rows there are, not on what is in them."""


Kind = Batched | Sized | None
"""None: neither depends on the batch."""

_ALIGNED = {
    "add", "sub", "mul", "div", "pow", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "and", "or", "xor",
    "mod", "bit_shift", "equal", "less", "less_equal", "greater", "greater_equal", "prelu", "where", "clip",
}  # fmt: skip
_UNARY = {
    "neg", "abs", "exp", "log", "sqrt", "reciprocal", "floor", "ceil", "round", "sign", "erf", "sigmoid", "tanh", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "relu", "softplus", "softsign",
    "hard_swish", "silu", "mish", "not", "bitwise_not", "is_nan", "is_inf", "leaky_relu", "elu", "thresholded_relu",
    "celu", "selu", "hard_sigmoid", "gelu", "cast", "bit_cast", "identity",
}  # fmt: skip
_IMAGES = {
    "conv",
    "conv_transpose",
    "max_pool",
    "average_pool",
    "lp_pool",
    "instance_norm",
    "lrn",
    "depth_to_space",
    "space_to_depth",
}


def mentions(dim: Dim, symbol: str) -> bool:
    """Whether the dim depends on the symbol."""
    return isinstance(dim, Affine) and any(name == symbol for name, _ in dim.terms)


def axis_of(value: Value, symbol: str) -> int | None:
    """The only axis whose size depends on the symbol."""
    axes = [axis for axis, dim in enumerate(value.shape or []) if mentions(dim, symbol)]
    return axes[0] if len(axes) == 1 else None


@dataclass
class Step:
    """One node with what is known about its operands. The types of all values are those of the opened model."""

    node: Node
    kinds: list[Kind]
    symbol: str

    def rank(self, index: int) -> int:
        """The rank of an operand."""
        value = self.node.inputs[index]
        if value is None or value.shape is None:
            raise Blocked("a rank is not known")
        return len(value.shape)

    def batched(self, index: int) -> int | None:
        """The batch axis of an operand, None if it has none."""
        kind = self.kinds[index] if index < len(self.kinds) else None
        return kind.axis if isinstance(kind, Batched) else None

    def only(self, *indices: int) -> None:
        """Fails if any other operand depends on the batch."""
        for index, kind in enumerate(self.kinds):
            if kind is not None and index not in indices:
                raise Blocked(f"operand {index} depends on the batch")

    def first(self) -> int:
        """The batch axis of operand 0, which alone may have one."""
        self.only(0)
        axis = self.batched(0)
        if axis is None:
            raise Blocked("its operand depends on the number of rows")
        return axis

    def attribute(self, name: str, default: int) -> int:
        """An integer attribute."""
        value = self.node.attributes.get(name, default)
        assert isinstance(value, int)
        return value

    def axis_attribute(self, name: str, default: int, rank: int) -> int:
        """An axis, counted from the front."""
        axis = self.attribute(name, default)
        return axis + rank if axis < 0 else axis

    def numbers(self, index: int) -> list[int] | None:
        """The elements of an operand, if all are known integers; None if it was left out."""
        value = self.node.input(index)
        if value is None:
            return None
        if value.constant is not None:
            return [int(item) for item in value.constant.reshape(-1)]
        if value.elements is None or not all(isinstance(item, int) for item in value.elements):
            raise Blocked(f"operand {index} is not known")
        return [item for item in value.elements if isinstance(item, int)]


def follow(step: Step) -> list[Kind]:
    """What each result is. Raises Blocked."""
    op = step.node.op
    count = len(step.node.outputs)
    if all(kind is None for kind in step.kinds):
        return [None] * count
    if op in ("shape", "size"):
        elements = step.node.output.elements
        return [Sized() if elements is None or any(item is None or mentions(item, step.symbol) for item in elements) else None]
    if not any(isinstance(kind, Batched) for kind in step.kinds):
        return _sizes_only(step)
    if op in _UNARY:
        return [Batched(step.first())]
    if op in _ALIGNED:
        return [Batched(_aligned(step, list(range(len(step.kinds)))))]
    if op in _IMAGES:
        if step.first() != 0:
            raise Blocked("the batch is not its first axis")
        return [Batched(0)] * count
    if op not in _RULES:
        raise Blocked("no rule says how it treats rows")
    result = _RULES[op](step)
    return [Batched(result)] * count


def _sizes_only(step: Step) -> list[Kind]:
    """Operands that depend on the number of rows only: arithmetic on shapes, and tensors made to measure."""
    op, node = step.node.op, step.node
    axis = axis_of(node.output, step.symbol)
    if op in ("expand", "constant_of_shape", "tile") and axis is not None:
        # Every row is the same, so none depends on another.
        value = node.inputs[0]
        if op == "constant_of_shape" or (step.kinds[0] is None and value is not None and value.shape is not None):
            return [Batched(axis)]
    if any(result is not None and any(mentions(dim, step.symbol) for dim in result.shape or []) for result in node.outputs):
        raise Blocked("it counts rows")
    return [Sized()] * len(node.outputs)


def _aligned(step: Step, indices: Sequence[int]) -> int:
    """The common batch axis of operands that broadcast with each other, counted in the result."""
    ranks = {index: step.rank(index) for index in indices if step.node.input(index) is not None}
    out_rank = max(ranks.values())
    axes = set()
    for index in ranks:
        axis = step.batched(index)
        if axis is not None:
            axes.add(axis + out_rank - ranks[index])
        elif index < len(step.kinds) and step.kinds[index] is not None:
            raise Blocked("it mixes rows with their number")
    if len(axes) != 1:
        raise Blocked("its operands have the batch at different axes")
    (axis,) = axes
    for index, rank in ranks.items():
        own = axis - (out_rank - rank)
        value = step.node.inputs[index]
        if step.batched(index) is None and own >= 0 and value is not None and value.shape is not None and value.shape[own] != 1:
            raise Blocked(f"operand {index} has the fixed size {value.shape[own]} at the batch axis")
    return axis


def _away_from(axis: int, moved: int | Sequence[int]) -> int:
    if axis in ([moved] if isinstance(moved, int) else moved):
        raise Blocked("it works along the batch axis")
    return axis


def _matmul(step: Step) -> int:
    ranks = [step.rank(0), step.rank(1)]
    out_rank = max(ranks)
    if min(ranks) < 2:
        raise Blocked("one of its operands is a vector")
    step.only(0, 1, 3)
    axes = set()
    for index, flag in ((0, "trans_a"), (1, "trans_b")):
        axis = step.batched(index)
        if axis is None:
            continue
        from_end = ranks[index] - axis
        swapped = step.attribute(flag, 0)
        if from_end <= 2:
            kept = (2 if index == 0 else 1) if not swapped else (1 if index == 0 else 2)
            if from_end != kept:
                raise Blocked("it sums over the batch axis")
            axes.add(out_rank - (2 if index == 0 else 1))
        else:
            axes.add(out_rank - from_end)
    if len(axes) != 1:
        raise Blocked("its operands have the batch at different axes")
    (axis,) = axes
    if axis >= out_rank - 2 and step.batched(0) is not None and step.batched(1) is not None:
        raise Blocked("it combines every row with every other")
    for index in (0, 1):
        own = axis - (out_rank - ranks[index])
        value = step.node.inputs[index]
        assert value is not None and value.shape is not None
        if step.batched(index) is None and 0 <= own < ranks[index] - 2 and value.shape[own] != 1:
            raise Blocked(f"operand {index} has the fixed size {value.shape[own]} at the batch axis")
    if step.batched(3) not in (None, axis):
        raise Blocked("its residual has the batch at another axis")
    return axis


def _reduced(step: Step, axes: Sequence[int], keep: bool) -> int:
    axis = _away_from(step.first(), axes)
    return axis if keep else axis - sum(1 for other in axes if other < axis)


def _reduce(step: Step) -> int:
    rank = step.rank(0)
    numbers = step.numbers(1)
    if not numbers and not (numbers is not None and step.attribute("noop_with_empty_axes", 0)):
        numbers = list(range(rank))
    axes = [axis + rank if axis < 0 else axis for axis in numbers or []]
    return _reduced(step, axes, bool(step.attribute("keep_dims", 1)))


def _arg_reduce(step: Step) -> int:
    return _reduced(step, [step.axis_attribute("axis", 0, step.rank(0))], bool(step.attribute("keep_dims", 1)))


def _along(name: str, default: int) -> Callable[[Step], int]:
    def rule(step: Step) -> int:
        return _away_from(step.first(), step.axis_attribute(name, default, step.rank(0)))

    return rule


def _layer_norm(step: Step) -> int:
    return _away_from(step.first(), range(step.axis_attribute("axis", -1, step.rank(0)), step.rank(0)))


def _cumsum(step: Step) -> int:
    rank = step.rank(0)
    return _away_from(step.first(), [axis % rank for axis in step.numbers(1) or []])


def _transpose(step: Step) -> int:
    perm = step.node.attributes["perm"]
    assert isinstance(perm, list)
    return [int(axis) for axis in perm].index(step.first())


def _squeeze(step: Step) -> int:
    rank = step.rank(0)
    axes = step.numbers(1)
    if axes is None:
        raise Blocked("it removes whatever axes have size 1")
    return _reduced(step, [axis % rank for axis in axes], False)


def _unsqueeze(step: Step) -> int:
    added = step.numbers(1) or []
    rank = step.rank(0) + len(added)
    kept = [axis for axis in range(rank) if axis not in {axis % rank for axis in added}]
    return kept[step.first()]


def _reshaped(step: Step) -> int:
    """Row-major order stays, so the batch is where the same number of elements lies before it and its size still counts rows."""
    x, y = step.node.inputs[0], step.node.output
    axis, target = step.batched(0), axis_of(y, step.symbol)
    if x is None or x.shape is None or y.shape is None or axis is None or target is None:
        raise Blocked("the batch cannot be found in its result")
    before, after = list(x.shape[:axis]), list(y.shape[:target])
    same_count = product(before) is not None and product(before) == product(after)
    same_sizes = None not in before and [dim for dim in before if dim != 1] == [dim for dim in after if dim != 1]
    if not same_count and not same_sizes:
        raise Blocked("it puts elements of other axes before the batch")
    return target


def product(dims: Sequence[Dim]) -> int | None:
    """The product of the dims, None unless all are integers."""
    total = 1
    for dim in dims:
        if not isinstance(dim, int):
            return None
        total *= dim
    return total


def _expand(step: Step) -> int:
    axis = step.batched(0)
    rank = len(step.node.output.shape or [])
    if axis is None:
        raise Blocked("its operand depends on the number of rows")
    return axis + rank - step.rank(0)


def _tile(step: Step) -> int:
    repeats = step.numbers(1) or []
    if repeats[step.first()] != 1:
        raise Blocked("it repeats the batch")
    return step.first()


def _pad(step: Step) -> int:
    axis, rank = step.first(), step.rank(0)
    axes = step.numbers(3)
    axes = list(range(rank)) if axes is None else [other % rank for other in axes]
    pads = step.numbers(1) or []
    if axis in axes and (pads[axes.index(axis)] or pads[len(axes) + axes.index(axis)]):
        raise Blocked("it pads the batch")
    return axis


def _slice(step: Step) -> int:
    axis, rank = step.batched(0), step.rank(0)
    axes = step.numbers(3)
    if axis is None:
        raise Blocked("its bounds depend on the batch's data")
    if axes is None:
        axes = list(range(rank))
    if axis in [other % rank for other in axes]:
        position = [other % rank for other in axes].index(axis)
        starts, ends, steps = step.numbers(1) or [], step.numbers(2) or [], step.numbers(4)
        whole = starts[position] == 0 and ends[position] >= 2**31 - 1 and (steps is None or steps[position] == 1)
        if not whole:
            raise Blocked("it takes a part of the batch")
    return axis


def _concat(step: Step) -> int:
    axis = _aligned(step, list(range(len(step.kinds))))
    return _away_from(axis, step.axis_attribute("axis", 0, step.rank(0)))


def _gather(step: Step) -> int:
    along = step.axis_attribute("axis", 0, step.rank(0))
    table, indices = step.batched(0), step.batched(1)
    step.only(0, 1)
    if table is not None and indices is not None:
        raise Blocked("both table and indices depend on the batch")
    if indices is not None:
        return along + indices
    if table is None:
        raise Blocked("it picks by the number of rows")
    _away_from(table, along)
    return table if table < along else table + step.rank(1) - 1


def _elementwise_along(step: Step) -> int:
    axis = _aligned(step, list(range(len(step.kinds))))
    if any(step.batched(index) is None for index in range(len(step.kinds))):
        raise Blocked("one of its operands has no batch")
    return _away_from(axis, step.axis_attribute("axis", 0, step.rank(0)))


def _gather_nd(step: Step) -> int:
    step.only(1)
    axis = step.batched(1)
    if axis is None or step.attribute("batch_dims", 0) or axis == step.rank(1) - 1:
        raise Blocked("it picks across rows")
    return axis


def _resize(step: Step) -> int:
    axis = step.first()
    axes = step.node.attributes.get("axes") or list(range(step.rank(0)))
    assert isinstance(axes, list)
    listed = [int(other) % step.rank(0) for other in axes]
    scales = step.node.input(2)
    if axis in listed and (scales is None or scales.constant is None or scales.constant.reshape(-1)[listed.index(axis)] != 1):
        raise Blocked("it resizes the batch")
    return axis


def _quantised(step: Step) -> int:
    axis, scale = step.first(), step.node.inputs[1]
    per_tensor = scale is not None and scale.shape is not None and all(dim == 1 for dim in scale.shape)
    return axis if per_tensor else _away_from(axis, step.axis_attribute("axis", 1, step.rank(0)))


def _together(*operands: int) -> Callable[[Step], int]:
    """Row i of the result comes from row i of each of these operands."""

    def rule(step: Step) -> int:
        step.only(*operands)
        if any(step.batched(index) != 0 for index in operands if step.node.input(index) is not None):
            raise Blocked("not all of its operands have the batch as their first axis")
        return 0

    return rule


_RULES: dict[str, Callable[[Step], int]] = {
    "matmul": _matmul,
    "softmax": _along("axis", -1),
    "log_softmax": _along("axis", -1),
    "top_k": _along("axis", -1),
    "split": _along("axis", 0),
    "layer_norm": _layer_norm,
    "rms_norm": _layer_norm,
    "reduce": _reduce,
    "arg_reduce": _arg_reduce,
    "cumsum": _cumsum,
    "cumprod": _cumsum,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "reshape": _reshaped,
    "flatten": _reshaped,
    "expand": _expand,
    "tile": _tile,
    "pad": _pad,
    "slice": _slice,
    "concat": _concat,
    "gather": _gather,
    "gather_elements": _elementwise_along,
    "scatter_elements": _elementwise_along,
    "gather_nd": _gather_nd,
    "resize": _resize,
    "grid_sample": _together(0, 1),
    "deform_columns": _together(0, 1, 3),
    "col2im": _together(0),
    "quantize": _quantised,
    "dequantize": _quantised,
}
