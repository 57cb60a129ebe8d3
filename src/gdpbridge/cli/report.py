"""``gdpbridge report``: one document on one mechanism, for those who must judge a release."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from gdpbridge.cli.measure import EpsH, Failure, Tol
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, is_unicode
from gdpbridge.cli.progress import Progress
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.specification.release import Release

__all__ = ["add_to", "report"]

_EPILOG = """\
Examples:

\b
  gdpbridge report laplace --scale 0.5 -o report.html
  gdpbridge report --spec release.toml -o report.md
  gdpbridge report --spec release.toml -o deployment.yaml     a record for a registry
"""

ReportFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="a file to write, whose name ends in .html, .md, .json, .pdf or .yaml",
    ),
]
ReleaseFile = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="FILE",
        help="a TOML or JSON file with what is said of the release, such as unit_of_privacy; a "
        "table release in the file of --spec does the same",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app, name, report, summary=summary, epilog=_EPILOG, required="-o report.html"
    )


def report(
    profile: Profile,
    *,
    output: ReportFile = None,
    release: ReleaseFile = None,
    tol: Tol = None,
    eps_h: EpsH = None,
    failure: Failure = None,
    json: AsJson = False,
) -> Output:
    """Write a report on a mechanism."""
    from gdpbridge.measure import measure
    from gdpbridge.plot import checked_path
    from gdpbridge.report.privacy import FORMATS, privacy_report
    from gdpbridge.report.privacy.composition import input_paths

    if output is None and not json:
        raise InputError.missing("output", "name a file that ends in .html, .md or .json")
    if output is not None:
        # a name that cannot be is told before the work
        checked_path(output, FORMATS)
    said = _stated(release)
    if output is not None:
        _refuse_inputs(output, [release, *input_paths(profile)])
    with Progress(silent=json) as progress:
        found = measure(profile, tol=tol, eps_h=eps_h, failure=failure, progress=progress)
        made = privacy_report(profile, found, release=said, progress=progress)
        written = None if output is None else made.save(output)
    if json:
        return Output(made.to_json(ascii_only=not is_unicode(sys.stdout)))
    return Output(f"{written}: {made.title}: μ in {found.mu}; {made.covers}\n")


def _refuse_inputs(output: str, inputs: Iterable[object]) -> None:
    """Refuse to write over a file that is read.

    Raises:
        InputError: if the output is one of them.
    """
    for one in inputs:
        if isinstance(one, str) and Path(one).resolve() == Path(output).resolve():
            raise InputError("output", output, "another file than those that are read")


def _stated(release: object) -> Release | None:
    """Return what is said of the release; the file of a mechanism is read already."""
    from gdpbridge.specification.load import parse_release, read_specification

    if not isinstance(release, str):
        return release if isinstance(release, Release) else None
    try:
        return parse_release(read_specification(release), whole=True)
    except InputError as error:
        # the file is read as one of --spec is, and holds the fields alone
        field = "release" if error.field == "spec" else error.field.removeprefix("release.")
        raise error.renamed(field) from None
