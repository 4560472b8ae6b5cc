"""Jitney as onnx.backend.base describes backends, for ONNX's own test-suite and for programs written against that interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from jitney.converter.convert import convert_to_bytes
from jitney.errors import Error, InvalidInput
from jitney.session import Session


class JitneyModel(BackendRep):  # type: ignore[misc, unused-ignore]
    """A converted model; `run` may be called from many threads."""

    def __init__(self, model: onnx.ModelProto, session: Session) -> None:
        self._session = session
        self._names = [info.name for info in model.graph.input]
        defaults = {tensor.name: tensor for tensor in model.graph.initializer}
        self._fixed = {name: onnx.numpy_helper.to_array(defaults[name]) for name in self._names if name in defaults}
        self._outputs = namedtupledict("Outputs", [info.name for info in model.graph.output])

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs in the model's order. `inputs` are in the model's order too, or by name; one array may stand alone.

        Inputs that have a default in the model may be left out or hold that default: it is fixed when a model is converted."""
        fed = self._by_name(inputs)
        for name in [name for name in fed if name in self._fixed]:
            if not np.array_equal(fed.pop(name), self._fixed[name]):
                raise InvalidInput(
                    f"input '{name}' has a default in the model, which conversion fixes, but another value was given",
                    hint="remove the initializer of that name from the model",
                )
        results = self._session.run(fed)
        return self._outputs(*(results[info.name] for info in self._session.outputs))

    def _by_name(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return {name: np.asarray(value) for name, value in inputs.items()}
        values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        free = [name for name in self._names if name not in self._fixed]
        names = self._names if len(values) == len(self._names) else free
        if len(values) != len(names):
            raise InvalidInput(f"{len(values)} inputs were given; the model takes {len(free)}: {', '.join(free) or 'none'}")
        return {name: np.asarray(value) for name, value in zip(names, values)}


class JitneyBackend(Backend):  # type: ignore[misc, unused-ignore]
    """ONNX's interface. `options` are those of jitney.Session (backend, threads …)."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on it: "CPU", or "CPU:0"."""
        kind, _, number = device.partition(":")
        return kind == "CPU" and number in ("", "0")

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> bool:
        """Whether the model can be converted, and the device used."""
        if not cls.supports_device(device):
            return False
        try:
            convert_to_bytes(model)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> JitneyModel:
        """Converts the model, simplified as `jitney convert` does it, and makes it ready to run."""
        _check_device(device)
        return JitneyModel(model, Session(convert_to_bytes(model), **options))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
        """Prepares the model and runs it once."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **options: Any,
    ) -> tuple[Any, ...]:
        """Runs one node. `inputs` are its operands in order (None where one is left out), or by name.

        The opset is that of `opset_version`, or the newest that the onnx package knows; the results' types need no telling."""
        _check_device(device)
        version = options.pop("opset_version", defs.onnx_opset_version())
        names = list(dict.fromkeys(name for name in node.input if name))
        if not isinstance(inputs, Mapping):
            given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            inputs = {name: value for name, value in zip(node.input, given) if name and value is not None}
        missing = [name for name in names if name not in inputs]
        if missing:
            raise InvalidInput(f"no value was given for the operand '{missing[0]}' of the {node.op_type} node")
        arrays = {name: np.asarray(inputs[name]) for name in names}
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in arrays.items()
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        imports = [helper.make_opsetid("", version)]
        if node.domain not in ("", "ai.onnx"):
            imports.append(helper.make_opsetid(node.domain, _newest_version(node.domain)))
        graph = helper.make_graph([node], "node", infos, results)
        return cls.run_model(helper.make_model(graph, opset_imports=imports), [*arrays.values()], device, **options)


def _check_device(device: str) -> None:
    if not JitneyBackend.supports_device(device):
        raise InvalidInput(f"device={device!r} was given; this backend runs models on the CPU", hint="device='CPU'")


def _newest_version(domain: str) -> int:
    return max((schema.since_version for schema in defs.get_all_schemas_with_history() if schema.domain == domain), default=1)


supports_device = JitneyBackend.supports_device
is_compatible = JitneyBackend.is_compatible
prepare = JitneyBackend.prepare
run_model = JitneyBackend.run_model
run_node = JitneyBackend.run_node
