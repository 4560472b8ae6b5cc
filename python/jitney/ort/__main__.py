"""python -m jitney.ort SCRIPT … | -m MODULE … | -c CODE …: runs a program with jitney.ort in the place of onnxruntime."""

from __future__ import annotations

import io
import os
import runpy
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType

from jitney.errors import Error

from .install import install

USAGE = "usage: python -m jitney.ort SCRIPT [ARGUMENT …] | -m MODULE [ARGUMENT …] | -c CODE [ARGUMENT …]"


def main(arguments: Sequence[str]) -> int:
    """Runs the program; its SystemExit and other exceptions pass through, as from the interpreter itself."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(f"{USAGE}\n\nRuns a program with jitney.ort in the place of onnxruntime.")
        return 0
    if not arguments or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        print(USAGE, file=sys.stderr)
        return 2
    kind, *rest = arguments
    try:
        install()
    except Error as error:
        print(f"jitney.ort: {error}", file=sys.stderr)
        return 1
    if kind == "-m":
        _search_first(os.getcwd())  # noqa: PTH109
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        _search_first("")
        sys.argv = ["-c", *rest[1:]]
        _run(compile(rest[0], "<string>", "exec", dont_inherit=True), None)
    else:
        sys.argv = [*arguments]
        _run_script(kind)
    return 0


def _run_script(script: str) -> None:
    if os.path.isdir(script) or script.endswith((".zip", ".pyz")):  # noqa: PTH112
        runpy.run_path(script, run_name="__main__")
        return
    try:
        with io.open_code(os.path.abspath(script)) as file:  # noqa: PTH100
            source = file.read()
    except OSError as error:
        print(f"jitney.ort: can't open file '{script}': {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    _search_first(os.path.dirname(os.path.abspath(script)))  # noqa: PTH100, PTH120
    _run(compile(source, script, "exec", dont_inherit=True), script)


def _search_first(folder: str) -> None:
    """Puts the program's folder on the search path where `python -m` has put the current one."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _run(code: CodeType, path: str | None) -> None:
    """Runs the code as the module __main__, which lives on until the interpreter ends and which child processes import again."""
    module = ModuleType("__main__")
    if path is not None:
        module.__file__ = path
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
