"""The command `jitney`: results go to stdout, everything else to stderr, and the exit status is 0 only on success."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

import jitney
from jitney.cli import bench, console, convert, info, profile, run, tune, verify

app = typer.Typer(
    help="Converts neural networks and runs them on small machines.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("convert")(convert.command)
app.command("run")(run.command)
app.command("info")(info.command)
app.command("bench")(bench.command)
app.command("profile")(profile.command)
app.command("verify")(verify.command)
app.command("tune")(tune.command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jitney {jitney.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


def main() -> None:
    """Entry point: an error that Jitney foresees is a message on stderr and exit status 1, never a traceback."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `jitney info m.jny | head` ends quietly, as other tools do
    console.accept_all_text()
    try:
        app(prog_name="jitney")
    except jitney.Error as error:
        console.report(error)
        sys.exit(1)
    except MemoryError as error:
        console.report(jitney.OutOfMemory(str(error) or "there is not enough memory"))
        sys.exit(1)
    except OSError as error:  # of the files that commands open, all failures are jitney.Error
        console.report(jitney.IoError(f"the results cannot be written: {error.strerror or error}"))
        sys.exit(1)
