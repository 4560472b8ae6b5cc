"""Found as `onnxruntime` by processes that a program under jitney.ort starts: puts jitney.ort in its own place."""

from jitney.ort import install

install()
