"""ONNX Runtime's gates and recurrences of newer language models, most of which mean what an op of ONNX's means."""

from __future__ import annotations

from ..ir import Value
from .foreign import MICROSOFT
from .integers import FLOAT, cast
from .microsoft_norm import rms_norm
from .node import OnnxNode
from .registry import Result, lowers
from .sizes import reshape, size_of, vector

_STATE_OPSET = 27
"""The opset of ONNX in which LinearAttention and CausalConvWithState came."""


@lowers("LinearAttention", domain=MICROSOFT)
def linear_attention(node: OnnxNode) -> Result:
    _refuse(node, {"state_window": 0})
    names = ("q_num_heads", "kv_num_heads", "update_rule", "scale", "chunk_size")
    return node.builder.lower_as(node, "LinearAttention", _STATE_OPSET, names)


@lowers("CausalConvWithState", domain=MICROSOFT)
def causal_conv_with_state(node: OnnxNode) -> Result:
    _refuse(node, {"ndim": 1, "dilation": 1, "channels_last": 0, "state_window": 0, "state_update_capacity": 0, "state_length": 0,
                   "input_channels": 0, "input_channel_offset": 0})  # fmt: skip
    return node.builder.lower_as(node, "CausalConvWithState", _STATE_OPSET, ("activation",))


def _refuse(node: OnnxNode, usual: dict[str, int]) -> None:
    for name, number in usual.items():
        if node.integer(name) != number:
            raise node.unsupported(f"{name}={node.integer(name)}")


@lowers("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(node: OnnxNode) -> Value:
    x, scale = node.operand(0), node.input(1)
    z = node.emit("mul", [x, node.constant(node.number("alpha"), node.dtype(x)) if scale is None else scale])
    return node.emit("mul", [z, node.emit("sigmoid", [z])])


@lowers("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(node: OnnxNode) -> Value:
    x, scale, gate = (cast(node, operand, FLOAT) for operand in node.operands)
    rank = node.rank(x)
    sizes = [size_of(node, x, axis) for axis in range(rank)]
    # Each group of as many numbers as there are scales is a row of its own.
    rows = node.emit("reshape", [x, vector(node, [-1, size_of(node, scale, 0)])], allow_zero=0)
    y = reshape(node, rms_norm(node, rows, scale, -1, node.number("epsilon"))[0], sizes)
    activation = node.text("activation").lower()
    if activation not in ("silu", "swish", "sigmoid"):
        raise node.invalid(f"activation is '{activation}', which is not among silu, swish and sigmoid")
    gates = node.emit("sigmoid" if activation == "sigmoid" else "silu", [gate])
    return cast(node, node.emit("mul", [y, gates]), node.dtype(node.operand(0)))


@lowers("SwiGLU", domain=MICROSOFT)
def swiglu(node: OnnxNode) -> Value:
    dtype = node.dtype(node.operand(0))
    gate, up = node.operand(0), node.input(1)
    if up is None:
        halves = node.emit_results("split", [gate], [True, True], axis=-1)
        gate, up = (half for half in halves if half is not None)
    gate, up = cast(node, gate, FLOAT), cast(node, up, FLOAT)
    limit = node.number("limit")
    if limit > 0:
        low, high = node.constant(-limit, FLOAT), node.constant(limit, FLOAT)
        gate, up = node.emit("clip", [gate, None, high]), node.emit("clip", [up, low, high])
    scaled = node.emit("mul", [gate, node.constant(node.number("activation_alpha"), FLOAT)])
    active = node.emit("mul", [gate, node.emit("sigmoid", [scaled])])
    if node.integer("round_activation"):
        active = cast(node, cast(node, active, dtype), FLOAT)
    if node.number("activation_beta") != 0:
        up = node.emit("add", [up, node.constant(node.number("activation_beta"), FLOAT)])
    return cast(node, node.emit("mul", [active, up]), dtype)
