"""Turns ONNX models into .jny files: load, lower, simplify, write, verify."""
