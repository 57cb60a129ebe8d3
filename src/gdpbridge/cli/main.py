"""The console entry point: from the words typed to an answer, one sentence, and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gdpbridge.cli.commands import Group
from gdpbridge.cli.errors import CommandLineError
from gdpbridge.cli.identify import identify
from gdpbridge.cli.measure import measure
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.output import Output, Status, is_unicode, write
from gdpbridge.errors import GdpBridgeError, MissingExtraError
from gdpbridge.report.json import to_json

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
_MEASURE = "Measure the least μ of a mechanism, as a proved interval."
_IDENTIFY = "Tell whether a mechanism is GDP for some finite μ."
_MEASURE_EPILOG = """\
Example: gdpbridge measure laplace --scale 0.5

With neither --eps-h nor --failure, μ covers every ε where some finite μ does; else all but the
mass at infinity, as a failure probability; else the head up to ε = 100.
"""
_IDENTIFY_EPILOG = """\
Example: gdpbridge identify icea --messages 20 --users 4

The exit status is 0 for GDP, 3 for not GDP and 4 for unknown.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the words after the program's name; those it was started with if None.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        output = _run(words or ["--help"])
        write(sys.stdout, output.text)
    except (CommandLineError, GdpBridgeError) as error:
        return _complain(words, error, _status_of(error))
    except (KeyboardInterrupt, typer.Abort):
        return _complain(words, "interrupted", Status.INTERRUPTED)
    except OSError as error:
        return _complain(words, f"failed: {error}", Status.FAULT)
    except Exception as error:
        if os.environ.get("GDPBRIDGE_DEBUG"):
            traceback.print_exc()
        return _complain(words, _fault(error), Status.FAULT)
    return output.status


def _app() -> typer.Typer:
    app = typer.Typer(cls=Group, rich_markup_mode=None, add_completion=False)
    app.callback(help=_HELP, epilog=_EPILOG)(_general_options)
    add_mechanism_command(app, "measure", measure, summary=_MEASURE, epilog=_MEASURE_EPILOG)
    add_mechanism_command(app, "identify", identify, summary=_IDENTIFY, epilog=_IDENTIFY_EPILOG)
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
    command = typer.main.get_command(_app())
    answer: Any = command.main(args=words, prog_name="gdpbridge", standalone_mode=False)
    if answer == Status.INTERRUPTED:
        raise KeyboardInterrupt
    # --help and --version print by themselves
    return answer if isinstance(answer, Output) else Output("")


def _status_of(error: Exception) -> Status:
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
        }
        text = to_json({"error": about}, ascii_only=not is_unicode(sys.stderr))
    else:
        text = " ".join(str(what).split())
    write(sys.stderr, text + "\n")
    return status
