"""Serialises a Model as a .jny file (docs/format.md). Weights are streamed, never gathered into one buffer."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import helper

from .atomic import Piece, write_atomically
from .ir import Affine, Attribute, Dim, Graph, Model, Node, Value

FORMAT_VERSION: Final = 1
MAGIC: Final = b"\x89JNY\x0d\x0a\x1a\x0a"
ALIGNMENT: Final = 64
_HEADER_BYTES: Final = 64
_ENTRY_BYTES: Final = 32
_GRAPH, _METADATA, _WEIGHTS = 1, 2, 3

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Layout:
    """A model laid out as a file: everything before the weights, and the weight blocks that follow it."""

    head: bytes
    blocks: list[tuple[int, memoryview]]
    """(offset in the weights section, bytes), ascending."""
    size: int
    values: list[list[Value | None]]
    """The values of each graph in file order; None for those that exist in the file only."""

    def pieces(self) -> Iterator[Piece]:
        """The file's bytes, piece by piece."""
        yield self.head
        position = 0
        for offset, data in self.blocks:
            yield bytes(offset - position)
            yield data
            position = offset + len(data)


def serialise(model: Model) -> bytes:
    """The bytes of the model's file."""
    return b"".join(lay_out(model).pieces())


def write_model(model: Model, path: str | os.PathLike[str]) -> int:
    """Writes the model's file atomically and returns its size."""
    return write_atomically(path, lay_out(model).pieces())


def lay_out(model: Model, as_inputs: Collection[Value] = ()) -> Layout:
    """Lays the model out. Constants of the main graph listed in `as_inputs` are written as graph inputs of the same type."""
    constants = _ConstantTable()
    graphs = _GraphSection(constants, as_inputs)
    graph_bytes = graphs.encode(model)
    metadata_bytes = _list([_text(key) + _text(value) for key, value in sorted(model.metadata.items())])
    sections = [(_GRAPH, graph_bytes, len(graph_bytes)), (_METADATA, metadata_bytes, len(metadata_bytes))]
    if constants.records:
        sections.append((_WEIGHTS, b"", constants.size))

    table = bytearray()
    body = bytearray()
    start = _align(_HEADER_BYTES + _ENTRY_BYTES * len(sections))
    end = start
    for kind, data, size in sections:
        offset = _align(end)
        body += bytes(offset - end) + data
        table += struct.pack("<IIQQ8x", kind, zlib.crc32(data) if kind != _WEIGHTS else 0, offset, size)
        end = offset + size
    header = struct.pack("<8sIIIIQI28x", MAGIC, FORMAT_VERSION, FORMAT_VERSION, len(sections), 0, end, zlib.crc32(bytes(table)))
    head = header + bytes(table)
    head += bytes(start - len(head)) + bytes(body)
    return Layout(head, constants.blocks, end, graphs.values)


@dataclass
class _ConstantTable:
    """Constants in order of first use; those with the same type, shape and bytes are one."""

    records: list[bytes] = field(default_factory=list)
    blocks: list[tuple[int, memoryview]] = field(default_factory=list)
    size: int = 0
    _by_array: dict[tuple[int, int], tuple[int, Array]] = field(default_factory=dict)
    _by_content: dict[tuple[int, tuple[int, ...], bytes], int] = field(default_factory=dict)

    def add(self, array: Array, dtype: int) -> int:
        """The index of this constant. The array is kept, so that its id stays its own."""
        if (id(array), dtype) not in self._by_array:
            self._by_array[id(array), dtype] = (self._store(array, dtype), array)
        return self._by_array[id(array), dtype][0]

    def _store(self, array: Array, dtype: int) -> int:
        data = _little_endian_bytes(array)
        key = (dtype, array.shape, hashlib.blake2b(data, digest_size=32).digest())
        index = self._by_content.setdefault(key, len(self.records))
        if index == len(self.records):
            offset = _align(self.size) if len(data) else 0
            shape = _list([struct.pack("<q", dim) for dim in array.shape])
            self.records.append(
                struct.pack("<BBH", dtype, 0, 0) + shape + struct.pack("<QQI", offset, len(data), zlib.crc32(data))
            )
            if len(data):
                self.blocks.append((offset, data))
                self.size = offset + len(data)
        return index


@dataclass
class _Record:
    """A value as the file shall have it."""

    source: Value | None
    name: str


class _GraphSection:
    """Encodes all graphs: each one's number is lower than those of the subgraphs that it uses."""

    def __init__(self, constants: _ConstantTable, as_inputs: Collection[Value]) -> None:
        self.values: list[list[Value | None]] = []
        self._constants = constants
        self._as_inputs = {id(value) for value in as_inputs}
        self._symbols: dict[str, int] = {}
        self._pending: list[Graph] = []

    def encode(self, model: Model) -> bytes:
        """The whole section."""
        names = model.output_names or [value.name for value in model.graph.outputs]
        self._pending = [model.graph]
        encoded: list[bytes] = []
        while len(encoded) < len(self._pending):
            graph = self._pending[len(encoded)]
            encoded.append(self._graph(graph, names if not encoded else None))
        return _list([_text(name) for name in self._symbols]) + _list(self._constants.records) + _list(encoded)

    def _graph(self, graph: Graph, output_names: list[str] | None) -> bytes:
        records = [_Record(value, value.name) for value in graph.values()]
        index = {id(record.source): position for position, record in enumerate(records)}
        inputs = [index[id(value)] for value in graph.inputs]
        inputs += [index[id(record.source)] for record in records if id(record.source) in self._as_inputs]
        outputs = [index[id(value)] for value in graph.outputs]
        extra: list[tuple[int, int]] = []
        if output_names is not None:
            outputs, extra = _name_outputs(graph, output_names, records, index)
        self.values.append([record.source for record in records])

        encoded_nodes = [self._node(node, index) for node in graph.nodes]
        encoded_nodes += [
            _text("identity") + _text("") + _numbers("i", [source]) + _numbers("i", [result]) + _list([])
            for source, result in extra
        ]
        origin = {result: source for source, result in extra}
        encoded_values = [
            self._value(record.name, record.source or records[origin[position]].source, record.source is None)
            for position, record in enumerate(records)
        ]
        states = [struct.pack("<II", inputs[before], outputs[after]) for before, after in graph.states]
        return (
            _text(graph.name)
            + _list(encoded_values)
            + _numbers("I", inputs)
            + _numbers("I", outputs)
            + _list(states)
            + _list(encoded_nodes)
        )

    def _value(self, name: str, value: Value | None, copied: bool) -> bytes:
        assert value is not None
        constant = value.constant if not copied and id(value) not in self._as_inputs else None
        flags = (value.shape is not None) | (constant is not None) << 1 | (value.quantisation is not None) << 2
        encoded = _text(name) + struct.pack("<BB", value.dtype, flags)
        if value.shape is not None:
            encoded += _list([self._dim(dim) for dim in value.shape])
        if constant is not None:
            encoded += struct.pack("<I", self._constants.add(constant, value.dtype))
        if value.quantisation is not None:
            scale, zero_point = value.quantisation.scale, value.quantisation.zero_point
            scale_index = self._constants.add(scale, dtype_of(scale))
            zero_index = -1 if zero_point is None else self._constants.add(zero_point, dtype_of(zero_point))
            encoded += struct.pack("<iii", scale_index, zero_index, value.quantisation.axis)
        return encoded

    def _dim(self, dim: Dim) -> bytes:
        if dim is None:
            return b"\x02"
        if isinstance(dim, Affine):
            terms = [struct.pack("<Iq", self._symbol(name), factor) for name, factor in dim.terms]
            return struct.pack("<Bq", 1, dim.constant) + _list(terms) if terms else struct.pack("<Bq", 0, dim.constant)
        return struct.pack("<Bq", 0, dim)

    def _symbol(self, name: str) -> int:
        return self._symbols.setdefault(name, len(self._symbols))

    def _node(self, node: Node, index: dict[int, int]) -> bytes:
        def ids(values: Iterable[Value | None]) -> bytes:
            return _numbers("i", [-1 if value is None else index[id(value)] for value in values])

        attributes = [self._attribute(name, value) for name, value in sorted(node.attributes.items())]
        return _text(node.op) + _text(node.name) + ids(node.inputs) + ids(node.outputs) + _list(attributes)

    def _attribute(self, name: str, value: Attribute) -> bytes:
        if isinstance(value, Graph):
            self._pending.append(value)
            return _text(name) + struct.pack("<BI", 8, len(self._pending) - 1)
        if isinstance(value, np.ndarray):
            return _text(name) + struct.pack("<BI", 7, self._constants.add(value, dtype_of(value)))
        if isinstance(value, str):
            return _text(name) + b"\x03" + _text(value)
        if isinstance(value, (list, tuple)):
            if any(isinstance(item, str) for item in value):
                return _text(name) + b"\x06" + _list([_text(str(item)) for item in value])
            if any(isinstance(item, (float, np.floating)) for item in value):
                return _text(name) + b"\x05" + _numbers("d", value)
            return _text(name) + b"\x04" + _numbers("q", value)
        if isinstance(value, (float, np.floating)):
            return _text(name) + struct.pack("<Bd", 2, value)
        return _text(name) + struct.pack("<Bq", 1, value)


def _name_outputs(
    graph: Graph, names: list[str], records: list[_Record], index: dict[int, int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Gives every output its promised name: by renaming a result, or through an identity node where the value is an input, a
    constant or an output already. Returns the outputs' indices and the (source, result) pairs of the identity nodes."""
    inputs = {id(value) for value in graph.inputs}
    outputs: list[int] = []
    extra: list[tuple[int, int]] = []
    renamed: set[int] = set()
    for value, name in zip(graph.outputs, names, strict=True):
        position = index[id(value)]
        free = id(value) not in inputs and not value.is_constant and position not in renamed
        if free or (value.name == name and position not in outputs):
            records[position].name = name
            renamed.add(position)
        else:
            extra.append((position, len(records)))
            position = len(records)
            records.append(_Record(None, name))
            renamed.add(position)
        outputs.append(position)
    _keep_names_apart(records, fixed=renamed | {index[id(value)] for value in graph.inputs})
    return outputs, extra


def _keep_names_apart(records: list[_Record], fixed: set[int]) -> None:
    """Renames inner values that bear the name of an input, an output or an earlier value."""
    taken = {records[position].name for position in fixed}
    wanted = {record.name for record in records}
    counters: dict[str, int] = {}
    for position, record in enumerate(records):
        if position in fixed:
            continue
        name = record.name
        while name in taken or (name != record.name and name in wanted):
            counters[record.name] = counters.get(record.name, 0) + 1
            name = f"{record.name}.{counters[record.name]}"
        record.name = name
        taken.add(name)


def dtype_of(array: Array) -> int:
    """ONNX's number for the array's element type."""
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _little_endian_bytes(array: Array) -> memoryview:
    dense = np.ascontiguousarray(array)
    if dense.dtype.byteorder == ">" or (dense.dtype.byteorder == "=" and sys.byteorder == "big"):
        dense = dense.astype(dense.dtype.newbyteorder("<"))
    return dense.reshape(-1).view(np.uint8).data if dense.size else memoryview(b"")


def _align(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return struct.pack("<I", len(data)) + data


def _list(items: list[bytes]) -> bytes:
    return struct.pack("<I", len(items)) + b"".join(items)


def _numbers(code: str, values: Iterable[int | float | str]) -> bytes:
    convert: Callable[[int | float | str], int | float] = float if code == "d" else int
    items = [convert(value) for value in values]
    return struct.pack(f"<I{len(items)}{code}", len(items), *items)
