"""Folds pre-processing into a model: an input takes pixels as they come, and the graph makes of them what the model wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from jitney.errors import InvalidInput
from jitney.input_format import InputFormat

from .ir import Dim, Graph, Node, Value, constant
from .sample import Array, Feeds, InputSpec
from .tensors import dtype_name

Formats = Mapping[str, InputFormat | str]

_FLOATS: Final = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
_DTYPES: Final = {"uint8": TensorProto.UINT8, "float32": TensorProto.FLOAT}
_FEW: Final = (1, 3, 4)
_TO_FIRST: Final = (0, 3, 1, 2)
_TO_LAST: Final = (0, 2, 3, 1)


@dataclass(frozen=True)
class Preparation:
    """What is done to one input: channels second, turned, to float32, subtract, multiply, to the model's dtype and layout."""

    name: str
    form: InputFormat
    dtype: int
    """The model's."""
    own_layout: str
    """The model's: "nchw" or "nhwc", or "" if it is of another rank."""

    @property
    def fed_dtype(self) -> int:
        """What is fed, as a number of onnx.TensorProto.DataType."""
        return int(_DTYPES[self.form.dtype]) if self.form.dtype else self.dtype

    @property
    def perm(self) -> tuple[int, ...]:
        """The transpose from what is fed to the model's layout; empty if there is none."""
        if self.form.layout in ("", self.own_layout):
            return ()
        return _TO_FIRST if self.own_layout == "nchw" else _TO_LAST

    @property
    def to_second(self) -> tuple[int, ...]:
        """The transpose that brings channels to the second place; empty if they are there."""
        return _TO_FIRST if (self.form.layout or self.own_layout) == "nhwc" else ()

    @property
    def channel_axis(self) -> int:
        """In the model's layout."""
        return 3 if self.own_layout == "nhwc" else 1

    def fed_shape(self, shape: Sequence[Dim]) -> list[Dim]:
        """What is fed where the model takes this shape."""
        return [shape[self.perm.index(axis)] for axis in range(len(shape))] if self.perm else list(shape)

    def model_shape(self, fed: Sequence[int | str]) -> tuple[int | str, ...]:
        """What the model takes where this is fed."""
        return tuple(fed[axis] for axis in self.perm) if self.perm and len(fed) == 4 else tuple(fed)

    def shift(self) -> npt.NDArray[np.float64]:
        """Added to what is fed, where channels are second."""
        return self._shaped([-number for number in self.form.mean] or [0.0])

    def factor(self) -> npt.NDArray[np.float64]:
        """What the sums are multiplied by."""
        return self._shaped([1 / number for number in self.form.std] or self.form.scale or [1.0])

    def _shaped(self, numbers: Sequence[float]) -> npt.NDArray[np.float64]:
        array = np.array(numbers, np.float64)
        return array.reshape([-1, 1, 1]) if len(numbers) > 1 else array

    def apply(self, fed: Array) -> Array:
        """What the model gets when this is fed."""
        x = fed.transpose(self.to_second) if self.to_second else fed
        if self.form.channels:
            x = np.flip(x, 1)
        if np.any(self.shift()) or np.any(self.factor() != 1):
            x = (x.astype(np.float64) + self.shift()) * self.factor()
        x = x.transpose(_TO_LAST) if self.own_layout == "nhwc" else x
        return np.ascontiguousarray(x.astype(helper.tensor_dtype_to_np_dtype(self.dtype)))

    def fed_spec(self, spec: InputSpec) -> InputSpec:
        """How the converted model describes the input that the ONNX model describes so."""
        return replace(spec, dtype=self.fed_dtype, shape=None if spec.shape is None else tuple(self.fed_shape(spec.shape)))


Preparations = Mapping[str, Preparation]


def prepare_feeds(preparations: Preparations, feeds: Feeds) -> Feeds:
    """What the ONNX model is fed where the converted one is fed this."""
    return {name: preparations[name].apply(array) if name in preparations else array for name, array in feeds.items()}


def resolve_formats(
    formats: Formats | None, inputs: Sequence[Value], layouts: Mapping[str, str] | None = None
) -> dict[str, Preparation]:
    """Checks formats against the model's inputs. `layouts`: those that the model is known to have."""
    if not isinstance(formats or {}, Mapping):
        raise InvalidInput(f"inputs is of type {type(formats).__name__}; a dict {{input name: format}} is wanted")
    values = {value.name: value for value in inputs}
    result: dict[str, Preparation] = {}
    for name, given in (formats or {}).items():
        if name not in values:
            names = ", ".join(f"'{known}'" for known in values)
            raise InvalidInput(f"a format is given for the input '{name}', but the model's inputs are {names or 'none'}")
        if not isinstance(given, (str, InputFormat)):
            hint = "write a string, as on the command line, or an InputFormat"
            raise InvalidInput(f"the format of input '{name}' is of type {type(given).__name__}", hint=hint)
        try:
            form = InputFormat.parse(given) if isinstance(given, str) else given
            result[name] = _resolve(values[name], form, (layouts or {}).get(name))
        except InvalidInput as error:
            raise InvalidInput(f"input '{name}': {error.message}", hint=error.hint) from None
    return result


def _resolve(value: Value, form: InputFormat, layout: str | None) -> Preparation:
    shape = value.shape
    if value.dtype not in _FLOATS:
        raise InvalidInput(
            f"the model takes {dtype_name(value.dtype)} here, and only what it takes as floats can be prepared",
            hint="feed it as it is",
        )
    longest = max(len(form.mean), len(form.scale), len(form.std))
    needs_channels = bool(form.layout or form.channels) or longest > 1
    own = layout or ("" if shape is None or len(shape) != 4 else _shown_layout(shape))
    if needs_channels and layout is None and (not own or shape is None):
        what = form.layout or form.channels or "a number per channel"
        have = "is of unknown rank" if shape is None else f"has {len(shape)} dimensions"
        raise InvalidInput(
            f"{what} needs an input of 4 dimensions, with channels second or last; this one {have}",
            hint="sizes can be given with --shape" if shape is None else "one number for all elements suits any input",
        )
    result = Preparation(value.name, form, value.dtype, own)
    channels = shape[result.channel_axis] if needs_channels and shape is not None else None
    for option, numbers in (("mean", form.mean), ("scale", form.scale), ("std", form.std)):
        if isinstance(channels, int) and len(numbers) not in (0, 1, channels):
            raise InvalidInput(
                f"{option} has {len(numbers)} numbers, but there are {channels} channels", hint="give 1 or as many"
            )
    if form.channels and isinstance(channels, int) and channels != 3:
        raise InvalidInput(f"{form.channels} was given, but there are {channels} channels; it turns 3")
    return result


def _shown_layout(shape: Sequence[Dim]) -> str:
    return "nhwc" if shape[3] in _FEW and shape[1] not in _FEW else "nchw"


def prepare_inputs(graph: Graph, preparations: Preparations) -> None:
    """Puts the nodes in front of the graph. The inputs keep their names; what the model had goes on as `NAME.prepared`."""
    front: list[Node] = []
    for index, value in enumerate(graph.inputs):
        preparation = preparations.get(value.name)
        if preparation is None:
            continue
        shape = None if value.shape is None else preparation.fed_shape(value.shape)
        fed = Value(value.name, preparation.fed_dtype, shape)
        nodes = _nodes(graph, preparation, fed, value)
        if nodes:
            value.name = graph.unique_name(f"{fed.name}.prepared")
            nodes[-1].outputs = [value]
            value.producer = nodes[-1]
            graph.inputs[index] = fed
            front += nodes
    graph.nodes[:0] = front


def _nodes(graph: Graph, preparation: Preparation, fed: Value, target: Value) -> list[Node]:
    """A chain from `fed` on; its last result is to be `target`."""
    nodes: list[Node] = []
    last = fed
    shift, factor = preparation.shift(), preparation.factor()
    computes = bool(np.any(shift) or np.any(factor != 1))
    wide = int(TensorProto.FLOAT) if computes and target.dtype != TensorProto.DOUBLE else target.dtype

    def then(op: str, word: str, dtype: int, operands: Sequence[Value] = (), **attributes: int | list[int]) -> None:
        nonlocal last
        perm = attributes.get("perm")
        shape = last.shape if last.shape is None or not isinstance(perm, list) else [last.shape[axis] for axis in perm]
        result = Value(unique(word), dtype, None if shape is None else list(shape))
        nodes.append(Node(op, [last, *operands], [result], dict(attributes), result.name))
        last = result

    def unique(word: str) -> str:
        return graph.unique_name(f"{fed.name}.{word}")

    def number(word: str, array: npt.NDArray[np.float64]) -> Value:
        return constant(unique(word), array.astype(np.float64 if wide == TensorProto.DOUBLE else np.float32), wide)

    def axis(word: str, value: int) -> Value:
        return constant(unique(word), np.array([value], np.int64), int(TensorProto.INT64))

    # Channels are second in between: there the first convolution takes the arithmetic in, and its own transpose goes.
    if preparation.to_second:
        then("transpose", "planes", fed.dtype, perm=list(preparation.to_second))
    if preparation.form.channels:
        ends = [axis("first", -1), axis("last", np.iinfo(np.int64).min + 1)]
        then("slice", "turned", fed.dtype, [*ends, axis("axis", 1), axis("step", -1)])
    if last.dtype != wide:
        then("cast", "numbers", wide, to=wide, saturate=1)
    if np.any(shift):
        then("add", "centred", wide, [number("shift", shift)])
    if np.any(factor != 1):
        then("mul", "scaled", wide, [number("factor", factor)])
    if last.dtype != target.dtype:
        then("cast", "narrowed", target.dtype, to=target.dtype, saturate=1)
    if preparation.own_layout == "nhwc":
        then("transpose", "pixels", target.dtype, perm=list(_TO_LAST))
    return nodes if [node.op for node in nodes] != ["transpose", "transpose"] else []
