"""Runs ONNX's backend test-suite on Jitney against the committed lists: `make conformance`, `make conformance-update`."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import onnx
from judge import PASS, Outcome, judge
from page import PAGE, render
from ratchet import Lists
from scope import in_scope, is_core
from suite import load_cases
from workers import run_all


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filter", nargs="?", default="", help="run the tests that have this in their name, and show the failures")
    parser.add_argument("--update", action="store_true", help="write what happened into the lists and into docs/conformance.md")
    parser.add_argument("--workers", type=int, help="processes; one per core unless given")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    start = time.monotonic()
    cases = [case for case in load_cases() if options.filter in case.name]
    made = time.monotonic()
    outcomes = dict(zip((case.name for case in cases), run_all(cases, judge, workers=options.workers)))
    scopes = {
        "core": [case.name for case in cases if is_core(case.model)],
        "in scope": [case.name for case in cases if in_scope(case.model)],
        "all": [case.name for case in cases],
    }
    print(f"{made - start:.1f} s to make the tests, {time.monotonic() - made:.1f} s to run them")
    counts = {scope: (sum(outcomes[name].kind == PASS for name in names), len(names)) for scope, names in scopes.items()}
    for scope, (passed, total) in counts.items():
        print(f"{scope}: {passed} of {total} pass")
    if options.filter:
        return _show_failures(outcomes)
    lists = Lists.read()
    if options.update:
        lists = lists.updated(onnx.__version__, outcomes)
        lists.write()
        PAGE.write_text(render(lists, scopes), encoding="utf-8")
        return 0
    complaints = lists.complaints(onnx.__version__, outcomes)
    if not complaints and PAGE.read_text(encoding="utf-8") != render(lists, scopes):
        complaints = [f"{PAGE.name} does not say what the lists say"]
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"{len(complaints)} differences; if they are meant: make conformance-update")
    return 1 if complaints else 0


def _show_failures(outcomes: dict[str, Outcome]) -> int:
    failed = {name: outcome for name, outcome in outcomes.items() if outcome.kind != PASS}
    for name, outcome in failed.items():
        print(f"{name}\n    {outcome.kind}: {outcome.reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
