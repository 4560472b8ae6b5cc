"""ONNX Runtime's products and elementwise ops that join several of ONNX's."""

from __future__ import annotations

from onnx import TensorProto

from ..ir import Attribute, Value
from .foreign import MICROSOFT
from .matmul import gemm
from .movement import channels_first, channels_last
from .node import OnnxNode
from .registry import lowers
from .sizes import transpose
from .window import convolution

_PLAIN = {"Relu": "relu", "Sigmoid": "sigmoid", "Softplus": "softplus", "Softsign": "softsign", "Tanh": "tanh"}
_WITH_NUMBERS = {
    "Elu": ("elu", (("alpha", 1.0),)),
    "HardSigmoid": ("hard_sigmoid", (("alpha", 0.2), ("beta", 0.5))),
    "LeakyRelu": ("leaky_relu", (("alpha", 0.01),)),
    "ThresholdedRelu": ("thresholded_relu", (("alpha", 1.0),)),
    "Selu": ("selu", (("alpha", 1.67326319), ("gamma", 1.05070102))),
}


@lowers("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(node: OnnxNode) -> Value:
    operands, flags = [], []
    for index, side in enumerate("AB"):
        operand = node.operand(index)
        rank = node.rank(operand)
        if node.has(f"transBatch{side}") and node.integer(f"transBatch{side}") and rank > 1:
            operand = transpose(node, operand, [*range(1, rank - 1), 0, rank - 1])
        operands.append(operand)
        flags.append(int(node.integer(f"trans{side}") != 0 and rank > 1))
    attributes: dict[str, Attribute] = {"trans_a": flags[0], "trans_b": flags[1]}
    if node.number("alpha") != 1:
        attributes["scale"] = node.number("alpha")
    return node.emit("matmul", operands, **attributes)


@lowers("FusedGemm", domain=MICROSOFT)
def fused_gemm(node: OnnxNode) -> Value:
    y = gemm(node)
    assert isinstance(y, Value)
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    given = {name.removeprefix("activation_"): node.number(name) for name in names if node.has(name)}
    return _activated(node, y, node.text("activation") if node.has("activation") else "", given)


@lowers("FusedConv", "NhwcConv", "NhwcFusedConv", domain=MICROSOFT)
def fused_conv(node: OnnxNode) -> Value:
    last = node.op != "FusedConv"
    x, residual = node.operand(0), node.input(3)
    y = convolution(node, channels_first(node, x) if last else x, node.operand(1), node.input(2))
    if last:
        y = channels_last(node, y)
    if residual is not None:
        y = node.emit("add", [y, residual])
    activation = node.text("activation") if node.has("activation") else ""
    numbers = node.numbers("activation_params") or [] if node.has("activation_params") else []
    if activation == "Clip":
        bounds = [node.constant(number, node.dtype(x)) for number in numbers]
        return node.emit("clip", [y, *bounds])
    return _activated(node, y, activation, dict(zip(("alpha", "beta", "gamma"), numbers, strict=False)))


def _activated(node: OnnxNode, x: Value, activation: str, given: dict[str, float]) -> Value:
    """The activation that an attribute names, with the numbers that are given and else its own."""
    if activation == "":
        return x
    if activation in _PLAIN:
        return node.emit(_PLAIN[activation], [x])
    if activation == "HardSwish":
        return node.emit("hard_swish", [x])
    if activation not in _WITH_NUMBERS:
        raise node.unsupported(f"the activation '{activation}' is not known")
    op, numbers = _WITH_NUMBERS[activation]
    return node.emit(op, [x], **{name: given.get(name, default) for name, default in numbers})


@lowers("GemmFastGelu", domain=MICROSOFT)
def gemm_fast_gelu(node: OnnxNode) -> Value:
    y = node.emit("matmul", [node.operand(0), node.operand(1)], trans_a=0, trans_b=0)
    return _gelu(node, y, node.input(2), "tanh")


@lowers("Gelu", "FastGelu", "BiasGelu", domain=MICROSOFT)
def gelu(node: OnnxNode) -> Value:
    return _gelu(node, node.operand(0), node.input(1), "tanh" if node.op == "FastGelu" else "none")


def _gelu(node: OnnxNode, x: Value, bias: Value | None, approximate: str) -> Value:
    return node.emit("gelu", [x if bias is None else node.emit("add", [x, bias])], approximate=approximate)


@lowers("QuickGelu", domain=MICROSOFT)
def quick_gelu(node: OnnxNode) -> Value:
    x, alpha = node.operand(0), node.number("alpha")
    if alpha == 1:
        return node.emit("silu", [x])
    return node.emit("mul", [x, node.emit("sigmoid", [node.emit("mul", [x, node.constant(alpha, node.dtype(x))])])])


@lowers("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(node: OnnxNode) -> Value:
    halves = node.emit_results("split", [node.emit("add", [node.operand(0), node.operand(1)])], [True, True], axis=-1)
    return node.emit("mul", [halves[0], node.emit("gelu", [halves[1]], approximate="none")])


@lowers("BiasAdd", domain=MICROSOFT)
def bias_add(node: OnnxNode) -> Value:
    return node.emit("add", [node.emit("add", [node.operand(0), node.operand(1)]), node.operand(2)])


@lowers("ExpandDims", domain=MICROSOFT)
def expand_dims(node: OnnxNode) -> Value:
    axis = node.emit("cast", [node.operand(1)], to=int(TensorProto.INT64), saturate=1)
    return node.emit("unsqueeze", [node.operand(0), node.emit("reshape", [axis, node.int64s([1])], allow_zero=0)])


@lowers("Pad", domain=MICROSOFT)
def pad(node: OnnxNode) -> Value:
    pads = node.emit("reshape", [node.operand(1), node.int64s([-1])], allow_zero=0)
    return node.emit("pad", [node.operand(0), pads, node.input(2)], mode=node.text("mode"))


@lowers("Range", domain=MICROSOFT)
def range_(node: OnnxNode) -> Value:
    start, delta = node.operand(0), node.input(2)
    return node.emit("range", [start, node.operand(1), node.constant(1, node.dtype(start)) if delta is None else delta])


@lowers("ComplexMul", "ComplexMulConj", domain=MICROSOFT)
def complex_mul(node: OnnxNode) -> Value:
    (a, b), (c, d) = (node.emit_results("split", [node.operand(index)], [True, True], axis=-1) for index in range(2))
    products = [node.emit("mul", pair) for pair in ((a, c), (b, d), (a, d), (b, c))]
    if node.op == "ComplexMulConj":  # b's conjugate
        real, imaginary = node.emit("add", products[:2]), node.emit("sub", [products[3], products[2]])
    else:
        real, imaginary = node.emit("sub", products[:2]), node.emit("add", products[2:])
    return node.emit("concat", [real, imaginary], axis=-1)
