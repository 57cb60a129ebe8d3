"""``gdpbridge calibrate``: the parameter with which a mechanism meets a target μ."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gdpbridge.cli.measure import EpsH, Failure, Tol
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.show import answered
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.answers import calibration_record

__all__ = ["add_to", "calibrate"]

Target = Annotated[
    str,
    typer.Option("--mu", "--target-mu", metavar="μ", help="the target: a number > 0, at most 1000"),
]
Free = Annotated[
    str | None,
    typer.Option(
        "--parameter",
        metavar="NAME",
        help="the parameter to find [default: the required one that is not given]",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app,
        name,
        calibrate,
        summary=summary,
        epilog="Example: gdpbridge calibrate laplace --mu 1",
        required="--target-mu 1",
        complete=False,
    )


def calibrate(
    kind: type[Profile],
    parameters: dict[str, Any],
    *,
    mu: Target,
    parameter: Free = None,
    tol: Tol = None,
    eps_h: EpsH = None,
    failure: Failure = None,
    json: AsJson = False,
) -> Output:
    """Answer with a bracket whose safe end is proved to meet the target."""
    from gdpbridge.calibrate import calibrate as found_for

    found = found_for(
        kind.model_fields["kind"].default,
        mu,
        parameter=None if parameter is None else parameter.replace("-", "_"),
        tol=tol,
        eps_h=eps_h,
        failure=failure,
        **parameters,
    )
    return Output(answered(calibration_record(found), as_json=json))
