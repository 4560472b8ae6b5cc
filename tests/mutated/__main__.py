"""python -m tests.mutated --files 2000 --seed 1: mutates sound models, converts them, and says what came of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from random import Random

import onnx

from .attempt import SECONDS, Converter, Outcome
from .extremes import EXTREMES
from .mutate import mutated
from .seeds import seed_model


def file_of(seed: str) -> tuple[bytes, str]:
    """The mutated file of a seed, and what was done to it."""
    random = Random(seed)
    return mutated(seed_model(random), random)


def extreme(build: Callable[[], onnx.ModelProto | bytes]) -> bytes:
    """The file of a model that is nasty as a whole."""
    made = build()
    return made if isinstance(made, bytes) else made.SerializeToString()


def attempts(files: list[tuple[str, bytes]], jobs: int, seconds: float = SECONDS) -> Iterator[tuple[str, bytes, Outcome]]:
    """The outcomes in the files' order."""
    warm_up()
    idle: SimpleQueue[Converter] = SimpleQueue()
    converters = [Converter(seconds) for _ in range(jobs)]
    for converter in converters:
        idle.put(converter)

    def one(item: tuple[str, bytes]) -> Outcome:
        converter = idle.get()
        try:
            return converter.attempt(item[1])
        finally:
            idle.put(converter)

    with ThreadPoolExecutor(jobs) as pool:
        for (title, data), outcome in zip(files, pool.map(one, files)):
            yield title, data, outcome
    for converter in converters:
        converter.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutated", description=__doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="one mutated file, by its seed as printed")
    parser.add_argument("--extremes", action="store_true", help="the models that are nasty as a whole, alone")
    parser.add_argument("--keep", type=Path, help="a folder for the files that fail")
    options = parser.parse_args()
    files = [(build.__name__, extreme(build)) for build in EXTREMES]
    if options.only:
        files = []
    if not options.extremes:
        for seed in [options.only] if options.only else [f"{options.seed}/{number}" for number in range(options.files)]:
            data, done = file_of(seed)
            files.append((f"{seed} {done}", data))
    start, counts, slowest, largest = time.monotonic(), Counter[str](), 0.0, 0
    for title, data, outcome in attempts(files, options.jobs):
        counts[outcome.word] += 1
        slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.bytes)
        if not outcome.good or options.only or options.extremes:
            print(
                f"{outcome.word} [{title}] {outcome.seconds:.1f} s, {outcome.bytes >> 20} MB: {outcome.detail[:400]}", flush=True
            )
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{title.split()[0].replace('/', '_')}.onnx").write_bytes(data)
    print(", ".join(f"{word}: {count}" for word, count in counts.most_common()))
    print(f"{len(files)} files in {time.monotonic() - start:.0f} s; slowest {slowest:.1f} s, largest {largest >> 20} MB")
    return 0 if set(counts) <= {"right", "not verifiable", "error"} else 1


def warm_up() -> None:
    """Imports what children need, so that each begins with it."""
    import jitney.converter  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
