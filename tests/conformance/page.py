"""Renders docs/conformance.md from the lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ratchet import Lists

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

PEERS = (
    ("ONNX Runtime 1.32", 1640, 1797, 1852),
    ("OpenVINO 2026.4", 1504, 1602, 1610),
    ("tract 0.23.9 (axes and shapes as constants)", 1380, 1383, 1383),
    ("MNN 3.6.1", 835, 874, 878),
    ("ncnn (through pnnx)", 332, 332, 332),
)
"""Passes of others, measured once on the suite of onnx 1.23.2 by the same rules: core, in scope, all."""

_TEXT = """\
# Conformance

Jitney runs ONNX's own backend test-suite, that of the package onnx {version}: {all} tests. To pass, a test needs all its outputs
right in value (by the test's own tolerance; integers exactly), in shape and in dtype, in a process that survives. The tests are
made from the installed package, each model is converted as `jitney convert` does it, and no test is known by its name.

{table}

* **In scope** are all tests but those of training and those about sequences, optionals, maps and strings.
* **Core** leaves out bfloat16, float8, 4- and 2-bit and complex types, random numbers, image decoding, and other domains.

The others were measured once, with the versions named. `make conformance` runs the suite and fails if it does not end as
[`passes.txt`](../tests/conformance/passes.txt) and [`fails.txt`](../tests/conformance/fails.txt) say: a pass may not be lost, and
a new one must be listed (`make conformance-update`, which writes this page, too).

## What does not pass
{failures}
## Running it yourself

`jitney.onnx_backend` implements `onnx.backend.base.Backend` (it needs `jitney[convert]`):

```python
import unittest

import onnx.backend.test
import jitney.onnx_backend

suite = onnx.backend.test.BackendTest(jitney.onnx_backend, __name__)
suite.include("test_relu_cpu")
result = unittest.TextTestRunner().run(suite.test_suite)
assert result.wasSuccessful()
```
"""


def render(lists: Lists, scopes: Mapping[str, Sequence[str]]) -> str:
    heads = [f"{scope} ({len(scopes[scope])})" for scope in ("core", "in scope", "all")]
    rows = [f"| runtime | {' | '.join(heads)} |", "|---|---|---|---|"]
    own = [sum(name in lists.passes for name in scopes[scope]) for scope in ("core", "in scope", "all")]
    for label, *counts in (("**Jitney**", *own), *PEERS):
        cells = (f"{count} ({count / max(len(names), 1):.1%})" for count, names in zip(counts, scopes.values()))
        rows.append(f"| {label} | {' | '.join(cells)} |")
    return _TEXT.format(version=lists.onnx, all=len(scopes["all"]), table="\n".join(rows), failures=_failures(lists, scopes))


def _failures(lists: Lists, scopes: Mapping[str, Sequence[str]]) -> str:
    """Per scope, the reasons and how many tests each stops."""
    inside = set(scopes["in scope"])
    parts = []
    for title, names in (
        ("In scope", [name for name in lists.fails if name in inside]),
        ("Out of scope", [name for name in lists.fails if name not in inside]),
    ):
        reasons = Counter((lists.fails[name].kind, _general(lists.fails[name].reason)) for name in names)
        rows = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        lines = [f"| {count} | {kind} | {reason.replace('|', '/')} |" for (kind, reason), count in rows]
        table = ["| tests | how | why |", "|---|---|---|", *lines] if lines else ["Nothing."]
        parts.append("\n".join([f"\n### {title}: {len(names)}", "", *table, ""]))
    return "".join(parts)


def _general(reason: str) -> str:
    """The reason without the names of nodes and inputs, so that like ones are counted together."""
    short = re.sub(r"^input '[^']*'", "an input", reason.removeprefix("! "))
    return short.split(" node '")[0] + (")" if " node '" in short else "")
