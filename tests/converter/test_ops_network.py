"""Convolutions, pools, products, norms, softmax, resize and quantisation in all their versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_check import check, floats, int64s, make_model, over_versions, reference, rng, run_jny, versions

from jitney.errors import Unsupported


@over_versions("Conv")
@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((2, 3, 8, 9), (4, 3, 3, 3), {}),
        ((2, 3, 8, 9), (4, 3, 3, 3), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
        ((1, 4, 9, 9), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
        ((1, 4, 9, 9), (6, 2, 3, 3), {"group": 2, "dilations": [2, 2]}),
        ((1, 3, 7, 8), (4, 3, 3, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 3, 7, 8), (4, 3, 3, 2), {"auto_pad": "SAME_LOWER"}),
        ((1, 3, 7, 8), (4, 3, 3, 2), {"auto_pad": "VALID", "kernel_shape": [3, 2]}),
        ((2, 3, 12), (5, 3, 4), {"strides": [3], "pads": [1, 1]}),
        ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"pads": [0, 1, 0, 1, 1, 1]}),
        ((1, 8, 5, 5), (16, 8, 1, 1), {}),
    ],
)
def test_conv(op: str, opset: int, x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any]) -> None:
    check(op, [floats(*x), floats(*w, seed=1)], opset=opset, constants=[1], **options)
    check(op, [floats(*x), floats(*w, seed=1), floats(w[0], seed=2)], opset=opset, constants=[1, 2], **options)


def test_conv_with_computed_weights() -> None:
    check("Conv", [floats(1, 3, 6, 6), floats(4, 3, 3, 3, seed=1), floats(4, seed=2)], opset=11)


@over_versions("ConvTranspose")
@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((1, 3, 4, 5), (3, 2, 3, 3), {}),
        ((1, 3, 4, 5), (3, 2, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ((1, 4, 4, 5), (4, 2, 2, 2), {"group": 2, "strides": [2, 2]}),
        ((1, 3, 4, 5), (3, 2, 3, 3), {"strides": [2, 2], "output_shape": [8, 10]}),
        ((1, 3, 4, 5), (3, 2, 3, 3), {"dilations": [2, 1]}),
        ((1, 3, 6), (3, 2, 4), {"strides": [3]}),
    ],
)
def test_conv_transpose(op: str, opset: int, x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any]) -> None:
    check(op, [floats(*x), floats(*w, seed=1)], opset=opset, constants=[1], **options)
    bias = floats(w[1] * options.get("group", 1), seed=2)
    check(op, [floats(*x), floats(*w, seed=1), bias], opset=opset, constants=[1, 2], **options)


_POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 3]},
    {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 0, 1, 2]},
    {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"kernel_shape": [3, 2], "auto_pad": "VALID"},
]


@over_versions("MaxPool")
@pytest.mark.parametrize("options", _POOLS)
def test_max_pool(op: str, opset: int, options: dict[str, Any]) -> None:
    check(op, [floats(2, 3, 8, 9)], opset=opset, **options)


@over_versions("MaxPool", least=10)
def test_max_pool_with_all_options(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 8, 9)], opset=opset, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    check(op, [floats(2, 3, 8, 9)], opset=opset, kernel_shape=[3, 3], dilations=[2, 1])
    check(op, [floats(1, 2, 6, 7)], opset=opset, kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    check(op, [floats(1, 2, 6, 7)], opset=opset, kernel_shape=[2, 2], strides=[2, 2], storage_order=1, outputs=2)
    check(op, [floats(1, 2, 9)], opset=opset, kernel_shape=[3])


@over_versions("AveragePool")
@pytest.mark.parametrize("options", _POOLS)
@pytest.mark.parametrize("include", [0, 1])
def test_average_pool(op: str, opset: int, options: dict[str, Any], include: int) -> None:
    check(op, [floats(2, 3, 8, 9)], opset=opset, count_include_pad=include, **options)


@over_versions("AveragePool", least=10)
def test_average_pool_rounding_up(op: str, opset: int) -> None:
    check(op, [floats(1, 2, 7, 8)], opset=opset, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    if opset >= 19:
        check(op, [floats(1, 2, 7, 8)], opset=opset, kernel_shape=[2, 2], dilations=[2, 2])


@over_versions("LpPool")
@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool(op: str, opset: int, p: int) -> None:
    check(op, [floats(1, 2, 6, 7)], opset=opset, kernel_shape=[2, 3], strides=[2, 1], p=p)


@over_versions("MatMul")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4,)),
    ],
)
def test_matmul(op: str, opset: int, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(op, [floats(*a), floats(*b, seed=1)], opset=opset)
    check(op, [floats(*a), floats(*b, seed=1)], opset=opset, constants=[1])


def test_matmul_of_integers() -> None:
    check("MatMul", [rng().integers(-9, 9, (3, 4)).astype(np.int32), rng(1).integers(-9, 9, (4, 2)).astype(np.int32)], opset=13)


@over_versions("Gemm")
@pytest.mark.parametrize("c", [(5,), (1, 5), (3, 5), (3, 1), (1,), ()])
@pytest.mark.parametrize("options", [{}, {"transA": 1, "transB": 1}, {"alpha": 0.5, "beta": 2.0, "transB": 1}])
def test_gemm(op: str, opset: int, c: tuple[int, ...], options: dict[str, Any]) -> None:
    a = floats(4, 3) if options.get("transA") else floats(3, 4)
    b = floats(5, 4, seed=1) if options.get("transB") else floats(4, 5, seed=1)
    check(op, [a, b, floats(*c, seed=2)], opset=opset, constants=[1, 2], **options)
    check(op, [a, b, floats(*c, seed=2)], opset=opset, **options)


@over_versions("Gemm", least=11)
def test_gemm_without_c(op: str, opset: int) -> None:
    check(op, [floats(3, 4), floats(4, 5, seed=1)], opset=opset, alpha=2.0)


@over_versions("Gemm")
def test_gemm_of_integers(op: str, opset: int) -> None:
    a, b, c = (rng(seed).integers(-5, 6, shape) for seed, shape in enumerate([(3, 4), (4, 5), (3, 5)]))
    check(op, [a, b, c], opset=opset, alpha=2.0, beta=-3.0)
    with pytest.raises(Unsupported, match="with alpha"):
        run_jny(make_model(op, [a, b, c], opset=opset, attributes={"alpha": 0.5}), {"x0": a, "x1": b, "x2": c})


@over_versions("AffineGrid")
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 3, 4, 5), (2, 3, 4, 5, 6), (1, 1, 1, 2, 3)])
@pytest.mark.parametrize("align", [0, 1])
def test_affine_grid(op: str, opset: int, size: tuple[int, ...], align: int) -> None:
    theta = floats(size[0], len(size) - 2, len(size) - 1)
    check(op, [theta, np.array(size, np.int64)], opset=opset, symbolic=False, align_corners=align)


@over_versions("MeanVarianceNormalization", least=9)
def test_mean_variance_normalization(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4, 5)], opset=opset)
    check(op, [floats(2, 3, 4, 5)], opset=opset, axes=[2, 3])


@over_versions("MatMulInteger")
def test_matmul_integer(op: str, opset: int) -> None:
    a, b = rng().integers(0, 255, (3, 4)).astype(np.uint8), rng(1).integers(-127, 127, (4, 5)).astype(np.int8)
    check(op, [a, b], opset=opset)
    check(op, [a, b, np.array(12, np.uint8), np.array(-3, np.int8)], opset=opset, constants=[2, 3])


@over_versions("Softmax", "LogSoftmax")
def test_softmax(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4)], opset=opset)
    for axis in range(-1 if opset >= 11 else 0, 3):
        check(op, [floats(2, 3, 4)], opset=opset, axis=axis)


@over_versions("BatchNormalization")
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("constants", [[1, 2, 3, 4], []])
def test_batch_normalization(op: str, opset: int, shape: tuple[int, ...], constants: list[int]) -> None:
    operands = [floats(*shape), floats(3, seed=1), floats(3, seed=2), floats(3, seed=3), np.abs(floats(3, seed=4)) + 0.1]
    check(op, operands, opset=opset, constants=constants, epsilon=1e-3, momentum=0.8)


@pytest.mark.parametrize(("opset", "count"), [(9, 5), (14, 3), (15, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_batch_normalization_in_training(opset: int, count: int, dtype: type) -> None:
    """Against the definition: ONNX Runtime is not built for training, and crashes."""
    operands = [floats(2, 3, 4, 5, dtype=dtype), *[np.abs(floats(3, seed=seed, dtype=dtype)) for seed in range(4)]]
    x, scale, bias, mean, variance = (operand.astype(np.float64) for operand in operands)
    own_mean, own_variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    y = (x - own_mean[:, None, None]) / np.sqrt(own_variance + 1e-5)[:, None, None] * scale[:, None, None] + bias[:, None, None]
    expected = [y, mean * 0.7 + own_mean * 0.3, variance * 0.7 + own_variance * 0.3, own_mean, own_variance]
    attributes: dict[str, Any] = {"momentum": 0.7} | ({"training_mode": 1} if opset >= 14 else {})
    for symbolic in (False, True):
        model = make_model("BatchNormalization", operands, opset=opset, outputs=count, symbolic=symbolic, attributes=attributes)
        results = list(run_jny(model, {f"x{index}": operand for index, operand in enumerate(operands)}).values())
        assert len(results) == count
        for result, wanted in zip(results, expected):
            assert result.dtype == dtype
            np.testing.assert_allclose(result.astype(np.float64), wanted, atol=1e-5 if dtype == np.float32 else 4e-3)


@over_versions("LayerNormalization")
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_layer_normalization(op: str, opset: int, axis: int) -> None:
    x = floats(2, 3, 4)
    size = x.shape[axis:] if axis != -1 else x.shape[-1:]
    check(op, [x, floats(*size, seed=1)], opset=opset, axis=axis, constants=[1])
    check(op, [x, floats(*size, seed=1), floats(*size, seed=2)], opset=opset, axis=axis, epsilon=1e-3)
    check(op, [x, floats(*size, seed=1), floats(*size, seed=2)], opset=opset, axis=axis, outputs=3)


@over_versions("InstanceNormalization")
def test_instance_normalization(op: str, opset: int) -> None:
    check(op, [floats(2, 3, 4, 5), floats(3, seed=1), floats(3, seed=2)], opset=opset, constants=[1, 2])


@over_versions("LRN")
@pytest.mark.parametrize("size", [1, 3, 4])
def test_lrn(op: str, opset: int, size: int) -> None:
    check(op, [floats(2, 6, 3, 3)], opset=opset, size=size, alpha=0.02, bias=1.5)


@over_versions("LpNormalization")
@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(op: str, opset: int, p: int) -> None:
    check(op, [floats(2, 6, 3)], opset=opset, axis=1, p=p)


def test_lp_normalization_of_nothing_but_zeros() -> None:
    check("LpNormalization", [np.array([[0, 0], [3, 4]], np.float32)], opset=22, axis=1)


@over_versions("GroupNormalization", "MeanVarianceNormalization", "RMSNormalization")
def test_norms_through_their_function_bodies(op: str, opset: int) -> None:
    x = floats(2, 4, 3, 3)
    if op == "MeanVarianceNormalization":
        check(op, [x], opset=opset, symbolic=False)
    elif op == "RMSNormalization":
        check(op, [x, floats(3, seed=1)], opset=opset, symbolic=False)
    else:
        check(op, [x, floats(4, seed=1), floats(4, seed=2)], opset=opset, symbolic=False, num_groups=2)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1.0, 1.0, 2.0, 2.0), (1.0, 1.0, 1.5, 3.0)])
def test_upsample(mode: str, scales: tuple[float, ...]) -> None:
    x = floats(1, 2, 4, 6)
    check("Upsample", [x], opset=7, mode=mode, scales=list(scales))
    check("Upsample", [x, np.array(scales, np.float32)], opset=9, mode=mode, constants=[1])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 0.5, 0.5), (1, 1, 0.6, 0.3), (1, 1, 2, 0.5)])
def test_resize_of_opset_10(mode: str, scales: tuple[float, ...]) -> None:
    check("Resize", [floats(1, 2, 4, 10), np.array(scales, np.float32)], opset=10, mode=mode, constants=[1])


_COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


@over_versions("Resize", least=11)
@pytest.mark.parametrize("coordinates", _COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize(op: str, opset: int, coordinates: str, mode: str) -> None:
    x, roi = floats(1, 2, 5, 6), np.zeros(0, np.float32)
    options = {"coordinate_transformation_mode": coordinates, "mode": mode}
    for scales in ([1, 1, 2, 2], [1, 1, 0.6, 1.7]):
        check(op, [x, roi, np.array(scales, np.float32)], opset=opset, constants=[1, 2], **options)
    empty = np.zeros(0, np.float32) if opset < 13 else None
    check(op, [x, roi if opset < 13 else None, empty, int64s(1, 2, 8, 3)], opset=opset, constants=[1, 2, 3], **options)


@over_versions("Resize", least=11)
@pytest.mark.parametrize("nearest_mode", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_nearest_modes(op: str, opset: int, nearest_mode: str) -> None:
    x, roi = floats(1, 1, 5, 6), np.zeros(0, np.float32)
    check(op, [x, roi, np.array([1, 1, 1.5, 0.7], np.float32)], opset=opset, constants=[1, 2], nearest_mode=nearest_mode)


@over_versions("Resize", least=18)
def test_resize_of_some_axes(op: str, opset: int) -> None:
    x = floats(1, 2, 5, 6)
    check(op, [x, None, None, int64s(10, 9)], opset=opset, constants=[3], axes=[2, 3], mode="linear")
    check(op, [x, None, np.array([2.0, 0.5], np.float32)], opset=opset, constants=[2], axes=[3, 2], mode="linear")
    check(op, [x, None, np.array([1, 1, 0.5, 0.5], np.float32)], opset=opset, constants=[2], mode="linear", antialias=1)
    for policy in ("not_larger", "not_smaller"):
        check(
            op,
            [x, None, None, int64s(10, 9)],
            opset=opset,
            constants=[3],
            axes=[2, 3],
            mode="linear",
            keep_aspect_ratio_policy=policy,
        )


def test_resize_to_a_size_that_is_fed() -> None:
    check("Resize", [floats(1, 2, 4, 4), None, None, int64s(1, 2, 8, 6)], opset=13, mode="linear")


def test_resize_cropping() -> None:
    roi = np.array([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9], np.float32)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear", "extrapolation_value": 3.0}
    check("Resize", [floats(1, 2, 6, 6), roi, None, int64s(1, 2, 4, 4)], opset=13, constants=[1, 3], **options)


@over_versions("QuantizeLinear")
def test_quantize_linear(op: str, opset: int) -> None:
    x = np.array([-300, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 300], np.float32)
    scale = np.array(0.5, np.float32)
    check(op, [x, scale], opset=opset)
    check(op, [x, scale, np.array(3, np.int8)], opset=opset, constants=[1, 2])
    check(op, [x, scale, np.array(128, np.uint8)], opset=opset)
    if opset >= 13:
        check(op, [floats(2, 3, 4), np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 3], np.int8)], opset=opset, axis=1)


@over_versions("DequantizeLinear")
def test_dequantize_linear(op: str, opset: int) -> None:
    x = rng().integers(-128, 128, (2, 3, 4)).astype(np.int8)
    check(op, [x, np.array(0.5, np.float32)], opset=opset)
    check(op, [x, np.array(0.5, np.float32), np.array(3, np.int8)], opset=opset, constants=[1, 2])
    check(op, [np.array([1000, -5], np.int32), np.array(0.01, np.float32)], opset=opset)
    if opset >= 13:
        check(op, [x, np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 3], np.int8)], opset=opset, axis=-2)


def test_blocked_dequantization() -> None:
    x = rng().integers(-8, 8, (4, 6)).astype(np.int8)
    check("DequantizeLinear", [x, np.abs(floats(4, 2, seed=1)), np.zeros((4, 2), np.int8)], opset=21, axis=1, block_size=3)


def test_int4_weights() -> None:
    import ml_dtypes

    x = np.array([[-8, 7, 3], [0, -1, 5]], ml_dtypes.int4)
    model = make_model("DequantizeLinear", [x, np.array(0.5, np.float32)], opset=21, constants=[0, 1])
    np.testing.assert_array_equal(run_jny(model, {})["y0"], x.astype(np.float32) * 0.5)


def test_dynamic_quantization_through_its_function_body() -> None:
    x = floats(3, 5)
    model = make_model("DynamicQuantizeLinear", [x], opset=11, outputs=3)
    results, expected = run_jny(model, {"x0": x}), reference(model, {"x0": x})
    for name in expected:
        np.testing.assert_allclose(results[name].astype(np.float64), expected[name].astype(np.float64), rtol=1e-6, atol=1)


@pytest.mark.parametrize("opset", versions("Attention"))
def test_attention_through_its_function_body(opset: int) -> None:
    operands = [floats(2, 3, 4, 8, seed=seed) for seed in range(3)]
    check("Attention", operands, opset=opset, symbolic=False, tolerance=1e-4)


def test_half_precision() -> None:
    check("Conv", [floats(1, 3, 6, 6, dtype=np.float16), floats(4, 3, 3, 3, seed=1, dtype=np.float16)], opset=11, constants=[1])
    check("MatMul", [floats(3, 4, dtype=np.float16), floats(4, 5, seed=1, dtype=np.float16)], opset=13)
    check("MatMul", [floats(3, 4, dtype=np.float64), floats(4, 5, seed=1, dtype=np.float64)], opset=13)


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
def test_causal_convolution_with_state(activation: str) -> None:
    x, w, bias = floats(2, 3, 6), floats(3, 1, 4, seed=1), floats(3, seed=2)
    options: dict[str, Any] = {"opset": 27, "outputs": 2, "activation": activation}
    check("CausalConvWithState", [x, w, bias, floats(2, 3, 3, seed=3)], constants=[1, 2], **options)
    check("CausalConvWithState", [x, w], constants=[1], **options)
    check("CausalConvWithState", [x[..., :1], w, None, floats(2, 3, 3, seed=3)], constants=[1], **options)
    check("CausalConvWithState", [x, floats(3, 1, 1, seed=1)], constants=[1], **options)
