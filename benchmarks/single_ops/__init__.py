"""Single operators and short chains, in Jitney and in ONNX Runtime: what is slow shows here, where whole networks hide it.

python -m single_ops (in benchmarks/) measures and prints tables; `make bench-ops` sets up first. docs/performance.md says how.
"""
