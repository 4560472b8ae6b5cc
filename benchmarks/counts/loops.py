"""Cycles of the NEON kernels' hot loops, as llvm-mca foresees them for in-order and out-of-order processors.

Per multiply-add instruction, so that unrolling alone changes nothing. neoverse-n1 stands for Cortex-A76 (Raspberry Pi 5) too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from counts.baseline import Measurement
from counts.tools import CountingError, output, side_by_side, version

CPUS = ("neoverse-n1", "cortex-a53", "cortex-a55")
_COMPILER = "aarch64-linux-gnu-g++"
_DISASSEMBLER = "aarch64-linux-gnu-objdump"
_FLAGS = ("-std=c++20", "-O3", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-c")
_LEVELS = {"_neon_fp16": "armv8.2-a+fp16", "_neon_dot": "armv8.2-a+fp16+dotprod", "_neon_i8mm": "armv8.2-a+fp16+dotprod+i8mm"}
_ITERATIONS = 200
_MCA = "llvm-mca-19"

_MULTIPLY_ADD = re.compile(r"^\s+(fmla|sdot|udot|smmla|ummla|bfmmla)\b")
_BRANCH = re.compile(r"^\s+(?:b\.?\w*|cbn?z|tbn?z)\s+(?:.*,\s*)?(\.L\w+)\s*$")
_LABEL = re.compile(r"^(\.L\w+):")
_FEWEST = 4
"""Loops with fewer multiply-adds are tails."""


@dataclass(frozen=True)
class Loop:
    """An innermost loop: its function, and its instructions."""

    function: str
    code: tuple[str, ...]

    @property
    def multiply_adds(self) -> int:
        """In one iteration."""
        return sum(bool(_MULTIPLY_ADD.match(line)) for line in self.code)


def count(source_folder: Path, at_a_time: int) -> Measurement:
    """{kernel file, function: cycles per multiply-add on each processor} for the busiest loop of each function."""
    files = sorted((source_folder / "cpu/kernels").rglob("*_neon*.cpp"))
    if not files:
        raise CountingError(f"no NEON kernels in {source_folder}")
    loops = {}
    for file, assembly in zip(files, side_by_side(lambda file: _assembly(source_folder, file), files, at_a_time)):
        for loop in hot_loops(assembly):
            loops[f"{file.stem}: {loop.function}"] = loop
    names = _demangled(list(loops))
    counts = side_by_side(_cycles, list(loops.values()), at_a_time)
    tools = {"g++": version(_COMPILER, "--version"), "llvm-mca": version(_MCA, "--version").split(".")[0]}
    return Measurement("loops", tools, dict(zip(names, counts)))


def hot_loops(assembly: str) -> list[Loop]:
    """For each function the innermost loop with the most multiply-adds, if it has any to speak of."""
    best: dict[str, Loop] = {}
    for name, lines in _functions(assembly):
        for loop in _innermost(name, lines):
            if loop.multiply_adds >= _FEWEST and (name not in best or loop.multiply_adds > best[name].multiply_adds):
                best[name] = loop
    return list(best.values())


def _functions(assembly: str) -> Iterator[tuple[str, list[str]]]:
    lines = assembly.splitlines()
    starts = {m[1] for line in lines if (m := re.match(r"\s+\.type\s+(\w[\w.$]*),\s*[%@]function", line))}
    name = ""
    body: list[str] = []
    for line in lines:
        label = re.match(r"(\w[\w.$]*):", line)
        if label and label[1] in starts:
            name, body = label[1], []
        elif name and re.match(rf"\s+\.size\s+{re.escape(name)},", line):
            yield name, body
            name = ""
        elif name:
            body.append(line)


def _innermost(name: str, lines: list[str]) -> Iterator[Loop]:
    """Backward branches with no other backward branch between them and their target."""
    position = {m[1]: i for i, line in enumerate(lines) if (m := _LABEL.match(line))}
    last_back_edge = -1
    for i, line in enumerate(lines):
        branch = _BRANCH.match(line)
        if not branch or position.get(branch[1], i) >= i:
            continue
        start = position[branch[1]]
        if start > last_back_edge:
            code = [
                text for text in lines[start + 1 : i + 1] if text.startswith("\t") and not text.strip().startswith((".", "//"))
            ]
            yield Loop(name, tuple(code))
        last_back_edge = i


def _assembly(source_folder: Path, file: Path) -> str:
    level = next((f"-march={march}" for suffix, march in _LEVELS.items() if file.stem.endswith(suffix)), "")
    include = (f"-I{source_folder}", f"-I{source_folder.parent / 'include'}")
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/kernel.o"
        output([_COMPILER, *_FLAGS, *([level] if level else []), *include, "-o", target, str(file)])
        return _with_labels(output([_DISASSEMBLER, "-d", "--no-show-raw-insn", target])[0])


def _with_labels(disassembly: str) -> str:
    """As a compiler would have written it: the kernels' own assembly has parts that only the assembler leaves out."""
    disassembly = re.sub(r"\s*//.*$", "", disassembly, flags=re.M)
    branch = re.compile(r"\s([0-9a-f]+) <[^>]*>$", re.M)
    targets = set(branch.findall(disassembly))
    lines: list[str] = []
    name = ""
    for line in disassembly.splitlines():
        if function := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            if lines:
                lines.append(f"\t.size\t{name},")
            name = function[1]
            lines += [f"\t.type\t{name}, @function", f"{name}:"]
        elif instruction := re.match(r" *([0-9a-f]+):\t(.*)$", line):
            if instruction[1] in targets:
                lines.append(f".L{instruction[1]}:")
            lines.append("\t" + branch.sub(lambda m: f"\t.L{m[1]}", instruction[2]))
    return "\n".join([*lines, f"\t.size\t{name}," if lines else ""])


def _cycles(loop: Loop) -> dict[str, float]:
    found = {}
    for cpu in CPUS:
        command = [_MCA, "-march=aarch64", f"-mcpu={cpu}", f"-iterations={_ITERATIONS}"]
        report, _ = output(command, given="\n".join(loop.code) + "\n")
        cycles = re.search(r"Total Cycles:\s+(\d+)", report)
        if cycles is None:
            raise CountingError(f"llvm-mca prints no cycles for {loop.function}")
        found[cpu] = round(int(cycles[1]) / _ITERATIONS / loop.multiply_adds, 4)
    return found


def _demangled(names: list[str]) -> list[str]:
    """Without namespaces, parameters and types of results."""
    text, _ = output(["c++filt", "-p"], given="\n".join(names) + "\n")
    noise = re.compile(r"\(anonymous namespace\)::|jitney::(kernels::)?|(?<=: )(void|auto|float) |::\{lambda.*")
    return [noise.sub("", line) for line in text.splitlines()]
