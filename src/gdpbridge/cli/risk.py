"""``gdpbridge risk``: what a μ means for an attacker."""

from __future__ import annotations

from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.show import answered

__all__ = ["add_to", "risk"]

Mu = Annotated[str, typer.Option("--mu", metavar="μ", help="the μ: a number ≥ 0")]
Failure = Annotated[
    str | None, typer.Option(metavar="p", help="the failure probability: a number in [0, 1)")
]
Prior = Annotated[
    str | None,
    typer.Option(
        metavar="π",
        help="the attacker's prior probability that the record is there: a number in (0, 1) "
        "[default: 0.5]",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, risk, summary=summary, example="risk --mu 1")


def risk(*, mu: Mu, failure: Failure = None, prior: Prior = None, json: AsJson = False) -> Output:
    """Answer with bounds on what an attacker can find out."""
    from gdpbridge.report.answers import risk_record
    from gdpbridge.risk import risk as measured

    found = measured(mu, failure=failure or "0", prior=prior or "0.5")
    return Output(answered(risk_record(found), as_json=json))
