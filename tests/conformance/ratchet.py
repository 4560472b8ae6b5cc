"""The committed lists of tests that pass and of those that do not, each of these with the reason; no pass may be lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from judge import PASS, Outcome

FOLDER = Path(__file__).parent


@dataclass
class Lists:
    """What is committed. `onnx` is the version of the package that the suite was made from."""

    onnx: str
    passes: set[str]
    fails: dict[str, Outcome]

    @staticmethod
    def read(folder: Path = FOLDER) -> Lists:
        head, *names = (folder / "passes.txt").read_text(encoding="utf-8").splitlines()
        rows = [row.split("\t") for row in (folder / "fails.txt").read_text(encoding="utf-8").splitlines()[1:]]
        return Lists(head.rpartition(" ")[2], set(names), {name: Outcome(kind, reason) for name, kind, reason in rows})

    def write(self, folder: Path = FOLDER) -> None:
        names = [f"# Tests that pass, of onnx {self.onnx}", *sorted(self.passes)]
        rows = [f"# Tests that do not pass, how they end, and why, of onnx {self.onnx}"]
        rows += ["\t".join((name, self.fails[name].kind, self.fails[name].reason)) for name in sorted(self.fails)]
        (folder / "passes.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        (folder / "fails.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")

    def updated(self, onnx: str, outcomes: Mapping[str, Outcome]) -> Lists:
        """The lists for these outcomes. A reason that a person has written stays for as long as the test ends in the same way."""
        fails = {name: outcome for name, outcome in outcomes.items() if outcome.kind != PASS}
        for name, outcome in fails.items():
            known = self.fails.get(name)
            if known is not None and known.kind == outcome.kind and known.reason.startswith("!"):
                fails[name] = known
        return Lists(onnx, {name for name, outcome in outcomes.items() if outcome.kind == PASS}, fails)

    def complaints(self, onnx: str, outcomes: Mapping[str, Outcome]) -> list[str]:
        """What differs from the lists; nothing if CI may pass."""
        if onnx != self.onnx:
            return [f"the lists are about onnx {self.onnx}, but {onnx} is installed"]
        found: list[str] = []
        for name, outcome in sorted(outcomes.items()):
            if outcome.kind != PASS and name in self.passes:
                found.append(f"{name} passed and is lost now: {outcome.kind}: {outcome.reason}")
            elif outcome.kind == PASS and name not in self.passes:
                found.append(f"{name} passes now, but is not in passes.txt")
            elif outcome.kind != PASS and (name not in self.fails or self.fails[name].kind != outcome.kind):
                before = self.fails[name].kind if name in self.fails else "not listed"
                found.append(f"{name} fails in another way than fails.txt says ({before}): {outcome.kind}: {outcome.reason}")
        gone = (self.passes | set(self.fails)) - set(outcomes)
        return found + [f"{name} is listed, but there is no such test" for name in sorted(gone)]
