"""``gdpbridge calibrate``: the parameter with which a mechanism meets a target."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gdpbridge.cli.measure import CertificateFile, EpsH, Failure, Tol, save
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import answered
from gdpbridge.errors import Advice, InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.answers import calibration_record

__all__ = ["add_to", "calibrate"]


Mu = Annotated[
    str | None,
    typer.Option("--mu", "--target-mu", metavar="μ", help="the target: a number > 0, at most 1000"),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon", "--target-epsilon", metavar="ε", help="the target, with a δ: a number ≥ 0"
    ),
]
Delta = Annotated[
    str | None,
    typer.Option("--delta", "--target-delta", metavar="δ", help="its δ: a number > 0 and < 1"),
]
Advantage = Annotated[
    str | None,
    typer.Option(
        "--advantage",
        "--target-advantage",
        metavar="A",
        help="the target: how far an attack's true-positive rate may exceed the false-positive one",
    ),
]
Tpr = Annotated[
    str | None,
    typer.Option(
        "--tpr",
        "--target-tpr",
        metavar="T",
        help="the target: the largest true-positive rate at --fpr",
    ),
]
Fpr = Annotated[
    str | None,
    typer.Option(
        "--fpr", "--target-fpr", metavar="F", help="its false-positive rate: a number > 0 and < 1"
    ),
]
Free = Annotated[
    str | None,
    typer.Option(
        "--parameter",
        metavar="NAME",
        help="the parameter to find [default: the required one that is not given]; times for the "
        "number of runs",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app,
        name,
        calibrate,
        summary=summary,
        epilog="Example: gdpbridge calibrate laplace --mu 1, or --epsilon 1 --delta 1e-6",
        required="--target-mu 1",
        complete=False,
    )


def calibrate(
    kind: type[Profile],
    parameters: dict[str, Any],
    *,
    mu: Mu = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    advantage: Advantage = None,
    tpr: Tpr = None,
    fpr: Fpr = None,
    parameter: Free = None,
    tol: Tol = None,
    eps_h: EpsH = None,
    failure: Failure = None,
    certificate: CertificateFile = None,
    json: AsJson = False,
) -> Output:
    """Answer with a bracket whose safe end is proved to meet the target."""
    from gdpbridge.calibrate import calibrate as found_for

    name = kind.model_fields["kind"].default
    # a spelling that the kind has for a parameter of its own is no target
    own = " and ".join(f"--{one}" for one in ("epsilon", "delta", "mu") if one in parameters)
    if all(one is None for one in (mu, epsilon, delta, advantage, tpr, fpr)):
        either = "target_epsilon with target_delta, --advantage, or --tpr with --fpr"
        what = f": {own} says what {name} is" if own else ""
        raise InputError.missing("target_mu", f"give a number > 0, or {either}{what}")
    if epsilon is None and delta is not None and "epsilon" in parameters:
        why = f"--epsilon is a parameter of {name}, not the target"
        raise InputError.missing("target_epsilon", f"{why}: give it too")
    free = None if parameter is None else parameter.replace("-", "_")
    if certificate is not None and (why := _uncertifiable(name, free, parameters)):
        raise InputError("certificate", certificate, Advice(f"leave it out: {why}"))
    with Progress(silent=json) as progress:
        found = found_for(
            name,
            mu,
            target_epsilon=epsilon,
            target_delta=delta,
            target_advantage=advantage,
            target_tpr=tpr,
            target_fpr=fpr,
            parameter=free,
            tol=tol,
            eps_h=eps_h,
            failure=failure,
            progress=progress,
            **parameters,
        )
    if certificate is not None:
        save(found.certificate, certificate)
    text = answered(calibration_record(found), as_json=json)
    if certificate is not None and found.one_sided and not json:
        text = f"{text}The certificate is one-sided: {found.one_sided}.\n"
    return Output(text)


def _uncertifiable(kind: str, free: str | None, parameters: dict[str, Any]) -> str:
    """Return why no certificate will come, before any work; empty if one may."""
    from gdpbridge.calibrate import typical
    from gdpbridge.certificate.reach import uncertifiable_because

    try:
        return uncertifiable_because(typical(kind, free, **parameters))
    except InputError:
        # what is wrong with the parameters is for the search to say
        return ""
