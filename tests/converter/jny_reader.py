"""A plain reader of .jny files, written from docs/format.md alone, to check what the writer writes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any


class Cursor:
    """Reads primitives from the front of a section."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def number(self, code: str) -> Any:
        size = struct.calcsize("<" + code)
        (value,) = struct.unpack_from("<" + code, self.data, self.position)
        self.position += size
        return value

    def text(self) -> str:
        size = self.number("I")
        self.position += size
        return self.data[self.position - size : self.position].decode()

    def items(self, read: Callable[[], Any]) -> list[Any]:
        return [read() for _ in range(self.number("I"))]

    def dim(self) -> Any:
        kind = self.number("B")
        if kind == 0:
            return self.number("q")
        if kind == 1:
            return self.number("q"), self.items(lambda: (self.number("I"), self.number("q")))
        assert kind == 2
        return None


def read(data: bytes) -> dict[str, Any]:
    """Everything in the file, as plain dicts and lists. Asserts what the format promises of the container."""
    assert data[:8] == b"\x89JNY\r\n\x1a\n"
    version, oldest, count, reserved, size, table_crc = struct.unpack_from("<IIIIQI", data, 8)
    assert (version, oldest, reserved, size) == (1, 1, 0, len(data))
    table = data[64 : 64 + 32 * count]
    assert zlib.crc32(table) == table_crc
    sections: dict[int, bytes] = {}
    end = 64 + 32 * count
    for i in range(count):
        kind, crc, offset, length = struct.unpack_from("<IIQQ", table, 32 * i)
        assert offset % 64 == 0 and offset >= end and not any(data[end:offset])
        sections[kind] = data[offset : offset + length]
        assert crc == (0 if kind == 3 else zlib.crc32(sections[kind]))
        end = offset + length
    assert end == len(data)

    cursor = Cursor(sections[1])
    symbols = cursor.items(cursor.text)
    constants = cursor.items(lambda: _constant(cursor, sections.get(3, b"")))
    graphs = cursor.items(lambda: _graph(cursor))
    assert cursor.position == len(sections[1])
    meta = Cursor(sections[2])
    metadata = dict(meta.items(lambda: (meta.text(), meta.text())))
    assert meta.position == len(sections[2])
    return {"symbols": symbols, "constants": constants, "graphs": graphs, "metadata": metadata}


def _constant(cursor: Cursor, weights: bytes) -> dict[str, Any]:
    dtype, encoding, reserved = cursor.number("B"), cursor.number("B"), cursor.number("H")
    shape = cursor.items(lambda: cursor.number("q"))
    offset, size, crc = cursor.number("Q"), cursor.number("Q"), cursor.number("I")
    assert encoding == 0 and reserved == 0 and offset % 64 == 0 and offset + size <= len(weights)
    assert zlib.crc32(weights[offset : offset + size]) == crc
    return {"dtype": dtype, "shape": shape, "data": weights[offset : offset + size], "offset": offset}


def _graph(cursor: Cursor) -> dict[str, Any]:
    return {
        "name": cursor.text(),
        "values": cursor.items(lambda: _value(cursor)),
        "inputs": cursor.items(lambda: cursor.number("I")),
        "outputs": cursor.items(lambda: cursor.number("I")),
        "states": cursor.items(lambda: (cursor.number("I"), cursor.number("I"))),
        "nodes": cursor.items(lambda: _node(cursor)),
    }


def _value(cursor: Cursor) -> dict[str, Any]:
    value: dict[str, Any] = {"name": cursor.text(), "dtype": cursor.number("B")}
    flags = cursor.number("B")
    value["shape"] = cursor.items(cursor.dim) if flags & 1 else None
    value["constant"] = cursor.number("I") if flags & 2 else None
    value["quantised"] = tuple(cursor.number("i") for _ in range(3)) if flags & 4 else None
    return value


def _node(cursor: Cursor) -> dict[str, Any]:
    return {
        "op": cursor.text(),
        "name": cursor.text(),
        "inputs": cursor.items(lambda: cursor.number("i")),
        "outputs": cursor.items(lambda: cursor.number("i")),
        "attributes": dict(cursor.items(lambda: _attribute(cursor))),
    }


def _attribute(cursor: Cursor) -> tuple[str, tuple[int, Any]]:
    name, kind = cursor.text(), cursor.number("B")
    readers: dict[int, Callable[[], Any]] = {
        1: lambda: cursor.number("q"),
        2: lambda: cursor.number("d"),
        3: cursor.text,
        4: lambda: cursor.items(lambda: cursor.number("q")),
        5: lambda: cursor.items(lambda: cursor.number("d")),
        6: lambda: cursor.items(cursor.text),
        7: lambda: cursor.number("I"),
        8: lambda: cursor.number("I"),
    }
    return name, (kind, readers[kind]())
