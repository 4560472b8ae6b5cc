"""Jitney beside other runtimes: the same models and inputs, in the same minutes, on the same machine.

python -m side_by_side (in benchmarks/) measures and prints tables; `make bench` sets all up first. docs/performance.md says how.
"""
