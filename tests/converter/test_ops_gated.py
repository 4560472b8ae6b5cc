"""ONNX Runtime's gates and recurrences of newer language models against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_check import Array, check, floats, make_model, run_jny

from jitney.errors import Unsupported

MICROSOFT = "com.microsoft"


def ms(op: str, inputs: list[Array | None], **options: Any) -> None:
    check(op, inputs, opset=17, domain=MICROSOFT, tolerance=1e-4, **options)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention(rule: str) -> None:
    q, k, v = (floats(2, 4, 12, seed=seed) for seed in range(3))
    decay = -np.abs(floats(2, 4, 12, seed=3)) if "gated" in rule else None
    beta = np.abs(floats(2, 4, 2, seed=4)) if "delta" in rule else None
    operands = [q, k, v, floats(2, 2, 6, 6, seed=5) * np.float32(0.1), decay, beta]
    ms("LinearAttention", operands, q_num_heads=2, kv_num_heads=2, update_rule=rule, outputs=2, symbolic=False)


@pytest.mark.parametrize("activation", ["none", "silu"])
def test_causal_convolution_with_state(activation: str) -> None:
    x, w, bias = floats(2, 3, 6), floats(3, 1, 4, seed=1), floats(3, seed=2)
    ms("CausalConvWithState", [x, w, bias, floats(2, 3, 3, seed=3)], constants=[1, 2], activation=activation, outputs=2)
    ms("CausalConvWithState", [x, w], constants=[1], activation=activation, outputs=2)


def test_what_is_not_lowered() -> None:
    x, w = floats(2, 3, 6), floats(3, 1, 4, seed=1)
    attributes = {"dilation": 2}
    model = make_model("CausalConvWithState", [x, w], opset=17, domain=MICROSOFT, outputs=2, attributes=attributes)
    with pytest.raises(Unsupported, match="dilation=2"):
        run_jny(model, {"x0": x, "x1": w})


def test_gates() -> None:
    x, up = floats(2, 3, 8) * 3, floats(2, 3, 8, seed=1) * 3
    ms("ScaledSiLU", [x], alpha=1.5)
    ms("ScaledSiLU", [x, np.array(0.7, np.float32)])
    ms("GatedRMSNorm", [x, floats(8, seed=2), up])
    ms("GatedRMSNorm", [x, floats(4, seed=2), up], activation="sigmoid", epsilon=1e-3)


@pytest.mark.parametrize("limit", [0.0, 1.5])
def test_swiglu(limit: float) -> None:
    """Against its definition: ONNX Runtime has it on GPUs only."""
    gate, up = floats(2, 3, 8) * 3, floats(2, 3, 8, seed=1) * 3
    g, u = (np.minimum(gate, limit), np.clip(up, -limit, limit)) if limit else (gate, up)
    expected = g / (1 + np.exp(-1.7 * g)) * (u + 1)
    attributes = {"activation_alpha": 1.7, "activation_beta": 1.0, "limit": limit}
    for operands in ([gate, up], [np.concatenate([gate, up], -1)]):
        model = make_model("SwiGLU", operands, opset=17, domain=MICROSOFT, attributes=attributes)
        y = run_jny(model, {f"x{index}": operand for index, operand in enumerate(operands)})["y0"]
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
