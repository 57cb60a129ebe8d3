"""``gdpbridge audit``: the measured floor beside the proved ceiling."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gdpbridge.cli.errors import CommandLineError
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status, has_colour, text_width
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile

__all__ = ["add_to", "audit_alone", "audit_mechanism"]

_EPILOG = """\
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

_COUNTED = "of a file of counts or rates: how many runs there were"

Scores = Annotated[
    str,
    typer.Argument(
        metavar="SCORES",
        help="a table with columns score and member (0 or 1), or true_positives and "
        "false_positives, or fpr and tpr; - for standard input",
    ),
]
Against = Annotated[
    bool, typer.Option("--against", help="test the mechanism that follows: KIND, or --spec FILE")
]
MuClaimed = Annotated[
    str | None,
    typer.Option("--mu-claimed", metavar="μ", help="a number in [0, 1000]: test this μ"),
]
Confidence = Annotated[
    str,
    typer.Option(
        metavar="c",
        help="a number in (0, 1): how sure the bounds are [default: 0.95]",
        show_default=False,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="canaries of one run: f-dp or guessing; independent runs: split or simultaneous; "
        "several share 1 - c [default: f-dp]",
    ),
]
Delta = Annotated[
    str,
    typer.Option(
        "--delta",
        "--at-delta",
        metavar="δ",
        help="a number in [0, 1): bound ε there [default: 1e-5]",
        show_default=False,
    ),
]
Inclusion = Annotated[
    str,
    typer.Option(
        metavar="q",
        help="in one run: a number in (0, 1), the probability with which each canary was in "
        "[default: 0.5]",
        show_default=False,
    ),
]
Seed = Annotated[
    str,
    typer.Option(
        metavar="N", help="of the random choice of held-out scores [default: 0]", show_default=False
    ),
]
HeldOut = Annotated[
    str,
    typer.Option(
        "--held-out",
        metavar="h",
        help="a number in (0, 1): the share of scores a threshold is chosen on [default: 0.25]",
        show_default=False,
    ),
]
Positives = Annotated[
    str | None, typer.Option("--positives", metavar="N", help=f"{_COUNTED} with the record")
]
Negatives = Annotated[
    str | None, typer.Option("--negatives", metavar="N", help=f"{_COUNTED} without it")
]
Picture = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="also draw the measured errors: a file whose name ends in .png, .svg, .pdf or .html",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app, name, audit_mechanism, summary=summary, epilog=_EPILOG, alone=audit_alone
    )


def audit_mechanism(
    profile: Profile,
    *,
    scores: Scores,
    against: Against = False,
    confidence: Confidence = "0.95",
    method: Methods = None,
    delta: Delta = "1e-5",
    inclusion: Inclusion = "0.5",
    seed: Seed = "0",
    held_out: HeldOut = "0.25",
    positives: Positives = None,
    negatives: Negatives = None,
    output: Picture = None,
    json: AsJson = False,
) -> Output:
    """Answer with lower bounds of μ and ε, and whether they contradict a mechanism."""
    asked = {"confidence": confidence, "against": profile, "delta": delta}
    options = {"method": method, "inclusion": inclusion, "seed": seed, "held_out": held_out}
    return _audited(scores, asked, options, (positives, negatives), output, json)


def audit_alone(
    *,
    scores: Scores,
    against: Against = False,
    mu_claimed: MuClaimed = None,
    confidence: Confidence = "0.95",
    method: Methods = None,
    delta: Delta = "1e-5",
    inclusion: Inclusion = "0.5",
    seed: Seed = "0",
    held_out: HeldOut = "0.25",
    positives: Positives = None,
    negatives: Negatives = None,
    output: Picture = None,
    json: AsJson = False,
) -> Output:
    """Answer with lower bounds of μ and ε, and whether they contradict a claimed μ."""
    if against:
        raise CommandLineError(
            "--against",
            None,
            "--against has no mechanism: must be followed by KIND and its options, or --spec FILE",
        )
    asked = {"confidence": confidence, "mu_claimed": mu_claimed, "delta": delta}
    options = {"method": method, "inclusion": inclusion, "seed": seed, "held_out": held_out}
    return _audited(scores, asked, options, (positives, negatives), output, json)


def _audited(
    source: str,
    asked: dict[str, Any],
    options: dict[str, Any],
    totals: tuple[str | None, str | None],
    output: str | None,
    json: bool,
) -> Output:
    from gdpbridge import auditing
    from gdpbridge.auditing.reading import counts_of_rates, read_columns
    from gdpbridge.report.audit import audit_document, audit_to_text

    if output is not None:
        from gdpbridge.plot import checked_path

        checked_path(output)
    with Progress(silent=json) as progress:
        columns = read_columns(source)
        if "score" in columns:
            options["method"] = options["method"] or "f-dp"
            options["seed"] = _whole("seed", options["seed"])
            found = auditing.audit(
                columns["score"], columns["member"], progress=progress, **asked, **options
            )
        else:
            given = [
                columns[name] if name in columns else _total(name, text)
                for name, text in zip(("positives", "negatives"), totals, strict=True)
            ]
            if "fpr" in columns:
                right, wrong = counts_of_rates(columns, *given)
            else:
                right, wrong = columns["true_positives"], columns["false_positives"]
            found = auditing.audit_counts(
                right, wrong, positives=given[0], negatives=given[1], **asked
            )
        if output is not None:
            from gdpbridge import plot

            plot.audit(found, profile=asked.get("against"), mu=asked.get("mu_claimed")).save(output)
    text = (
        as_json_text(audit_document(found))
        if json
        else audit_to_text(found, text_width(), colour=has_colour(sys.stdout))
    )
    return Output(text, Status.NO if found.contradicts else Status.ANSWERED)


def _total(name: str, text: str | None) -> int:
    if text is None:
        raise InputError(name, "missing", f"given as --{name} N, or as a column of the file")
    return _whole(name, text)


def _whole(name: str, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    raise InputError(name, text, "a whole number ≥ 0")
