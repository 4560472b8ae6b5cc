"""Speech models over many chunks: state goes from run to run, the rate decides the branch, and no run takes an old plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from real_models import real

import jitney

pytestmark = pytest.mark.models
RATES = {16000: 576, 8000: 288}


def babble(samples: int, rate: int) -> np.ndarray:
    """Something with the rhythm of speech: voiced syllables, hiss and pauses."""
    rng = np.random.default_rng(0)
    time = np.arange(samples) / rate
    pitch = 130 + 20 * np.sin(2 * np.pi * 1.3 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 20)) * np.maximum(0, np.sin(2 * np.pi * 4 * time))
    hiss = 0.3 * rng.standard_normal(samples) * (np.sin(2 * np.pi * 4 * time + 2) > 0.7)
    return (0.2 * (voice + hiss) * (np.sin(2 * np.pi * 0.7 * time) > -0.5)).astype(np.float32)


@pytest.mark.parametrize("name", ["silero_vad_v6", "silero_vad_v6_ifless", "silero_vad_v6_half"])
def test_voice_activity(name: str, tmp_path: Path) -> None:
    path = tmp_path / "vad.jny"
    jitney.convert(real(name), path, verify=False)
    reference = onnxruntime.InferenceSession(real(name), providers=["CPUExecutionProvider"])
    takes_rate = name != "silero_vad_v6_half"
    with jitney.Session(path) as session:
        # Back and forth between rates and batches: each has its own plan.
        for rate, batch, chunks in ((16000, 1, 40), (8000, 2, 12), (16000, 3, 8), (8000, 1, 12), (16000, 1, 4)):
            if rate == 8000 and not takes_rate:
                continue
            size = RATES[rate]
            sound = babble(size * (chunks + batch), rate)
            ours = theirs = np.zeros((2, batch, 128), np.float32)
            for chunk in range(chunks):
                x = np.stack([sound[size * (chunk + row) :][:size] for row in range(batch)])
                feeds = {"input": x, **({"sr": np.array(rate)} if takes_rate else {})}
                results = session.run({**feeds, "state": ours})
                wanted = reference.run(None, {**feeds, "state": theirs})
                np.testing.assert_allclose(results["output"], wanted[0], rtol=2e-3, atol=2e-4)
                np.testing.assert_allclose(results["stateN"], wanted[1], rtol=2e-3, atol=2e-3)
                ours, theirs = results["stateN"], wanted[1]
