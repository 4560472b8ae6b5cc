"""Says what kind of file was given in place of an ONNX model, and how such a one becomes an ONNX model."""

from __future__ import annotations

import io
import zipfile
from typing import Final

_PYTORCH: Final = "export the model to ONNX where it was made: torch.onnx.export(model, args, 'model.onnx')"
_TENSORFLOW: Final = "export the model to ONNX, e.g. with tf2onnx"
_WEIGHTS: Final = "it holds weights without the network: export the model to ONNX where it is defined"
_ARRAYS: Final = "give the ONNX model here; arrays are samples: --sample FILE"
_UNPACK: Final = "unpack it first"

_MAGIC: Final = (
    (0, b"\x93NUMPY", "a NumPy array", _ARRAYS),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes them", _TENSORFLOW),
    (4, b"TFL3", "a TFLite model", "export the model to ONNX: python -m tf2onnx.convert --tflite FILE --output model.onnx"),
    (4, b"ORTM", "a model in ONNX Runtime's own format (.ort)", "give the ONNX model that it was made from"),
    (0, b"GGUF", "a GGUF model", _WEIGHTS),
    (0, b"ftrt", "a TensorRT engine", "give the ONNX model that it was made from"),
    (0, b"\x1f\x8b", "a gzip archive", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (0, b"\xfd7zXZ\x00", "an xz archive", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"\x89PNG", "a picture", "give the ONNX model here; pictures are samples: --sample FILE"),
    (0, b"\xff\xd8\xff", "a picture", "give the ONNX model here; pictures are samples: --sample FILE"),
    (0, b"%PDF", "a PDF document", "give the ONNX model"),
    (0, b"\x7fELF", "a program or a library", "give the ONNX model"),
)


def kind_of(data: bytes) -> tuple[str, str] | None:
    """The kind in words and a hint, or None if the data are of no kind that is known."""
    for offset, magic, kind, hint in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            return kind, hint
    if data.startswith(b"PK\x03\x04"):
        return _zip(data)
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle, as older PyTorch writes them", _PYTORCH
    if data[8:9] == b"{" and 0 < int.from_bytes(data[:8], "little") <= len(data) - 8:
        return "a safetensors file", _WEIGHTS
    return _text(data)


def _zip(data: bytes) -> tuple[str, str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "a zip archive, or the beginning of one", "fetch the file again; if it is PyTorch's, export it to ONNX"
    models = [name for name in names if name.endswith(".onnx")]
    if models:
        return f"a zip archive with '{models[0]}' in it", _UNPACK
    if any(name.endswith(("data.pkl", "constants.pkl", "archive_format")) for name in names):
        return "a PyTorch zip archive", _PYTORCH
    if names and all(name.endswith(".npy") for name in names):
        return "a NumPy archive", _ARRAYS
    if "model.weights.h5" in names:
        return "a Keras archive", _TENSORFLOW
    return "a zip archive", "unpack it first, or export the model in it to ONNX"


def _text(data: bytes) -> tuple[str, str] | None:
    try:
        # A character may be cut off at the end of what is looked at.
        text = data[:512].decode("utf-8", "strict" if len(data) <= 512 else "ignore").lstrip("\ufeff \t\r\n")
    except UnicodeDecodeError:
        return None
    if not text or not all(each.isprintable() or each in "\t\r\n\f" for each in text):
        return None
    start = text[:200].lower()
    if start.startswith(("<!doctype html", "<html")) or "<html" in start:
        return "an HTML page", "the address leads to a web page: download the file itself (its raw or resolve address)"
    if start.startswith("<?xml"):
        hint = "of OpenVINO's .xml and .bin, give the ONNX model that they were made from"
        return "an XML file", hint
    hint = "fetch the model again, or export it to ONNX"
    return f"a text file, which begins with '{' '.join(text.split())[:40]}'", hint
