"""``gdpbridge ledger quote``, ``spend`` and ``reserve``: for a mechanism, and for numbers."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import typer

from gdpbridge.cli import ledger_options as options
from gdpbridge.cli.ledger_shared import open_ledger, recorded
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status, has_colour, text_width
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile

__all__ = ["add_charges"]

_EXAMPLES = """\
Examples:

\b
  gdpbridge ledger {name} census --mu 0.5{rest}
  gdpbridge ledger {name} census laplace --scale 0.5{rest}

--mu (or --mu-squared), --failure and --certificate stand where no mechanism does. Exit status 3: \
it does not fit the budget.
"""
_SUMMARIES = {
    "quote": "Say what a spend would leave; nothing is recorded.",
    "spend": "Record a release, if the budget allows it.",
    "reserve": "Spend before a release, to commit or cancel after.",
}

_NEEDED = inspect.Parameter.empty
# each option: its declaration, and what it is where it is not given
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "dataset": (options.Dataset, _NEEDED),
    "purpose": (options.Purpose, _NEEDED),
    "mu": (options.Budget, None),
    "mu_squared": (options.Square, None),
    "failure": (options.Failure, None),
    "certificate": (options.CertificateFile, None),
    "neighbours": (options.StatedRelation, None),
    "unit": (options.StatedUnit, None),
    "part": (options.Part, None),
    "uncertified": (options.Uncertified, False),
    "expires": (options.Hours, "24"),
    "key": (options.Key, None),
    "actor": (options.Actor, None),
    "ledger": (options.Url, None),
    "json": (AsJson, False),
}
# a mechanism says of itself what numbers must be told
_OF_NUMBERS = {"mu", "mu_squared", "certificate", "neighbours", "unit"}
_OF_MECHANISMS = {"uncertified"}
_OF_RECORDS = {"purpose", "key", "actor"}
_OF_RESERVATIONS = {"expires"}


def add_charges(group: typer.Typer) -> None:
    """Add the commands that charge, or would."""
    for name, summary in _SUMMARIES.items():
        purpose = "" if name == "quote" else " --purpose 'table 3'"
        add_mechanism_command(
            group,
            name,
            _action(name, for_mechanism=True),
            summary=summary,
            epilog=_EXAMPLES.format(name=name, rest=purpose),
            within="ledger",
            required=purpose.strip(),
            alone=_action(name, for_mechanism=False),
        )


def _action(name: str, *, for_mechanism: bool) -> Callable[..., Output]:
    """Return the action of a command, with the options that it declares."""

    def action(
        profile: Profile | None = None, *, ledger: str | None, json: bool, **given: Any
    ) -> Output:
        dataset = given.pop("dataset")
        if "expires" in given:
            given["expires"] = _hours(given["expires"])
        with Progress(silent=json) as progress:
            done = getattr(open_ledger(ledger), name)(dataset, profile, progress=progress, **given)
        return _quoted(done, json) if name == "quote" else recorded(done, json)

    left_out = _OF_NUMBERS if for_mechanism else _OF_MECHANISMS
    if name != "reserve":
        left_out = left_out | _OF_RESERVATIONS
    if name == "quote":
        left_out = left_out | _OF_RECORDS
    declared = [
        inspect.Parameter(
            option, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
        )
        for option, (annotation, default) in _OPTIONS.items()
        if option not in left_out
    ]
    if for_mechanism:
        first = inspect.Parameter.POSITIONAL_OR_KEYWORD
        declared.insert(0, inspect.Parameter("profile", first, annotation=Profile))
    action.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    return action


def _quoted(found: Any, json: bool) -> Output:
    from gdpbridge.report.ledger import quote_document, quote_text

    answer = Status.ANSWERED if found.fits else Status.NO
    if json:
        return Output(as_json_text(quote_document(found)), answer)
    return Output(quote_text(found, text_width(), colour=has_colour(sys.stdout)), answer)


def _hours(text: str) -> timedelta:
    allowed = "a number > 0 and at most 87600"
    try:
        hours = float(text)
    except ValueError:
        raise InputError("expires", text, allowed) from None
    # less than a microsecond is no time
    if not 1e-9 < hours <= 87600:
        raise InputError("expires", text, allowed)
    return timedelta(hours=hours)
