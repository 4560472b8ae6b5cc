"""Einsum against NumPy's: diagonals, sums, broadcasting, ellipses, many operands, integers, sizes of 0 and open sizes."""

from __future__ import annotations

import numpy as np
import pytest
from op_check import Array, floats, make_model, rng, run_jny

from jitney.converter.load import load
from jitney.converter.lower import lower
from jitney.errors import InvalidModel


def check_einsum(equation: str, *operands: Array, opset: int = 12) -> None:
    expected = np.einsum(equation, *operands)
    feeds = {f"x{index}": operand for index, operand in enumerate(operands)}
    for symbolic in (False, True):
        model = make_model("Einsum", operands, opset=opset, symbolic=symbolic, attributes={"equation": equation})
        for simplify in (False, True):
            y = run_jny(model, feeds, simplify=simplify)["y0"]
            assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("ij->i", [(3, 4)]),
        ("ij", [(3, 4)]),
        ("ba", [(3, 4)]),
        ("->", [()]),
        ("i->i", [(3,)]),
        ("ii->i", [(4, 4)]),
        ("ii", [(4, 4)]),
        ("iji->j", [(4, 3, 4)]),
        ("iiji->ij", [(3, 3, 2, 3)]),
        ("iijj->ij", [(3, 3, 2, 2)]),
        ("...ii->...i", [(2, 5, 3, 3)]),
        ("... -> ...", [(2, 3)]),
        ("i...->...", [(2, 3, 4)]),
        ("a...b->b...", [(2, 3, 4, 5)]),
        ("...j->...", [(4,)]),
    ],
)
def test_one_operand(equation: str, shapes: list[tuple[int, ...]]) -> None:
    check_einsum(equation, *(floats(*shape) for shape in shapes))


_PAIRS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,kj->ik", [(3, 4), (5, 4)]),
    ("ji,jk->ki", [(4, 3), (4, 5)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    ("i,i->", [(4,), (4,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,j->ji", [(3,), (4,)]),
    ("ij,j->i", [(3, 4), (4,)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("ij,ji->ij", [(3, 4), (4, 3)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bihd,bjhd->bhij", [(2, 4, 3, 5), (2, 6, 3, 5)]),
    ("bhij,bjhd->bihd", [(2, 3, 4, 6), (2, 6, 3, 5)]),
    ("abcd,cde->abe", [(2, 3, 4, 5), (4, 5, 6)]),
    ("abcd,dce->eab", [(2, 3, 4, 5), (5, 4, 6)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...i,...i", [(2, 3, 4), (3, 4)]),
    ("i...,j...->ij...", [(2, 3, 4), (5, 3, 4)]),
    ("ij,jk->k", [(3, 4), (4, 5)]),
    ("ij,kl->", [(3, 4), (2, 5)]),
    ("ij,kl->jl", [(3, 4), (2, 5)]),
    ("iij,jk->ik", [(3, 3, 4), (4, 5)]),
    ("Aa,aB->AB", [(3, 4), (4, 5)]),
    ("Ba,ab", [(3, 4), (4, 5)]),
    (",ij->ij", [(), (3, 4)]),
    (",->", [(), ()]),
    ("bi,bi->b", [(3, 4), (3, 4)]),
    ("bijk,bkl->bijl", [(2, 3, 4, 5), (2, 5, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), _PAIRS)
def test_two_operands(equation: str, shapes: list[tuple[int, ...]]) -> None:
    check_einsum(equation, *(floats(*shape, seed=index) for index, shape in enumerate(shapes)))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,ij->ij", [(1, 4), (3, 4)]),
        ("bij,bjk->bik", [(1, 3, 4), (2, 4, 5)]),
        ("bihd,bjhd->bhij", [(2, 4, 3, 5), (1, 6, 3, 5)]),
        ("abij,abj->abi", [(2, 1, 3, 4), (1, 5, 4)]),
    ],
)
def test_sizes_of_one_broadcast(equation: str, shapes: list[tuple[int, ...]]) -> None:
    check_einsum(equation, *(floats(*shape, seed=index) for index, shape in enumerate(shapes)))


def test_summed_sizes_of_one_broadcast() -> None:
    a, b = floats(3, 1), floats(4, 5, seed=1)
    model = make_model("Einsum", [a, b], opset=12, attributes={"equation": "ij,jk->ik"})
    np.testing.assert_allclose(run_jny(model, {"x0": a, "x1": b})["y0"], np.einsum("ij,jk->ik", a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("i,i,i->i", [(3,), (3,), (3,)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("bi,ij,bj->b", [(2, 3), (3, 4), (2, 4)]),
        ("...i,ij,...j->...", [(2, 5, 3), (3, 4), (5, 4)]),
        ("a,ab,abc,abcd->d", [(2,), (2, 3), (2, 3, 4), (2, 3, 4, 5)]),
    ],
)
def test_many_operands(equation: str, shapes: list[tuple[int, ...]]) -> None:
    check_einsum(equation, *(floats(*shape, seed=index) for index, shape in enumerate(shapes)))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 0), (0, 5)]),
        ("ij,jk->ik", [(0, 4), (4, 5)]),
        ("bihd,bjhd->bhij", [(0, 4, 3, 5), (0, 6, 3, 5)]),
        ("ii->i", [(0, 0)]),
        ("ij->", [(0, 4)]),
        ("abcd,cde->abe", [(2, 0, 4, 5), (4, 5, 6)]),
    ],
)
def test_sizes_of_zero(equation: str, shapes: list[tuple[int, ...]]) -> None:
    check_einsum(equation, *(floats(*shape) for shape in shapes))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,ij->ji", "ii,ij->"])
def test_dtypes(equation: str, dtype: type[np.generic]) -> None:
    """Integers wrap in sums and products."""
    size = 4 if np.dtype(dtype).kind != "f" else 1
    operands = [(rng(seed).integers(0, 30 * size, (4, 4)) / (1 if size > 1 else 30)).astype(dtype) for seed in range(2)]
    expected = np.einsum(equation, *(operand.astype(np.float64 if size == 1 else dtype) for operand in operands))
    model = make_model("Einsum", operands, opset=12, attributes={"equation": equation})
    y = run_jny(model, {"x0": operands[0], "x1": operands[1]})["y0"]
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(np.float64), expected.astype(np.float64), rtol=2e-3, atol=1e-2 if size == 1 else 0)


def test_common_products_are_one_matmul() -> None:
    for equation, shapes in (("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)])):
        operands = [floats(*shape) for shape in shapes]
        model = make_model("Einsum", operands, opset=12, symbolic=True, attributes={"equation": equation})
        assert [node.op for node in lower(load(model)).graph.nodes] == ["matmul"]


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(3, 4)], "2 terms for 1 operands"),
        ("ij->ji", [(3, 4, 5)], "does not fit an operand of rank 3"),
        ("ij->ik", [(3, 4)], "'k' of its result occurs in no operand"),
        ("ij->ii", [(3, 4)], "'i' occurs twice in its result"),
        ("i1->i", [(3, 4)], "cannot be read at 'i1'"),
        ("......->...", [(3, 4)], "cannot be read"),
        ("ij,jk->ik", [(3, 4), (5, 6)], "stands for 4 and for 5 elements"),
        ("ii->i", [(3, 4)], "stands for 3 and for 4 elements of one operand"),
    ],
)
def test_equations_that_make_no_sense(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    operands = [floats(*shape) for shape in shapes]
    model = make_model("Einsum", operands, opset=12, attributes={"equation": equation})
    with pytest.raises(InvalidModel, match=message):
        run_jny(model, {f"x{index}": operand for index, operand in enumerate(operands)})
