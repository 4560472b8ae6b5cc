"""Sampling, regions, deformable convolutions, folding, unpooling and resizing, against those who say what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from op_check import Array, check, convert_bytes, floats, int64s, make_model, over_versions, reference, rng, run_jny, versions

from jitney import Session
from jitney.errors import InvalidInput, InvalidModel

_MODES = {16: ["bilinear", "nearest", "bicubic"], 20: ["linear", "nearest", "cubic"], 22: ["linear", "nearest", "cubic"]}


def grid(*shape: int, reach: float = 1.6) -> Array:
    return (rng(5).uniform(-reach, reach, shape)).astype(np.float32)


@over_versions("GridSample")
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_grid_sample(op: str, opset: int, padding: str, corners: int) -> None:
    for mode in _MODES[opset]:
        options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        check(op, [floats(2, 3, 5, 4), grid(2, 3, 6, 2)], opset=opset, tolerance=1e-4, **options)
        check(op, [floats(1, 2, 1, 3), grid(1, 2, 3, 2, reach=9)], opset=opset, symbolic=False, tolerance=1e-4, **options)
    if opset >= 20:
        for mode in ("linear", "nearest"):
            options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
            check(op, [floats(1, 2, 3, 4, 2), grid(1, 2, 2, 3, 3)], opset=opset, symbolic=False, tolerance=1e-4, **options)
            check(op, [floats(1, 2, 5), grid(1, 4, 1)], opset=opset, symbolic=False, tolerance=1e-4, **options)


def test_grid_sample_of_odd_positions() -> None:
    x = floats(1, 1, 2, 3)
    odd = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0], np.float32)
    at = np.stack([odd, odd[::-1]], -1)[None, None]
    for padding in ("zeros", "border", "reflection"):
        for mode in ("linear", "nearest", "cubic"):
            model = make_model("GridSample", [x, at], opset=20, attributes={"mode": mode, "padding_mode": padding})
            assert np.isfinite(run_jny(model, {"x0": x, "x1": at})["y0"]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8, np.int32])
def test_grid_sample_of_other_types(dtype: npt.DTypeLike) -> None:
    """Integers are interpolated as floats are, and the fractions dropped."""
    x, at = rng().integers(0, 200, (1, 2, 4, 5)).astype(dtype), grid(1, 3, 3, 2)
    wide = run_jny(make_model("GridSample", [x.astype(np.float64), at], opset=20), {"x0": x.astype(np.float64), "x1": at})["y0"]
    y = run_jny(make_model("GridSample", [x, at], opset=20), {"x0": x, "x1": at})["y0"]
    np.testing.assert_array_equal(y, wide.astype(dtype), strict=True)


_ROIS = np.array([[0, 0, 6, 5], [1.2, 0.4, 3.3, 4.9], [-3, -2, 12, 11], [4, 4, 2, 1], [2, 2, 2, 2]], np.float32)


@over_versions("RoiAlign")
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(op: str, opset: int, mode: str, ratio: int) -> None:
    operands = [floats(2, 3, 8, 7), _ROIS, int64s(0, 1, 1, 0, 1)]
    options: dict[str, Any] = {"mode": mode, "sampling_ratio": ratio, "output_height": 3, "output_width": 2}
    check(op, operands, opset=opset, **options)
    check(op, operands, opset=opset, spatial_scale=0.37, **options)
    if opset >= 16:
        check(op, operands, opset=opset, coordinate_transformation_mode="output_half_pixel", **options)


def test_regions_far_outside_cost_no_more() -> None:
    x, rois = floats(1, 1, 4, 4), np.array([[-3e9, -3e9, 3e9, 3e9], [0, 0, np.inf, np.nan]], np.float32)
    model = make_model("RoiAlign", [x, rois, int64s(0, 0)], opset=16)
    y = run_jny(model, {"x0": x, "x1": rois, "x2": int64s(0, 0)})["y0"]
    assert y.shape == (2, 1, 1, 1) and np.isfinite(y).all()
    with pytest.raises(InvalidInput, match="index 1 is outside"):
        run_jny(model, {"x0": x, "x1": rois, "x2": int64s(0, 1)})


@over_versions("MaxRoiPool")
def test_max_roi_pool(op: str, opset: int) -> None:
    rois = np.concatenate([np.array([[0], [1], [0], [1], [1]], np.float32), np.abs(_ROIS)], 1)
    check(op, [floats(2, 3, 8, 7), rois], opset=opset, pooled_shape=[3, 2])
    check(op, [floats(2, 3, 8, 7), rois], opset=opset, pooled_shape=[2, 5], spatial_scale=0.5)


@over_versions("DeformConv")
@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((2, 4, 5, 6), (6, 4, 3, 2), {}),
        ((1, 4, 5, 6), (6, 2, 3, 3), {"group": 2, "offset_group": 2, "pads": [1, 1, 1, 1]}),
        (
            (1, 4, 7, 6),
            (4, 1, 2, 2),
            {"group": 4, "offset_group": 1, "strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 1]},
        ),
    ],
)
def test_deform_conv(op: str, opset: int, x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any]) -> None:
    stride, dilation = options.get("strides", [1, 1]), options.get("dilations", [1, 1])
    pads, groups = options.get("pads", [0] * 4), options.get("offset_group", 1)
    out = [(x[2 + i] + pads[i] + pads[2 + i] - dilation[i] * (w[2 + i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    taps = w[2] * w[3]
    offset, mask = floats(x[0], groups * taps * 2, *out, seed=2), floats(x[0], groups * taps, *out, seed=3)
    operands = [floats(*x), floats(*w, seed=1), offset]
    check(op, operands, opset=opset, constants=[1], tolerance=1e-4, **options)
    check(op, [*operands, floats(w[0], seed=4), mask], opset=opset, constants=[1, 3], tolerance=1e-4, **options)
    check(op, [*operands, None, mask], opset=opset, constants=[1], tolerance=1e-4, **options)
    halves = [operand.astype(np.float16) for operand in operands]
    check(op, halves, opset=opset, constants=[1], symbolic=False, tolerance=0.02, **options)


def test_deform_conv_in_three_dimensions() -> None:
    """With no offsets it is an ordinary convolution."""
    x, w = floats(1, 2, 4, 5, 3), floats(3, 2, 2, 3, 2, seed=1)
    offset = np.zeros((1, 36, 3, 3, 2), np.float32)
    y = run_jny(make_model("DeformConv", [x, w, offset], opset=19, constants=[1]), {"x0": x, "x2": offset})["y0"]
    expected = reference(make_model("Conv", [x, w], opset=11), {"x0": x, "x1": w})["y0"]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("image", "block", "options"),
    [
        ([5, 6], [2, 3], {}),
        ([5, 6], [2, 3], {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
        ([7, 6], [2, 2], {"dilations": [2, 3]}),
        ([9], [3], {"strides": [2]}),
        ([3, 4, 5], [2, 1, 3], {}),
    ],
)
def test_col2im(image: list[int], block: list[int], options: dict[str, Any]) -> None:
    rank = len(image)
    stride, dilation = options.get("strides", [1] * rank), options.get("dilations", [1] * rank)
    pads = options.get("pads", [0] * 2 * rank)
    counts = [(image[i] + pads[i] + pads[rank + i] - dilation[i] * (block[i] - 1) - 1) // stride[i] + 1 for i in range(rank)]
    x = floats(2, 3 * int(np.prod(block)), int(np.prod(counts)))
    check("Col2Im", [x, int64s(*image), int64s(*block)], opset=18, constants=[1, 2], **options)
    check("Col2Im", [x, int64s(*image), int64s(*block)], opset=18, symbolic=False, **options)


def test_col2im_of_shapes_that_change_between_runs() -> None:
    model = make_model("Col2Im", [floats(1, 4, 9), int64s(4, 4), int64s(2, 2)], opset=18, symbolic=True)
    with Session(convert_bytes(model)) as session:
        for image, block, blocks in (((4, 4), (2, 2), 9), ((2, 10), (2, 2), 9), ((5, 3), (1, 2), 10), ((4, 4), (2, 2), 9)):
            feeds = {"x0": floats(1, 4, blocks), "x1": int64s(*image), "x2": int64s(*block)}
            np.testing.assert_allclose(session.run(feeds)["y0"], reference(model, feeds)["y0"], rtol=1e-5)
        with pytest.raises(InvalidInput, match="number of blocks"):
            session.run({"x0": floats(1, 4, 8), "x1": int64s(4, 4), "x2": int64s(2, 2)})


@over_versions("Det")
def test_det(op: str, opset: int) -> None:
    for shape in ((3, 3), (2, 4, 4), (2, 3, 1, 1), (2, 0, 0), (0, 2, 2)):
        x = floats(*shape)
        y = run_jny(make_model(op, [x], opset=opset, symbolic=True), {"x0": x})["y0"]
        np.testing.assert_allclose(y, np.linalg.det(x), rtol=1e-4, atol=1e-6)
    singular = np.array([[1, 2], [2, 4]], np.float32)
    assert run_jny(make_model(op, [singular], opset=opset), {"x0": singular})["y0"] == 0
    with pytest.raises(InvalidModel, match="size of the matrices"):
        convert_bytes(make_model(op, [floats(2, 3)], opset=opset))


@over_versions("MaxUnpool")
@pytest.mark.parametrize("options", [{"strides": [2, 2]}, {"strides": [3, 2], "pads": [1, 0, 0, 1]}, {}])
def test_max_unpool(op: str, opset: int, options: dict[str, Any]) -> None:
    x, kernel = floats(2, 3, 9, 8), [3, 2]
    pooled = reference(
        make_model("MaxPool", [x], opset=12, outputs=2, attributes={"kernel_shape": kernel, "strides": [3, 2]}), {"x0": x}
    )
    stride, pads = options.get("strides", [1, 1]), options.get("pads", [0] * 4)
    sizes = [(pooled["y0"].shape[2 + i] - 1) * stride[i] + kernel[i] - pads[i] - pads[2 + i] for i in (0, 1)]
    indices = pooled["y1"] % (6 * sizes[0] * sizes[1])
    check(op, [pooled["y0"], indices], opset=opset, symbolic=False, kernel_shape=kernel, **options)
    larger = int64s(2, 3, sizes[0] + 1, sizes[1] + 2)
    model = make_model(op, [pooled["y0"], indices, larger], opset=opset, attributes={"kernel_shape": kernel, **options})
    feeds = {"x0": pooled["y0"], "x1": indices, "x2": larger}
    y, inner = run_jny(model, feeds)["y0"], run_jny(make_model(op, [pooled["y0"], indices], opset=opset,
        attributes={"kernel_shape": kernel, **options}), {"x0": pooled["y0"], "x1": indices})["y0"]  # fmt: skip
    assert y.shape == tuple(larger)
    np.testing.assert_array_equal(y[:, :, : sizes[0], : sizes[1]], inner)
    assert np.count_nonzero(y) == np.count_nonzero(inner)


@pytest.mark.parametrize("opset", versions("Resize", least=11))
def test_resize_that_aligns_corners_at_fractional_scales(opset: int) -> None:
    """Up to opset 18 lengths are whole; from 19 on they are what the scale makes of them."""
    x = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    scales = np.array([1, 1, 1, 0.6], np.float32)
    attributes = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    model = make_model("Resize", [x, None, scales], opset=opset, attributes=attributes, constants=[2])
    y = run_jny(model, {"x0": x})["y0"][0, 0, 0]
    np.testing.assert_allclose(y, [0, 3 / (4 * 0.6 - 1)] if opset >= 19 else [0, 3], rtol=1e-5)


def test_wrong_words_are_named() -> None:
    with pytest.raises(InvalidModel, match="mode is 'quadratic'"):
        convert_bytes(
            make_model("GridSample", [floats(1, 1, 2, 2), grid(1, 2, 2, 2)], opset=20, attributes={"mode": "quadratic"})
        )
    with pytest.raises(InvalidModel, match="the number of coordinates"):
        convert_bytes(make_model("GridSample", [floats(1, 1, 2, 2), grid(1, 2, 2, 3)], opset=20))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("corners", [0, 1])
def test_affine_grid(batch: int, corners: int) -> None:
    for sizes in ((4, 3), (2, 3, 4), (2, 2)):
        rank = len(sizes)
        theta, size = floats(batch, rank, rank + 1), int64s(batch, 2, *sizes)
        options: dict[str, Any] = {"opset": 20, "align_corners": corners}
        check("AffineGrid", [theta, size], constants=[1], symbolic=False, **options)
        check("AffineGrid", [theta, size], symbolic=False, **options)
    model = make_model(
        "AffineGrid", [floats(batch, 2, 3), int64s(batch, 2, 4, 3)], opset=20, attributes={"align_corners": corners}
    )
    with Session(convert_bytes(model)) as session:
        for height, width in ((4, 3), (2, 5), (4, 3)):
            feeds = {"x0": floats(batch, 2, 3), "x1": int64s(batch, 2, height, width)}
            np.testing.assert_allclose(session.run(feeds)["y0"], reference(model, feeds)["y0"], rtol=1e-4, atol=1e-5)
    one = np.array([[[2, 0, 5], [0, 3, 7]]], np.float32)
    feeds = {"x0": one, "x1": int64s(1, 1, 1, 1)}
    y = run_jny(make_model("AffineGrid", [*feeds.values()], opset=20, attributes={"align_corners": corners}), feeds)["y0"]
    np.testing.assert_array_equal(y.reshape(2), [3, 4] if corners else [5, 7])


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 9), ("Resize", 10)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_old_resizes_with_scales_that_change_between_runs(op: str, opset: int, mode: str) -> None:
    x = floats(1, 2, 4, 6)
    model = make_model(op, [x, np.ones(4, np.float32)], opset=opset, symbolic=True, attributes={"mode": mode})
    with Session(convert_bytes(model)) as session:
        for height, width in ((2, 1.5), (1, 3), *(((0.5, 2), (0.7, 0.5)) if op == "Resize" else ()), (2, 1.5)):
            feeds = {"x0": x, "x1": np.array([1, 1, height, width], np.float32)}
            np.testing.assert_allclose(session.run(feeds)["y0"], reference(model, feeds)["y0"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_pools_without_any_window(op: str) -> None:
    options: dict[str, Any] = {"kernel_shape": [4, 2], "strides": [3, 1]}
    y = run_jny(make_model(op, [floats(1, 2, 3, 5)], opset=11, symbolic=True, attributes=options), {"x0": floats(1, 2, 3, 5)})[
        "y0"
    ]
    assert y.shape == (1, 2, 0, 4)
