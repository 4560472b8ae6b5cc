"""docs/operators.md and the package's table say what is registered and what runs. `make operators` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, defs

from jitney.converter.lower import lowered_ops
from jitney.converter.operators import probe, read_table, registered_ops, render

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


def test_the_table_has_what_is_registered() -> None:
    """But for those whose examples all fail, because a function body needs what is not supported."""
    table, registered = read_table(), registered_ops()
    assert [(row.domain, row.op) for row in table] == [(row.domain, row.op) for row in registered], "make operators"
    for row, wanted in zip(table, registered):
        if row.by or wanted.by == "lowering":
            assert (row.op, row.opsets, row.by) == (wanted.op, wanted.opsets, wanted.by), "make operators"


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_table()), "make operators"


def test_some_of_the_dtypes() -> None:
    """All of them are looked at by `make operators-check`."""
    rows = [row for row in read_table() if row.by][::12]
    assert probe.probe(rows) == rows, "make operators"


def test_rows_follow_from_registrations() -> None:
    rows = {(row.domain, row.op): row for row in registered_ops()}
    assert {(domain, op) for domain, op, _ in lowered_ops()} <= set(rows)
    assert {("", schema.name) for schema in defs.get_all_schemas_with_history() if not schema.domain} <= set(rows)
    assert rows["", "Upsample"].opsets.endswith("–9")
    assert rows["", "Conv"].opsets.endswith("–") and rows["", "Conv"].by == "lowering"
    assert any(row.by == "function" for row in rows.values())
    assert rows["", "StringNormalizer"].by == "" and rows["", "StringNormalizer"].opsets == ""


@pytest.mark.parametrize(
    ("op", "fast", "never"),
    [
        ("Add", ["f32", "i64"], ["bool"]),
        ("Concat", ["f32", "bool", "u16"], []),
        ("Softmax", ["f32"], ["i32"]),
        ("And", ["bool"], ["f32"]),
    ],
)
def test_what_is_known_of_some_ops(op: str, fast: list[str], never: list[str]) -> None:
    row = next(row for row in read_table() if (row.domain, row.op) == ("", op))
    assert set(fast) <= set(row.fast)
    assert not set(never) & {*row.fast, *row.partly, *row.plain}


def test_an_example_is_cast_with_all_operands_of_its_type() -> None:
    examples = probe.load_examples()
    where = probe._cast(examples["", "Where"][0], TensorProto.INT16)
    assert [info.type.tensor_type.elem_type for info in where.model.graph.input] == [
        TensorProto.BOOL,
        TensorProto.INT16,
        TensorProto.INT16,
    ]
