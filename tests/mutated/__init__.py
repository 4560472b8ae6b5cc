"""Mutated ONNX files: each must give an error that is typed, or a right result, in bounded time and memory."""
