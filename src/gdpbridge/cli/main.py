"""The console entry point: from the words typed to an answer, one sentence, and an exit status."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer

from gdpbridge.cli.commands import Group
from gdpbridge.cli.completing import ASKED, completions
from gdpbridge.cli.errors import CommandLineError, warnings_in_a_line
from gdpbridge.cli.interruption import watched
from gdpbridge.cli.output import Output, Status, is_unicode, write
from gdpbridge.errors import GdpBridgeError, MissingExtraError, RefusedError, UnavailableError

__all__ = ["main"]

_HELP = "From a differentially private mechanism to a proved Gaussian DP parameter μ."
_STATUSES = "\n".join(f"  {status.value:>3}  {status.meaning}" for status in Status)
_EPILOG = f"""\
Examples:

\b
  gdpbridge measure laplace --scale 0.5
  gdpbridge measure laplace --scale 0.5 --digits 30
  gdpbridge identify icea --messages 20 --users 4

Exit status:

\b
{_STATUSES}
"""
# in the order of the help; each is found in the module of its name
_COMMANDS = {
    "measure": "Measure the least μ of a mechanism, as a proved interval.",
    "identify": "Tell whether a mechanism is GDP for some finite μ.",
    "convert": "Convert between a μ, a mechanism, (ε, δ) pairs, and an attacker's errors.",
    "check": "Check claims, such as a printed ε: true with a margin, false with a witness.",
    "calibrate": "Find the parameter with which a mechanism meets a target, from the safe side.",
    "plan": "Plan training runs: the settings that meet a target, side by side.",
    "sweep": "Measure every mechanism of a grid, on all processors, into a table.",
    "compare": "Compare what different theorems say of a composition of ε-DP mechanisms.",
    "audit": "Bound μ and ε from below by what an attacker achieved, and test a claim.",
    "risk": "Say what a μ means for an attacker.",
    "amplify": "Make a mechanism safer: by clipping and noise, or on a sample of the data.",
    "plot": "Draw pictures: PNG, SVG, PDF, or HTML that needs no network.",
    "explore": "Write a page on which mechanisms are chosen, seen and compared, with no network.",
    "report": "Write a report on a mechanism: one page for those who must judge a release.",
    "verify": "Re-prove a certificate with arithmetic of its own; exit status 3 if a line fails.",
    "compose": "Compose certificates of releases of the same data into one that names each.",
    "ledger": "Keep privacy budgets in a database, where they cannot be overspent.",
    "kinds": "List the mechanisms, or show formula, source and parameters of one.",
    "schema": "Print the JSON Schema of a file that this program reads or writes.",
    "completion": "Print a script with which a shell completes commands, mechanisms and options.",
    "paper": "Reproduce the source paper: each figure, table and number, beside what is printed.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the words after the program's name; those it was started with if None.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    with watched() as interruption, warnings_in_a_line():
        try:
            output = _run(words)
            write(sys.stdout, output.text)
        except Exception as error:
            if interruption.came:
                # what was interrupted may tell it as an error of its own
                interruption.enough()
                return _complain(words, "interrupted", Status.INTERRUPTED)
            return _told(words, error)
        except KeyboardInterrupt:
            interruption.enough()
            return _complain(words, "interrupted", Status.INTERRUPTED)
        return output.status


def _told(words: list[str], error: Exception) -> int:
    match error:
        case CommandLineError() | GdpBridgeError():
            return _complain(words, error, _status_of(error))
        case typer.Abort():
            return _complain(words, "interrupted", Status.INTERRUPTED)
        case OSError():
            return _complain(words, f"failed: {error}", Status.FAULT)
    if os.environ.get("GDPBRIDGE_DEBUG"):
        traceback.print_exception(error)
    return _complain(words, _fault(error), Status.FAULT)


class _Program(Group):
    """The commands, each loaded when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return their names, in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command."""
        if cmd_name not in _COMMANDS:
            return None
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        module = importlib.import_module(f"gdpbridge.cli.{cmd_name}")
        module.add_to(app, cmd_name, _COMMANDS[cmd_name])
        return typer.main.get_group(app).commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(self.choices(ctx))

    def choices(self, ctx: Any) -> list[tuple[str, str | None]]:
        """Return the commands without loading them."""
        return list(_COMMANDS.items())

    def hint(self, word: str, known: Sequence[str]) -> str:
        """Return what may be meant, which may be what is done to a mechanism that is named."""
        from gdpbridge.mechanisms.registry import find_class

        if word == "help":
            return " (did you mean --help?)"
        if find_class(word) is not None:
            return f" (did you mean measure {word}?)"
        return super().hint(word, known)


def _app() -> typer.Typer:
    app = typer.Typer(cls=_Program, rich_markup_mode=None, add_completion=False)
    app.callback(help=_HELP, epilog=_EPILOG)(_general_options)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        import gdpbridge

        typer.echo(f"gdpbridge {gdpbridge.__version__}")
        raise typer.Exit


def _general_options(
    _: Annotated[
        bool,
        typer.Option("--version", help="print the version", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the program itself."""


def _run(words: list[str]) -> Output:
    command = cast(Group, typer.main.get_group(_app()))
    if os.environ.get(ASKED):
        return Output(completions(command, words))
    words = words or ["--help"]
    answer: Any = command.main(
        args=words or ["--help"], prog_name="gdpbridge", standalone_mode=False
    )
    if answer == Status.INTERRUPTED:
        raise KeyboardInterrupt
    # --help and --version print by themselves
    return answer if isinstance(answer, Output) else Output("")


def _status_of(error: Exception) -> Status:
    if isinstance(error, RefusedError):
        return Status.NO
    if isinstance(error, UnavailableError):
        return Status.FAULT
    bad_input = isinstance(error, CommandLineError | MissingExtraError)
    return Status.BAD_INPUT if bad_input else Status.UNDECIDED


def _fault(error: Exception) -> str:
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"this is a fault in gdpbridge ({what}): please report it, with the command and what it "
        "prints when GDPBRIDGE_DEBUG=1 is set"
    )


def _complain(words: list[str], what: Exception | str, status: Status) -> int:
    """Say on standard error what is wrong, in one sentence or as JSON."""
    if any(word == "--json" or word.startswith("--json=") for word in words):
        about = {
            "field": getattr(what, "field", None),
            "value": getattr(what, "value", None),
            "message": str(what),
            **getattr(what, "details", {}),
        }
        from gdpbridge.report.json import to_json

        text = to_json({"error": about}, ascii_only=not is_unicode(sys.stderr))
    else:
        text = " ".join(str(what).split())
    write(sys.stderr, text + "\n")
    return status
