"""Ops that move elements and compute nothing: transposes, slices, padding, joining, gathering, repeating."""

from __future__ import annotations

import numpy as np

from single_ops.case import Array, Case, Drawn, floats, node, size_name, sizes

_IMAGE = (1, 64, 56, 56)
_FAR = 2**31 - 1


def _transpose(what: str, shape: tuple[int, ...], *order: int) -> Case:
    return Case(f"transpose {what} {size_name(shape)}", [node("Transpose", "x", perm=order)], {"x": floats(*shape)})


def _pad(mode: str, shape: tuple[int, ...], *pads: int) -> Case:
    name = f"pad {mode} {size_name(shape)} by {max(pads)}"
    return Case(name, [node("Pad", "x, p", mode=mode)], {"x": floats(*shape)}, {"p": sizes(*pads)})


def _expand(shape: tuple[int, ...], wanted: tuple[int, ...]) -> Case:
    name = f"expand {size_name(shape)} to {size_name(wanted)}"
    return Case(name, [node("Expand", "x, s")], {"x": floats(*shape)}, {"s": sizes(*wanted)})


def _rows(count: int, limit: int) -> Array:
    return np.random.default_rng(2).permutation(limit)[:count].astype(np.int64)


CASES = [
    _transpose("to channels last", _IMAGE, 0, 2, 3, 1),
    _transpose("of a matrix", (1000, 1000), 1, 0),
    _transpose("of heads", (1, 128, 12, 64), 0, 2, 1, 3),
    Case(
        "shuffle channels 116x28x28",
        [node("Reshape", "x, split", "a"), node("Transpose", "a", "b", perm=[0, 2, 1, 3, 4]), node("Reshape", "b, join")],
        {"x": floats(1, 116, 28, 28)},
        {"split": sizes(1, 2, 58, 28, 28), "join": sizes(1, 116, 28, 28)},
    ),
    Case("concat channels 64x56x56 twice", [node("Concat", "x, z", axis=1)], {"x": floats(*_IMAGE), "z": floats(*_IMAGE)}),
    Case(
        "slice rows 64x56x56",
        [node("Slice", "x, start, end, axis")],
        {"x": floats(*_IMAGE)},
        {"start": sizes(1), "end": sizes(55), "axis": sizes(2)},
    ),
    Case(
        "slice every second pixel, twice, and concat 3x640x640",
        [
            node("Slice", "x, even, end, axes, step", "a"),
            node("Slice", "x, odd, end, axes, step", "b"),
            node("Concat", "a, b", axis=1),
        ],
        {"x": floats(1, 3, 640, 640)},
        {"even": sizes(0, 0), "odd": sizes(1, 1), "end": sizes(_FAR, _FAR), "axes": sizes(2, 3), "step": sizes(2, 2)},
    ),
    _pad("constant", _IMAGE, 0, 0, 1, 1, 0, 0, 1, 1),
    _pad("reflect", _IMAGE, 0, 0, 1, 1, 0, 0, 1, 1),
    _pad("reflect", (1, 1, 44100), 0, 0, 100, 0, 0, 100),
    _pad("edge", (1, 3, 224, 224), 0, 0, 3, 3, 0, 0, 3, 3),
    _pad("wrap", (1, 3, 224, 224), 0, 0, 3, 3, 0, 0, 3, 3),
    Case(
        "gather 128 rows of 384",
        [node("Gather", "table, x")],
        {"x": Drawn((128,), np.int64)},
        {"table": floats(5000, 384)},
    ),
    Case("gather_nd 300 rows of 512", [node("GatherND", "x, i")], {"x": floats(512, 512)}, {"i": _rows(300, 512)[:, None]}),
    Case(
        "scatter_nd 100 rows of 512",
        [node("ScatterND", "x, i, u")],
        {"x": floats(512, 512), "u": floats(100, 512)},
        {"i": _rows(100, 512)[:, None]},
    ),
    Case("depth_to_space 64x64x64", [node("DepthToSpace", "x", blocksize=2)], {"x": floats(1, 64, 64, 64)}),
    Case("space_to_depth 16x128x128", [node("SpaceToDepth", "x", blocksize=2)], {"x": floats(1, 16, 128, 128)}),
    _expand((1, 64, 1, 1), (1, 64, 56, 56)),
    _expand((1, 512, 1), (8, 512, 512)),
    _expand((8, 1, 128, 64), (8, 4, 128, 64)),
    Case("tile 64x28x28 twice each way", [node("Tile", "x, s")], {"x": floats(1, 64, 28, 28)}, {"s": sizes(1, 1, 2, 2)}),
]
