"""Weights quantised in blocks, against ONNX Runtime: two, four and eight bits, zero points of both kinds, ragged blocks."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from op_check import Array, check, check_model, convert_bytes, floats, make_model, rng, run_jny

from jitney.errors import Unsupported

MICROSOFT = "com.microsoft"
N, K, BLOCK = 5, 40, 16
BLOCKS = 3


def packed(*shape: int, bits: int, seed: int = 0) -> Array:
    return rng(seed).integers(0, 256, (*shape[:-1], -(-shape[-1] * bits // 8))).astype(np.uint8)


def check_nbits(inputs: list[Array | None], **attributes: Any) -> None:
    options: dict[str, Any] = {"constants": [i for i in range(1, len(inputs)) if inputs[i] is not None], "domain": MICROSOFT}
    attributes = {"N": N, "K": K, "block_size": BLOCK, **attributes}
    for symbolic in (False, True):
        model = make_model("MatMulNBits", inputs, opset=17, symbolic=symbolic, attributes=attributes, **options)
        check_model(model, {"x0": inputs[0]} if inputs[0] is not None else {}, 1e-4)


@pytest.mark.parametrize(
    ("bits", "zeros"),
    [(2, "none"), (4, "none"), (8, "none"), (2, "packed"), (4, "packed"), (8, "packed"), (2, "real"), (4, "real")],
)
def test_matmul_nbits(bits: int, zeros: str) -> None:
    a, b, scales = floats(2, 3, K), packed(N, BLOCKS, BLOCK, bits=bits), np.abs(floats(N, BLOCKS, seed=1)) + 0.1
    points = {
        "none": None,
        "packed": packed(N, BLOCKS, bits=bits, seed=2),
        "real": rng(3).uniform(0, 2**bits, (N, BLOCKS)).astype(np.float32),
    }
    check_nbits([a, b, scales, points[zeros]], bits=bits)
    check_nbits([a, b, scales, points[zeros], None, floats(N, seed=4)], bits=bits)


def test_matmul_nbits_with_flat_scales() -> None:
    a, b = floats(3, K), packed(N, BLOCKS, BLOCK, bits=4)
    check_nbits([a, b, np.abs(floats(N * BLOCKS, seed=1)), packed(N, BLOCKS, bits=4, seed=2).reshape(-1)])


def test_weights_stay_narrow_in_the_file() -> None:
    b, scales = packed(64, 4, 32, bits=4), np.abs(floats(64, 4, seed=1))
    attributes = {"N": 64, "K": 128, "block_size": 32}
    options: dict[str, Any] = {"opset": 17, "domain": MICROSOFT, "constants": [1, 2], "attributes": attributes}
    levels = 64 * 128  # in a byte each
    assert len(convert_bytes(make_model("MatMulNBits", [floats(2, 128), b, scales], **options))) < levels + scales.nbytes + 2000


@pytest.mark.parametrize("extra", [{"weight_prepacked": 1}, {"bits": 3}])
def test_what_cannot_be_read(extra: dict[str, int]) -> None:
    inputs = [floats(3, K), packed(N, BLOCKS, BLOCK, bits=4), np.abs(floats(N, BLOCKS))]
    attributes = {"N": N, "K": K, "block_size": BLOCK, **extra}
    with pytest.raises(Unsupported, match=r"weight_prepacked=1|3 bits"):
        run_jny(make_model("MatMulNBits", inputs, opset=17, constants=[1, 2], domain=MICROSOFT, attributes=attributes), {})


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("with_zeros", [False, True])
def test_gather_block_quantised_from_bytes(bits: int, with_zeros: bool) -> None:
    data, scales = packed(20, 48, bits=bits), np.abs(floats(20, 3, seed=1))
    zeros = packed(20, 3, bits=bits, seed=2) if with_zeros else None
    indices = rng(3).integers(0, 20, (2, 4))
    options: dict[str, Any] = {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    check("GatherBlockQuantized", [data, indices, scales, zeros], opset=17, domain=MICROSOFT, constants=[0, 2, 3], **options)


@pytest.mark.parametrize("kind", [ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("axis", [0, 1])
def test_gather_block_quantised(kind: Any, axis: int) -> None:
    low = -8 if kind == ml_dtypes.int4 else 0
    data = rng().integers(low, low + 16, (20, 48)).astype(kind)
    scales = np.abs(floats(20, 3, seed=1)) if axis == 0 else np.abs(floats(2, 48, seed=1))
    zeros = rng(2).integers(low, low + 16, scales.shape).astype(kind)
    indices = rng(3).integers(0, 20, (2, 4))
    options: dict[str, Any] = {"block_size": 16, "gather_axis": axis, "quantize_axis": 1 - axis}
    for points in (None, zeros):
        check("GatherBlockQuantized", [data, indices, scales, points], opset=21, domain=MICROSOFT, constants=[0, 2, 3], **options)
