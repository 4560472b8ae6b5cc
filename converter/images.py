"""Moves the decoding of pictures out of the model: what reads an encoded picture takes the decoded one instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import onnx
from onnx import TensorProto

PIXEL_FORMATS: Final = ("RGB", "BGR", "Grayscale")

PREFIX: Final = "jitney.picture."
"""Metadata under PREFIX + input name hold the pixel format of a picture that the session decodes."""


def take_pictures(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The model with pixels as inputs where it decodes what the caller feeds, and the pixel format of each such input.

    An input that anything else reads, or that is decoded in two ways, stays as it is."""
    formats: dict[str, str] = {}
    for node in proto.graph.node:
        if _decodes(node):
            formats.setdefault(node.input[0], _pixel_format(node))
    fed = {info.name: info for info in proto.graph.input}
    fixed = {tensor.name for tensor in proto.graph.initializer}
    kept = {info.name for info in proto.graph.output} | fixed
    for node in proto.graph.node:
        for name in _reads(node):
            if name in formats and not (_decodes(node) and _pixel_format(node) == formats[name]):
                kept.add(name)
    pictures = {name: pixels for name, pixels in formats.items() if name in fed and name not in kept}
    if not pictures:
        return proto, {}
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for info in changed.graph.input:
        if info.name in pictures:
            channels = 1 if pictures[info.name] == "Grayscale" else 3
            info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, TensorProto.UINT8, [None, None, channels]))
    for node in changed.graph.node:
        if _decodes(node) and node.input[0] in pictures:
            node.op_type = "Identity"
            del node.attribute[:]
    return changed, pictures


def _decodes(node: onnx.NodeProto) -> bool:
    plain = node.op_type == "ImageDecoder" and node.domain in ("", "ai.onnx") and len(node.input) == 1
    return plain and _pixel_format(node) in PIXEL_FORMATS


def _pixel_format(node: onnx.NodeProto) -> str:
    given = [attribute.s.decode("utf-8", "replace") for attribute in node.attribute if attribute.name == "pixel_format"]
    return given[0] if given else "RGB"


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """Names that the node and the subgraphs in it read, those that the subgraphs define themselves included."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield from (info.name for info in graph.output)
            for inner in graph.node:
                yield from _reads(inner)
