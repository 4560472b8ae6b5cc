"""Recurrent networks: RNN, GRU and LSTM."""

from __future__ import annotations

from typing import Final

from ..ir import Attribute, Value
from .foreign import MICROSOFT
from .indexing import reversed_up_to
from .integers import FLOAT, dynamically_quantised
from .masks import as_int64, positions, size_of_axis
from .node import OnnxNode
from .registry import lowers

_KINDS: Final = {"RNN": "simple", "GRU": "gru", "LSTM": "lstm"}
_DEFAULTS: Final = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_ACTIVATIONS: Final[dict[str, tuple[str, float | None, float | None]]] = {
    "affine": ("affine", 1.0, 0.0),
    "elu": ("elu", 1.0, None),
    "hardsigmoid": ("hard_sigmoid", 0.2, 0.5),
    "leakyrelu": ("leaky_relu", 0.01, None),
    "relu": ("relu", None, None),
    "scaledtanh": ("scaled_tanh", 1.0, 1.0),
    "sigmoid": ("sigmoid", None, None),
    "softplus": ("softplus", None, None),
    "softsign": ("softsign", None, None),
    "tanh": ("tanh", None, None),
    "thresholdedrelu": ("thresholded_relu", 1.0, None),
}
"""By ONNX's name in lower case: the name in the IR, and the defaults of alpha and beta where it has them."""


@lowers("RNN", "GRU", "LSTM")
def rnn(node: OnnxNode) -> list[Value | None]:
    batch_first = node.has("layout") and node.integer("layout") == 1
    operands = [node.input(index) for index in range(8)]
    _check_hidden_size(node)
    if batch_first:
        for index in (0, 5, 6):
            operands[index] = _swapped(node, operands[index], [1, 0, 2])
    results = [*emit_rnn(node, operands)]
    if batch_first:
        for index, perm in enumerate(([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])[: len(results)]):
            results[index] = _swapped(node, results[index], perm)
    return results


def emit_rnn(
    node: OnnxNode, operands: list[Value | None], *, quantised_state: int = 0, only: int | None = None
) -> list[Value | None]:
    """The IR's op for a node with the attributes of RNN, GRU or LSTM; the operands have time as their outermost axis. `only` is
    the direction that the operands belong to, if not to all; it then runs forward."""
    kind = node.op.removeprefix("DynamicQuantize")
    direction = node.text("direction")
    if direction not in ("forward", "reverse", "bidirectional"):
        raise node.invalid(f"the direction '{direction}' is none of forward, reverse and bidirectional")
    names, alpha, beta = _activations(node, kind, 2 if direction == "bidirectional" else 1)
    if only is not None:
        direction = "forward"
        own = slice(only * len(_DEFAULTS[kind]), (only + 1) * len(_DEFAULTS[kind]))
        names, alpha, beta = names[own], alpha[own], beta[own]
    wanted = [index == 0 or node.wants(index) for index in range(node.output_count)]
    return node.emit_results(
        "rnn",
        operands,
        wanted,
        kind=_KINDS[kind],
        direction=direction,
        activations=names,
        alpha=alpha,
        beta=beta,
        clip=node.number("clip") if node.has("clip") else 0.0,
        input_forget=node.integer("input_forget") if node.has("input_forget") else 0,
        quantised_state=quantised_state,
        linear_before_reset=node.integer("linear_before_reset") if node.has("linear_before_reset") else 0,
    )


@lowers("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(node: OnnxNode) -> list[Value | None]:
    """Weights are integers with inputs innermost; x as a whole, and the state in each step, are rounded to 8 bits."""
    lengths = node.input(4)
    steps_in_range = None if lengths is None else _up_to_the_longest(node, node.operand(0), as_int64(node, lengths))
    quantised, scale, zero = dynamically_quantised(node, node.operand(0), steps_in_range)
    attributes: dict[str, Attribute] = {"axis": -1, "block": 0, "to": FLOAT, "saturate": 1}
    x = node.emit("dequantize", [quantised, scale, zero], **attributes)
    w, r = (_dequantised(node, node.operand(index), node.operand(at), node.operand(at + 1)) for index, at in ((1, 8), (2, 10)))
    operands = [x, w, r, *(node.input(index) for index in range(3, 8))]
    # What a sequence that has ended adds to the rounding of the others: ONNX Runtime reads the last step of y, if there is y.
    quantised_state = 1 if node.wants(0) else 2
    if lengths is None or node.text("direction") == "forward":
        return emit_rnn(node, operands, quantised_state=quantised_state)
    return _by_direction(node, operands, as_int64(node, lengths), quantised_state)


def _up_to_the_longest(node: OnnxNode, x: Value, lengths: Value) -> Value:
    """x with zeros for the steps that no sequence has."""
    longest = node.emit("reduce", [lengths], kind="max", keep_dims=0, noop_with_empty_axes=0)
    inside = node.emit("less", [positions(node, size_of_axis(node, x, 0), 2), longest])
    return node.emit("where", [inside, x, node.constant(0.0, FLOAT)])


def _by_direction(node: OnnxNode, operands: list[Value | None], lengths: Value, quantised_state: int) -> list[Value | None]:
    """Each direction as a network that runs forward: what is rounded together are the first steps of all sequences, then their
    second ones, wherever they begin."""

    def backwards(value: Value) -> Value:
        swapped = node.emit("transpose", [value], perm=[1, 0, 2])
        return node.emit("transpose", [reversed_up_to(node, swapped, lengths)], perm=[1, 0, 2])

    directions = ["forward", "reverse"] if node.text("direction") == "bidirectional" else ["reverse"]
    parts: list[list[Value | None]] = []
    for index, direction in enumerate(directions):
        own = [
            value if value is None or place in (0, 4) else node.emit("gather", [value, node.int64s([index])], axis=0)
            for place, value in enumerate(operands)
        ]
        x = own[0]
        assert x is not None, "the arity was checked"
        if direction == "reverse":
            own[0] = backwards(x)
        results = [*emit_rnn(node, own, quantised_state=quantised_state, only=index)]
        y = results[0]
        if direction == "reverse" and y is not None:
            flat = node.emit("squeeze", [y, node.int64s([1])])
            results[0] = node.emit("unsqueeze", [backwards(flat), node.int64s([1])])
        parts.append(results)
    return [
        None if None in along else node.emit("concat", [*along], axis=1 if place == 0 else 0)
        for place, along in enumerate(zip(*parts, strict=True))
    ]


def _dequantised(node: OnnxNode, weights: Value, scale: Value, zero: Value) -> Value:
    """Floats as [directions, 4·hidden, inputs]. There is a scale for each direction, or for each of its columns."""

    def spread(value: Value) -> Value:
        dims = [0, 1, 1] if node.rank(value) == 1 else [0, 1, -1]
        return node.emit("reshape", [value, node.int64s(dims)], allow_zero=0)

    def wide(value: Value) -> Value:
        return node.emit("cast", [value], to=FLOAT, saturate=1)

    centred = node.emit("sub", [wide(weights), spread(wide(zero))])
    return node.emit("transpose", [node.emit("mul", [centred, spread(scale)])], perm=[0, 2, 1])


def _swapped(node: OnnxNode, value: Value | None, perm: list[int]) -> Value | None:
    return None if value is None else node.emit("transpose", [value], perm=perm)


def _check_hidden_size(node: OnnxNode) -> None:
    if not node.has("hidden_size"):
        return
    size, shape = node.integer("hidden_size"), node.shape(node.operand(2))
    if shape is not None and shape and isinstance(shape[-1], int) and shape[-1] != size:
        raise node.invalid(f"hidden_size is {size}, but R has the shape {list(shape)}")


def _activations(node: OnnxNode, kind: str, directions: int) -> tuple[list[str], list[float], list[float]]:
    """Names, alphas and betas, one each per activation. The node lists numbers for those activations alone that take them."""
    listed = [item.lower() for item in node.texts("activations") or _DEFAULTS[kind] * directions]
    wanted = len(_DEFAULTS[kind]) * directions
    if kind == "RNN" and len(listed) == 2:
        listed = listed[:wanted]  # the schema's default serves both directions
    if len(listed) != wanted:
        raise node.invalid(f"{len(listed)} activations are named; {wanted} are wanted")
    unknown = sorted(set(listed) - set(_ACTIVATIONS))
    if unknown:
        raise node.invalid(f"the activation '{unknown[0]}' is not among {sorted(_ACTIVATIONS)}")
    found = [_ACTIVATIONS[item] for item in listed]
    alpha = _numbers(node.numbers("activation_alpha") or [], [entry[1] for entry in found])
    beta = _numbers(node.numbers("activation_beta") or [], [entry[2] for entry in found])
    return [entry[0] for entry in found], alpha, beta


def _numbers(given: list[float], defaults: list[float | None]) -> list[float]:
    rest = iter(given)
    return [0.0 if default is None else next(rest, default) for default in defaults]
