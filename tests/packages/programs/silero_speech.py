"""Silero VAD finds speech: frame by frame with a state, in two opsets, at two rates, and in blocks."""

import json
import sys

import soundfile
import torch
from silero_vad import get_speech_timestamps, get_speech_timestamps_sequence, load_silero_vad

SECONDS = 20
samples, rate = soundfile.read(sys.argv[1], dtype="float32")
samples = samples[: SECONDS * rate]
audio = torch.from_numpy(samples)

answers = []
for opset in (16, 15):
    model = load_silero_vad(onnx=True, opset_version=opset)
    answers.append(get_speech_timestamps(audio, model))
    answers.append(model.audio_forward(audio[None, : 3 * rate], rate).tolist())
answers.append(get_speech_timestamps(audio[::2], load_silero_vad(onnx=True), sampling_rate=rate // 2))
answers.append(get_speech_timestamps_sequence(samples, load_silero_vad(onnx=True, sequence=True)))
print(json.dumps(answers))
