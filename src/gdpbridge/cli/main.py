"""The console entry point: from the words typed to an answer, one sentence, and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gdpbridge.cli.amplify import add_amplify_commands
from gdpbridge.cli.audit import audit_alone, audit_mechanism
from gdpbridge.cli.calibrate import calibrate
from gdpbridge.cli.commands import Group, add_command
from gdpbridge.cli.compare import compare
from gdpbridge.cli.convert import convert_mechanism, convert_numbers
from gdpbridge.cli.errors import CommandLineError
from gdpbridge.cli.identify import identify
from gdpbridge.cli.ledger import add_ledger_commands
from gdpbridge.cli.measure import measure
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.output import Output, Status, is_unicode, write
from gdpbridge.cli.paper import paper
from gdpbridge.cli.plot import add_plot_commands
from gdpbridge.cli.report import report
from gdpbridge.cli.risk import risk
from gdpbridge.cli.specification import add_schema_command
from gdpbridge.cli.verify import verify
from gdpbridge.errors import GdpBridgeError, MissingExtraError, RefusedError, UnavailableError
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
_CONVERT = "Convert between a μ, a mechanism, (ε, δ) pairs, and an attacker's errors."
_CONVERT_EPILOG = """\
Examples:

\b
  gdpbridge convert --mu 1 --delta 1e-5                  ε at which 1-GDP is (ε, 1e-5)-DP
  gdpbridge convert --mu 1 --epsilon 1                   δ at which it is (1, δ)-DP
  gdpbridge convert --epsilon 1                          the μ of every 1-DP mechanism
  gdpbridge convert --epsilon 1 --delta 1e-5             the μ of a Gaussian mechanism calibrated so
  gdpbridge convert --rho 0.5                            the μ of every 0.5-zCDP mechanism
  gdpbridge convert laplace --scale 0.5 --epsilon 1      δ of a mechanism
  gdpbridge convert laplace --scale 0.5 --alpha 0.01     an attacker's least type II error
"""
_CALIBRATE = "Find the parameter with which a mechanism meets a target μ, from the safe side."
_COMPARE = "Compare what different theorems say of a composition of ε-DP mechanisms."
_AUDIT = "Bound μ and ε from below by what an attacker achieved, and test a claim."
_AUDIT_EPILOG = """\
Examples:

\b
  gdpbridge audit scores.csv                                    lower bounds of μ and ε
  gdpbridge audit scores.csv --mu-claimed 1                     exit status 3 if they contradict it
  gdpbridge audit scores.csv --against --spec run.toml          test a mechanism's own f(α)
  gdpbridge audit runs.csv --method simultaneous                scores of independent runs
  gdpbridge audit counts.csv --positives 500 --negatives 500    true and false positives

Options beside a mechanism's own: --mu-claimed, --confidence, --method, --delta, --inclusion,
--seed, --held-out, --positives, --negatives, -o FILE for a picture, --json.
"""
_RISK = "Say what a μ means for an attacker."
_VERIFY = "Re-prove a certificate with arithmetic of its own; exit status 3 if a line fails."
_PAPER = "Reproduce the source paper: each figure, table and number, beside what is printed."
_REPORT = "Write a report on a mechanism: one page for those who must judge a release."
_REPORT_EPILOG = """\
Examples:

\b
  gdpbridge report laplace --scale 0.5 -o report.html
  gdpbridge report --spec release.toml -o report.md
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
    add_mechanism_command(
        app,
        "convert",
        convert_mechanism,
        summary=_CONVERT,
        epilog=_CONVERT_EPILOG,
        required="--at-delta 1e-5",
        alone=convert_numbers,
    )
    add_mechanism_command(
        app,
        "calibrate",
        calibrate,
        summary=_CALIBRATE,
        epilog="Example: gdpbridge calibrate laplace --mu 1",
        required="--target-mu 1",
        complete=False,
    )
    add_mechanism_command(
        app,
        "compare",
        compare,
        summary=_COMPARE,
        epilog="Example: gdpbridge compare --compose 50 pure-dp --epsilon 0.2",
        required="--compose 50",
    )
    add_mechanism_command(
        app,
        "audit",
        audit_mechanism,
        summary=_AUDIT,
        epilog=_AUDIT_EPILOG,
        alone=audit_alone,
    )
    add_amplify_commands(app)
    add_command(app, "risk", risk, summary=_RISK, example="risk --mu 1")
    add_command(app, "verify", verify, summary=_VERIFY, example="verify certificate.json")
    add_plot_commands(app)
    add_mechanism_command(
        app,
        "report",
        report,
        summary=_REPORT,
        epilog=_REPORT_EPILOG,
        required="-o report.html",
    )
    add_ledger_commands(app)
    add_command(app, "paper", paper, summary=_PAPER, example="paper -o paper")
    add_schema_command(app)
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
        text = to_json({"error": about}, ascii_only=not is_unicode(sys.stderr))
    else:
        text = " ".join(str(what).split())
    write(sys.stderr, text + "\n")
    return status
