"""Models that decode pictures: the session decodes them with OpenCV, or takes pixels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import cv2
import numpy as np
import pytest
from onnx import TensorProto, helper
from op_check import Array, int64s, model_of, rng, value

from jitney import Session
from jitney.converter.convert import convert, convert_to_bytes
from jitney.errors import InvalidInput, InvalidModel, Unsupported

_PIXELS = rng().integers(0, 256, (6, 5, 3)).astype(np.uint8)


def encoded(pixels: Array = _PIXELS, kind: str = ".png") -> Array:
    return cv2.imencode(kind, cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))[1].reshape(-1)


def decoder(**attributes: str) -> object:
    return helper.make_node("ImageDecoder", ["file"], ["pixels"], name="decode", **attributes)


def model(*nodes: object, output: str = "pixels") -> object:
    return model_of([*nodes], [value("file", ["bytes"], TensorProto.UINT8)], [value(output, None, 0)], opset=20)  # type: ignore[list-item]


@pytest.mark.parametrize("pixel_format", ["RGB", "BGR", "Grayscale", None])
def test_files_and_pixels(pixel_format: str | None) -> None:
    options = {} if pixel_format is None else {"pixel_format": pixel_format}
    resized = helper.make_node("Cast", ["pixels"], ["y"], to=int(TensorProto.FLOAT))
    with Session(convert_to_bytes(model(decoder(**options), resized, output="y"))) as session:
        assert session.metadata["jitney.picture.file"] == (pixel_format or "RGB")
        for kind in (".png", ".bmp", ".tiff", ".webp", ".ppm"):
            parameters = [cv2.IMWRITE_WEBP_QUALITY, 101] if kind == ".webp" else []
            file = cv2.imencode(kind, cv2.cvtColor(_PIXELS, cv2.COLOR_RGB2BGR), parameters)[1].reshape(-1)
            y = session.run({"file": file})["y"]
            if pixel_format == "Grayscale":
                assert y.shape == (6, 5, 1)
                np.testing.assert_allclose(y[..., 0], _PIXELS @ [0.299, 0.587, 0.114], atol=1)
            else:
                np.testing.assert_array_equal(y, _PIXELS[..., ::-1] if pixel_format == "BGR" else _PIXELS)
        if pixel_format != "Grayscale":
            np.testing.assert_array_equal(session.run(_PIXELS)["y"], _PIXELS)
        larger = np.zeros((9, 4, 3), np.uint8)
        assert session.run(encoded(larger))["y"].shape == (9, 4, 1 if pixel_format == "Grayscale" else 3)


def test_conversion_is_verified_on_pixels(tmp_path: Path) -> None:
    assert convert(model(decoder()), tmp_path / "m.jny").verification.ok


def test_what_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(convert_to_bytes(model(decoder()))) as session:
        for junk in (encoded()[:20], np.zeros(0, np.uint8), np.frombuffer(b"no picture at all", np.uint8)):
            with pytest.raises(InvalidInput, match="'file' is no picture that can be decoded"):
                session.run({"file": junk})
        with pytest.raises(InvalidInput, match="rank 3 is wanted"):
            session.run({"file": np.zeros((1, 4), np.uint8)})
        with pytest.raises(InvalidInput, match="dtype int64"):
            session.run({"file": int64s(1, 2)})
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(Unsupported, match="needs the package 'cv2'"):
            session.run({"file": encoded()})


def test_pictures_that_cannot_be_decoded_before_the_model() -> None:
    size = helper.make_node("Size", ["file"], ["size"])
    two_ways = helper.make_node("ImageDecoder", ["file"], ["other"], pixel_format="BGR")
    computed = helper.make_node("Identity", ["file"], ["copy"])
    late = helper.make_node("ImageDecoder", ["copy"], ["pixels"])
    for nodes in ([decoder(), size], [decoder(), two_ways], [computed, late]):
        with pytest.raises(Unsupported, match="only if it is an input of the model that nothing else reads"):
            convert_to_bytes(model(*nodes))
    with pytest.raises(InvalidModel, match="pixel_format is 'YUV'"):
        convert_to_bytes(model(decoder(pixel_format="YUV")))


def test_one_picture_decoded_twice_alike() -> None:
    twice = helper.make_node("ImageDecoder", ["file"], ["again"])
    both = helper.make_node("Concat", ["pixels", "again"], ["y"], axis=2)
    with Session(convert_to_bytes(model(decoder(), twice, both, output="y"))) as session:
        np.testing.assert_array_equal(session.run(encoded())["y"], np.concatenate([_PIXELS, _PIXELS], 2))
