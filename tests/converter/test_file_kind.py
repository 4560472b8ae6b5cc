"""Files that are no ONNX models are called what they are."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
from onnx import helper
from op_check import model_of, value

from jitney.converter.load import load
from jitney.errors import InvalidModel


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, b"content")
    return data.getvalue()


def arrays(save: object) -> bytes:
    data = io.BytesIO()
    save(data, np.zeros(3))  # type: ignore[operator]
    return data.getvalue()


FILES = {
    "PyTorch zip archive": (zipped("model/data.pkl", "model/version"), "torch.onnx.export"),
    "Python pickle": (pickle.dumps({"weight": np.zeros(3)}, protocol=2), "torch.onnx.export"),
    "TFLite model": (b"\x1c\0\0\0TFL3" + bytes(40), "export the model to ONNX"),
    "HTML page": (b"\n<!DOCTYPE html>\n<html lang='en'><head>" + b"x" * 900, "download the file itself"),
    "NumPy archive": (arrays(np.savez), "--sample"),
    "NumPy array": (arrays(np.save), "--sample"),
    "zip archive with 'a/m.onnx'": (zipped("a/m.onnx"), "unpack"),
    "zip archive, or the beginning": (zipped("a", "b")[:40], "fetch"),
    "Keras archive": (zipped("config.json", "model.weights.h5"), "export the model to ONNX"),
    "safetensors": ((40).to_bytes(8, "little") + b'{"w":1}' + bytes(60), "export the model to ONNX"),
    "gzip": (b"\x1f\x8b\x08" + bytes(30), "unpack"),
    "XML file": (b'<?xml version="1.0"?><net/>', "OpenVINO"),
    "text file, which begins with 'Not Found é": ("Not Found é".encode() + "é".encode() * 600, "fetch"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(30), "--sample"),
}


@pytest.mark.parametrize("kind", FILES)
def test_kinds(kind: str) -> None:
    data, hint = FILES[kind]
    with pytest.raises(InvalidModel, match=r"is no ONNX model but an? ") as caught:
        load(data)
    assert kind in caught.value.message and hint in caught.value.hint


def test_a_part_of_a_model_is_called_so() -> None:
    data = model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1])], [value("y")]).SerializeToString()
    with pytest.raises(InvalidModel, match="only a part of one"):
        load(data[:-3])
