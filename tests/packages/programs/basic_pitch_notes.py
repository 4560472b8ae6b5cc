"""Basic Pitch hears the notes of a chord that is struck note by note."""

import json
import logging
import tempfile
from pathlib import Path

logging.disable(logging.CRITICAL)  # it says at length which other runtimes are not there

import basic_pitch  # noqa: E402
import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from basic_pitch.inference import Model, predict  # noqa: E402

RATE = 22050
time = np.arange(3 * RATE) / RATE
notes = [(440.0, 0.0), (554.37, 0.5), (659.26, 1.0), (880.0, 1.7)]
sound = sum(np.sin(2 * np.pi * pitch * time) * np.exp(-3 * (time - start)) * (time > start) for pitch, start in notes)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "chord.wav"
    soundfile.write(path, (0.2 * sound).astype(np.float32), RATE)
    model = Model(Path(basic_pitch.__file__).parent / "saved_models" / "icassp_2022" / "nmp.onnx")
    _, _, events = predict(str(path), model)
print("\n" + json.dumps([[float(start), float(end), int(pitch), float(level)] for start, end, pitch, level, *_ in events]))
