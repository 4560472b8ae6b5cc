"""Finds what goes wrong where a converted model differs from its ONNX model: the first pass at fault, and the first node."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from jitney.errors import Error

from .compare import check_output, with_noise
from .dims import Shapes
from .dynamic_batch import open_batch
from .infer import infer_shapes
from .ir import Model, Node, Value
from .load import Loaded, Source, load
from .lower import lower
from .passes import run_passes
from .reference import BudgetExceeded, Crashed, Reference
from .report import OutputCheck
from .sample import Feeds, Sample, check_seed, input_specs, load_sample, random_feeds
from .selection import with_outputs
from .verify import NotVerifiable, first_that_runs, open_reference, refuse_faulty_evaluator
from .write import serialise

BUDGET_SECONDS: Final = 600.0
_COMPARED_AT_ONCE: Final = 32
"""Values that are compared in one run: all of them at once might not fit into memory."""


@dataclass(frozen=True)
class NodeFault:
    """The first node whose results are off, although its operands agree."""

    node: str
    op: str
    """In ONNX, or in the IR if passes made the node."""
    opset: str
    kernel: str
    """The kernel at fault, if the reference backend gives the right result."""
    check: OutputCheck | None
    """None if the node fails instead of giving results."""
    error: str = ""
    """How the node fails, or how far its result is off."""

    def __str__(self) -> str:
        where = f"{self.op} node '{self.node}'" + (f" (opset {self.opset})" if self.opset else "")
        what = f"fails: {self.error}" if self.check is None else f"is the first that is off: {self.check}"
        whose = f"\n  the kernel {self.kernel} is at fault: the reference backend gives the right result" if self.kernel else ""
        return f"{where} {what}{whose}"


@dataclass(frozen=True)
class Bisection:
    """What was found. `print` it, or take its fields."""

    stage: str
    """"nothing", "not verifiable", "lowering" (which includes the runtime) or "pass"."""
    reason: str = ""
    pass_name: str = ""
    pass_run: int = 0
    """How many runs of passes lead to the fault; `stop_after` and `dump` of `convert` count in the same way."""
    node: NodeFault | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found to be wrong."""
        return self.stage in ("nothing", "not verifiable")

    def __str__(self) -> str:
        if self.stage == "nothing":
            return "nothing goes wrong: the converted model does what the ONNX model does"
        if self.stage == "not verifiable":
            return f"not verifiable: {self.reason}"
        first = "the fault is there before any pass: in the lowering of a node, or in the runtime"
        if self.stage == "pass":
            first = f"the pass at fault is {self.pass_name} (run {self.pass_run}): before it, all results agree"
        return first + (f"\n{self.node}" if self.node else "\nno node was found whose results are off")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        fault = self.node
        node: dict[str, Any] | None = None
        if fault is not None:
            node = {"node": fault.node, "op": fault.op, "opset": fault.opset, "kernel": fault.kernel, "error": fault.error}
            node["output"] = fault.check.name if fault.check is not None else ""
            node["check"] = fault.check.to_dict() if fault.check is not None else None
        return {"stage": self.stage, "reason": self.reason, "pass": self.pass_name, "run": self.pass_run, "node": node}


def bisect(
    source: Source,
    *,
    shapes: Shapes | None = None,
    dynamic_batch: bool = False,
    sample: Sample | None = None,
    seed: int = 0,
    budget: float = BUDGET_SECONDS,
) -> Bisection:
    """Converts the model with more and fewer passes and compares the results with those of the ONNX model."""
    check_seed(seed)
    loaded = load(source)
    deadline = time.monotonic() + budget
    search = _Search(loaded, shapes, dynamic_batch, seed, deadline)
    specs = input_specs(search.model(0)[0])
    candidates = [load_sample(sample, specs)] if sample is not None else random_feeds(specs, seed)
    try:
        with open_reference(loaded, deadline) as reference:
            feeds, _ = first_that_runs(reference, candidates, is_sample=sample is not None)
            search.expect(reference, feeds)
            name = reference.name
        found = search.run()
        if not found.ok:
            refuse_faulty_evaluator(loaded, name)
        return found
    except (NotVerifiable, Crashed) as error:
        return Bisection("not verifiable", str(error))
    except BudgetExceeded:
        return Bisection("not verifiable", f"the reference needs more than the {budget:.0f} s that it is given")


class _Search:
    def __init__(self, loaded: Loaded, shapes: Shapes | None, dynamic_batch: bool, seed: int, deadline: float) -> None:
        self._loaded = loaded
        self._shapes = shapes
        self._dynamic_batch = dynamic_batch
        self._seed = seed
        self._deadline = deadline
        self._feeds: Feeds = {}
        self._noisy_feeds: Feeds = {}
        self._expected: dict[str, Any] = {}
        self._noisy: dict[str, Any] = {}

    def model(self, limit: int | None) -> tuple[Model, list[str]]:
        """The model after so many runs of passes, and their names."""
        model = lower(replace(self._loaded, warnings=[]), self._shapes, sizes_are_final=not self._dynamic_batch)
        if self._dynamic_batch:
            open_batch(model)
        names = [result.name for result in run_passes(model, limit=limit)]
        infer_shapes(model)
        return model, names

    def expect(self, reference: Reference, feeds: Feeds) -> None:
        """Notes what the reference says, for these inputs and for a little noise on them."""
        self._feeds, self._noisy_feeds = feeds, with_noise(feeds, self._seed + 1)
        self._expected, self._noisy = reference.run(feeds), reference.run(self._noisy_feeds)

    def run(self) -> Bisection:
        """Fewest passes that go wrong: between `right`, which do not, and `wrong`."""
        names = self.model(None)[1]
        if self._agrees(len(names)):
            return Bisection("nothing")
        if not self._agrees(0):
            return Bisection("lowering", node=self._first_node(self.model(0)[0]))
        right, wrong = 0, len(names)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self._agrees(middle):
                right = middle
            else:
                wrong = middle
        return Bisection("pass", "", names[wrong - 1], wrong, self._first_node(self.model(wrong)[0]))

    def _agrees(self, limit: int) -> bool:
        try:
            checks = self._compare(self.model(limit)[0], self._expected, self._noisy)
        except Error:
            return False
        return all(check.ok for check in checks)

    def _compare(
        self, model: Model, expected: Mapping[str, Any], noisy: Mapping[str, Any], backend: str = "auto"
    ) -> list[OutputCheck]:
        from jitney import Session

        with Session(serialise(model), backend=backend) as session:
            actual = session.run(self._feeds)
        return [
            check_output(name, np.asarray(expected[name]), actual[name], np.asarray(noisy[name])) for name in model.output_names
        ]

    def _first_node(self, model: Model) -> NodeFault | None:
        """In the graph's order, by comparing the results of nodes that the ONNX model has, too."""
        for values in _in_parts(_shared_values(model, self._loaded)):
            names = [value.name for value in values]
            variant = replace(self._loaded, proto=with_outputs(self._loaded.proto, names), path=None)
            with open_reference(variant, self._deadline) as reference:
                expected, noisy = reference.run(self._feeds), reference.run(self._noisy_feeds)
            part = _with_outputs(model, values)
            try:
                checks = self._compare(part, expected, noisy)
            except Error as error:
                return NodeFault(error.node, error.op, error.opset, "", None, error.message)
            for value, check in zip(values, checks):
                if not check.ok:
                    return self._fault(model, value, check, expected, noisy)
        return None

    def _fault(
        self, model: Model, value: Value, check: OutputCheck, expected: Mapping[str, Any], noisy: Mapping[str, Any]
    ) -> NodeFault:
        alone = _with_outputs(model, [value])
        by_reference = self._compare(alone, expected, noisy, "reference")
        kernel = self._kernel(alone, value) if all(each.ok for each in by_reference) else ""
        for node in self._loaded.proto.graph.node:
            if value.name in node.output:
                version = self._loaded.opsets.get(node.domain if node.domain != "ai.onnx" else "", 0)
                opset = f"{node.domain} {version}" if node.domain else str(version)
                return NodeFault(node.name or value.name, node.op_type, opset, kernel, check, check.verdict)
        producer = value.producer
        assert producer is not None
        return NodeFault(producer.name, producer.op, "", kernel, check, check.verdict)

    def _kernel(self, model: Model, value: Value) -> str:
        """The kernels of the last step: that of the value's node."""
        from jitney import Session

        producer = value.producer
        with Session(serialise(model)) as session:
            session.run(self._feeds)
            steps = session.plan_report().steps
        own = [step.kernel for step in steps if producer is not None and producer.name in step.node.split("+")]
        return ", ".join(own) or "of the cpu backend"


def _shared_values(model: Model, loaded: Loaded) -> list[Value]:
    """Results of nodes that the ONNX model has under the same name: its own nodes' in order."""
    known = {name for node in loaded.proto.graph.node for name in node.output if name}
    results = (result for node in model.graph.nodes for result in node.outputs)
    return [value for value in results if value is not None and value.name in known and value.dtype]


def _in_parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), _COMPARED_AT_ONCE):
        yield values[start : start + _COMPARED_AT_ONCE]


def _with_outputs(model: Model, values: Sequence[Value]) -> Model:
    """The model with these values as its outputs, and no more nodes than they need."""
    needed: set[Node] = set()
    waiting = [value.producer for value in values]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in needed:
            needed.add(node)
            waiting += [operand.producer for operand in node.inputs if operand is not None]
    graph = replace(model.graph, nodes=[node for node in model.graph.nodes if node in needed], outputs=[*values])
    return Model(graph, model.metadata, [value.name for value in values])
