"""``gdpbridge compare``: what different theorems say of a composition."""

from __future__ import annotations

from typing import Annotated

import typer

from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.show import answered
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.report.answers import comparison_record

__all__ = ["add_to", "compare"]

Times = Annotated[
    str,
    typer.Option("--compose", metavar="K", help="how many: a whole number from 1 to 1000000"),
]
Deltas = Annotated[
    list[str] | None,
    typer.Option(
        "--delta",
        # a mechanism may have a --delta of its own
        "--at-delta",
        metavar="δ",
        help="a number > 0 and < 1; may be repeated [default: 0.1, 0.01, 0.001, 0.0001]",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app,
        name,
        compare,
        summary=summary,
        epilog="Example: gdpbridge compare --compose 50 pure-dp --epsilon 0.2",
        required="--compose 50",
    )


def compare(
    profile: Profile, *, compose: Times, delta: Deltas = None, json: AsJson = False
) -> Output:
    """Answer with the least ε that each theorem gives."""
    from gdpbridge.compare import DELTAS, MAX_TIMES
    from gdpbridge.compare import compare as compared

    if not isinstance(profile, PureDP):
        raise InputError("mechanism", profile.kind, "pure-dp, which all the theorems speak of")
    if not (compose.isascii() and compose.isdigit()):
        raise InputError("compose", compose, f"a whole number from 1 to {MAX_TIMES:,}")
    try:
        found = compared(profile.epsilon, int(compose), delta or DELTAS)
    except InputError as error:
        names = {"times": "compose", "deltas": "delta"}
        raise error.renamed(names.get(error.field, error.field)) from None
    return Output(answered(comparison_record(found), as_json=json))
