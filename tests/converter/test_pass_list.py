"""run_passes: the list as data, stopping early, dumps, progress, and the page about passes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from pass_graphs import Builder, sketch

from jitney.converter.ir import Model
from jitney.converter.passes import PASSES, run_passes
from jitney.errors import InvalidInput


def model() -> Model:
    b = Builder()
    x = b.input("x", 1, 2, 4, 4)
    scaled = b("mul", b.conv(x, 2, 3, name="conv"), b("exp", 1.0))
    return b.model(b("relu", b("add", scaled, x), name="y"))


def test_all_passes_run_until_nothing_changes() -> None:
    small = model()
    results = run_passes(small)
    assert [node.op for node in small.graph.nodes] == ["conv"]
    assert [result.name for result in results[: len(PASSES)]] == [each.name for each in PASSES]
    assert len(results) % len(PASSES) == 0
    assert not any(result.changes for result in results[-len(PASSES) :])
    assert results[-1].nodes == 1


def test_stopping_after_a_pass() -> None:
    small = model()
    results = run_passes(small, stop_after="fold_constants")
    assert [(result.name, result.changes, result.nodes) for result in results] == [("fold_constants", 1, 4)]
    assert [node.op for node in small.graph.nodes] == ["conv", "mul", "add", "relu"]


def test_an_unknown_pass_is_named_and_the_model_left_alone() -> None:
    small = model()
    before = sketch(small)
    with pytest.raises(InvalidInput, match="no pass 'fuse_everything'") as error:
        run_passes(small, stop_after="fuse_everything")
    assert ", ".join(each.name for each in PASSES) in error.value.hint
    assert sketch(small) == before


def test_dumps(tmp_path: Path) -> None:
    run_passes(model(), dump=tmp_path / "deep" / "er")
    names = sorted(path.name for path in (tmp_path / "deep" / "er").iterdir())
    assert names[:3] == ["00_lowered.txt", "01_fold_constants.txt", f"02_{PASSES[1].name}.txt"]
    position = [each.name for each in PASSES].index("fuse_activation") + 1
    assert f"{len(PASSES) + position:02}_fuse_activation.txt" in names
    assert "relu" in (tmp_path / "deep" / "er" / names[0]).read_text(encoding="utf-8")


def test_progress() -> None:
    told: list[tuple[str, float]] = []
    run_passes(model(), stop_after=PASSES[2].name, progress=lambda name, part: told.append((name, part)))
    assert [name for name, _ in told] == [each.name for each in PASSES[:3]]
    assert all(0 <= part < 1 for _, part in told)


def test_names_are_distinct() -> None:
    assert len({each.name for each in PASSES}) == len(PASSES)


def test_the_page_lists_the_passes_in_order() -> None:
    page = (Path(__file__).parents[2] / "docs" / "passes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(each.name, each.purpose) for each in PASSES]


def test_the_same_model_gives_the_same_graph() -> None:
    first, second = model(), model()
    run_passes(first)
    run_passes(second)
    assert sketch(first) == sketch(second)
    for left, right in zip(first.graph.values(), second.graph.values(), strict=True):
        assert left.name == right.name
        if left.constant is not None and right.constant is not None:
            np.testing.assert_array_equal(left.constant, right.constant)
