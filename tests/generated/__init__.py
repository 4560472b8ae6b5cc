"""Generated cases: ops and small chains drawn from ONNX's schemas, run here and by others, and compared."""
