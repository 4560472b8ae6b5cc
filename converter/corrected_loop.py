"""Loop for onnx's evaluator, whose own joins what iterations give, instead of stacking it, and never runs without a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx.reference.ops.op_loop import Loop as OnnxLoop


class Loop(OnnxLoop):  # type: ignore[misc, unused-ignore]
    """Keeps what iterations give outside of the evaluator's own loop."""

    K: int
    N: int
    _run_body: Callable[..., Any]

    def _run(  # type: ignore[override, unused-ignore]
        self, count: Any, condition: Any, *operands: Any, **options: Any
    ) -> tuple[Any, ...]:
        gathered, run_body = self.K, self._run_body
        rounds: list[list[Any]] = []

        def noting(*arguments: Any, **named: Any) -> Any:
            results = run_body(*arguments, **named)
            rounds.append(results[len(results) - gathered :])
            return results

        self.K, self._run_body = 0, noting
        try:
            # A condition that is left out is taken for a false one.
            condition = np.array(True) if condition is None else condition
            results = super()._run(count, condition, *operands, **options)  # type: ignore[no-untyped-call, unused-ignore]
        finally:
            self.K, self._run_body = gathered, run_body
        if gathered and not rounds:
            raise RuntimeError("a Loop without iterations gives nothing whose shape would show")
        stacked = [np.stack(values) for values in zip(*rounds, strict=True)] if gathered else []
        return (*results[: self.N], *stacked)[: len(self.onnx_node.output)]
