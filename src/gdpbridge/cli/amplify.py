"""``gdpbridge amplify``: plans that make a mechanism safer, and samples drawn by such a plan."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gdpbridge.cli.commands import Group
from gdpbridge.cli.measure import CertificateFile, EpsH, Failure, Tol, save
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, has_colour, text_width
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import Advice, InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.amplify import (
    ClipRectifyRecord,
    SubsampleRecord,
    clip_rectify_record,
    plan_to_text,
    subsample_record,
)

if TYPE_CHECKING:
    from gdpbridge.amplify.subsample import SubsamplePlan

__all__ = ["add_to"]

_CLIP_RECTIFY = "Plan to clip a mechanism's output and add Laplace noise, which makes it GDP."
_SUBSAMPLE = "Find the largest sampling rate with which a mechanism reaches a target μ."

RectifyEpsH = Annotated[
    str,
    typer.Option(
        metavar="ε_h",
        help="a number > 0: the width of the bounds over the scale of the noise; of the "
        "mechanism, the head [0, ε_h] counts",
    ),
]
Lower = Annotated[
    str,
    typer.Option(metavar="y⁻", help="the lower bound; several numbers with commas for a vector"),
]
Upper = Annotated[
    str,
    typer.Option(metavar="y⁺", help="the upper bound; several numbers with commas for a vector"),
]
Target = Annotated[
    str,
    typer.Option("--mu", "--target-mu", metavar="μ", help="the target: a number > 0, at most 1000"),
]
Scheme = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="poisson or without-replacement, a fixed size [default: poisson]",
        show_default=False,
    ),
]
Input = Annotated[
    str | None,
    typer.Option("--input", metavar="FILE", help="a .csv or .parquet file to draw a sample of"),
]
OutputFile = Annotated[
    str | None, typer.Option("--output", metavar="FILE", help="the file to write the sample to")
]

NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="the first line of a .csv file is a record like the others"),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the commands of this group."""
    group = typer.Typer(cls=Group, rich_markup_mode=None, add_completion=False)
    add_mechanism_command(
        group,
        "clip-rectify",
        clip_rectify,
        summary=_CLIP_RECTIFY,
        epilog="Example: gdpbridge amplify clip-rectify icea --messages 20 --users 4 --eps-h 10 "
        "--lower 0 --upper 1",
        within="amplify",
        required="--eps-h 10 --lower 0 --upper 1",
    )
    add_mechanism_command(
        group,
        "subsample",
        subsample,
        summary=_SUBSAMPLE,
        epilog="Example: gdpbridge amplify subsample laplace --scale 0.5 --mu 1\n\n"
        "With --input and --output a sample of a file is drawn at that rate, with the operating "
        "system's randomness.",
        within="amplify",
        required="--mu 1",
    )
    app.add_typer(group, name=name, help=summary, short_help=summary)


def clip_rectify(
    profile: Profile,
    *,
    eps_h: RectifyEpsH,
    lower: Lower,
    upper: Upper,
    tol: Tol = None,
    json: AsJson = False,
) -> Output:
    """Answer with the scale of the noise, the theorem's μ and the joint profile's."""
    from gdpbridge.amplify.clip_rectify import clip_and_rectify

    plan = clip_and_rectify(
        profile,
        eps_h=eps_h,
        lower=_bound("lower", lower),
        upper=_bound("upper", upper),
        tol=tol,
    )
    return _shown(clip_rectify_record(plan), as_json=json)


def subsample(
    profile: Profile,
    *,
    mu: Target,
    scheme: Scheme = "poisson",
    eps_h: EpsH = None,
    failure: Failure = None,
    tol: Tol = None,
    source: Input = None,
    target: OutputFile = None,
    no_header: NoHeader = False,
    certificate: CertificateFile = None,
    json: AsJson = False,
) -> Output:
    """Answer with the rate as a bracket; draw a sample if asked to."""
    from gdpbridge.amplify.subsample import subsampling_plan
    from gdpbridge.certificate.reach import uncertifiable_because

    if (source is None) != (target is None):
        missing = "input" if source is None else "output"
        raise InputError.missing(missing, "give both --input and --output, or neither")
    if certificate is not None:
        why = uncertifiable_because(profile.subsample(0.5, scheme))
        if why:
            raise InputError("certificate", certificate, Advice(f"leave it out: {why}"))
    try:
        plan = subsampling_plan(
            profile,
            mu,
            scheme=scheme,
            eps_h=eps_h,
            failure=failure,
            tol=tol,
        )
    except InputError as error:
        # a mechanism may have a --mu of its own
        field = "target_mu" if error.field == "mu" else error.field
        raise error.renamed(field) from None
    if certificate is not None:
        save(plan.certificate, certificate)
    if source is not None and target is not None:
        with Progress(silent=json) as progress:
            _draw(plan, source, target, progress, header=not no_header)
    return _shown(subsample_record(plan), as_json=json)


def _draw(
    plan: SubsamplePlan, source: str, target: str, progress: Progress, *, header: bool
) -> None:
    try:
        plan.sample_file(source, target, header=header, progress=progress)
    except InputError as error:
        field = error.field.replace("source", "input").replace("target", "output")
        raise error.renamed(field) from None


def _shown(record: ClipRectifyRecord | SubsampleRecord, *, as_json: bool) -> Output:
    if as_json:
        return Output(as_json_text(record))
    return Output(plan_to_text(record, text_width(), colour=has_colour(sys.stdout)))


def _bound(name: str, text: str) -> float | list[float]:
    """Read a number, or several with commas.

    Raises:
        InputError: for a text that is neither.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(name, text, "a number, or several with commas") from None
    return values if "," in text else values[0]
