"""Counting gates: instructions and static cycles, which noise cannot touch, compared with what they were.

python -m counts (in benchmarks/) compares; with --update, stores what it found as the new baseline.
"""
