"""IOBinding: inputs and outputs bound to memory of the caller before a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .exceptions import InvalidArgument, NodeFailure
from .spelling import dtype_from, spelled_name
from .values import Array, OrtValue, array_at, require_host

if TYPE_CHECKING:
    from .session import Session


class IOBinding:
    """Bindings stay for the next run; to bind a name anew replaces what was bound."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._targets: dict[str, OrtValue | None] = {}
        """Outputs in the order of binding; None where the runtime allocates."""
        self._outputs: list[OrtValue] = []

    @property
    def _iobinding(self) -> IOBinding:
        return self

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Binds an array, whose memory is read at each run."""
        if not isinstance(arr_on_cpu, np.ndarray):
            raise RuntimeError("Unable to create OrtValue from the given python object")
        if arr_on_cpu.dtype.kind in "OUST":
            raise RuntimeError("Only binding of non-string Tensors is currently supported")
        self._bind(name, OrtValue.ortvalue_from_numpy(arr_on_cpu))

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: object, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds memory by its address."""
        _require_host(device_type, "input")
        self._bind(name, OrtValue._holding(array_at(buffer_ptr, shape, dtype_from(element_type))))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an OrtValue."""
        self._bind(name, ortvalue._get_c_value())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: object = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output, written to the address if one is given, otherwise to memory of its own at each run."""
        _require_host(device_type, "output")
        if buffer_ptr is None:
            self._targets[name] = None
            return
        if element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        self._targets[name] = OrtValue._holding(array_at(buffer_ptr, shape, dtype_from(element_type)))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Asks for an output, written to the OrtValue's memory."""
        self._targets[name] = ortvalue._get_c_value()

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order of binding."""
        return list(self._outputs)

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """The same."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self) -> list[Array]:
        """Copies of the outputs of the last run."""
        return [value.numpy().copy() for value in self._outputs]

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs, those of the last run too."""
        self._targets.clear()
        self._outputs = []

    def synchronize_inputs(self) -> None:
        """Without effect: the host's memory needs no waiting."""

    def synchronize_outputs(self) -> None:
        """Without effect: the host's memory needs no waiting."""

    def _bind(self, name: str, value: OrtValue) -> None:
        if name not in self._session._args:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self._inputs[name] = value

    def _run(self, session: Session) -> None:
        if not self._targets:
            raise InvalidArgument.of("At least one output should be requested.")
        missing = [arg.name for arg in session.get_inputs() if arg.name not in self._inputs]
        if missing:
            raise NodeFailure.of(f"Missing Input: {', '.join(missing)}")
        feeds = session._feeds(self._inputs)
        names = session._names(list(self._targets))
        targets = {name: target._tensor() for name, target in self._targets.items() if target is not None}
        kinds = {arg.name: arg.type for arg in session.get_outputs()}
        for name, array in targets.items():
            if (given := spelled_name(array.dtype.name)) != kinds[name]:
                raise InvalidArgument.of(f"Unexpected output data type. Actual: ({given}) , expected: ({kinds[name]})")
        results: list[Any] = session._results(names, feeds, targets)
        bound = zip(self._targets.values(), results)
        self._outputs = [target if target is not None else OrtValue._holding(result) for target, result in bound]


def _require_host(device_type: str, kind: str) -> None:
    try:
        require_host(device_type)
    except RuntimeError as error:
        raise RuntimeError(f"Error when binding {kind}: {error}") from None
