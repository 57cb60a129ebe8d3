"""``gdpbridge check``: is a claim about a mechanism true?"""

from __future__ import annotations

from typing import Annotated

import typer

from gdpbridge.cli.measure import CertificateFile, save
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.show import answered
from gdpbridge.errors import Advice, InputError
from gdpbridge.mechanisms.base import Profile

__all__ = ["add_to", "check"]

_EPILOG = """\
Examples:

\b
  gdpbridge check laplace --scale 0.5 --claim "epsilon <= 2" --claim "mu <= 1.9"
  gdpbridge check --spec run.toml --claim "epsilon <= 8 at delta = 1e-5"
  gdpbridge check opacus state.json --claim "(2.99, 1e-5)-DP for replace-one"
  gdpbridge check gaussian --sigma 2 --claim "tpr <= 0.01 at fpr = 0.001"
  gdpbridge check gaussian --sigma 2 --claims claims.csv --certificate claims.json

The exit status is 0 where every claim is true, 3 where one is false, else 4.
"""

Claims = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="TEXT",
        help='a claim, such as "epsilon <= 8 at delta = 1e-5", "delta <= 1e-5 at epsilon = 8", '
        '"mu <= 1", "advantage <= 0.1", "tpr <= 0.01 at fpr = 0.001" or "beta >= 0.9 at '
        'alpha = 0.05"; may be repeated',
    ),
]
ClaimFile = Annotated[
    str | None,
    typer.Option(
        "--claims",
        metavar="FILE",
        help="a table of claims: a column claim, or columns epsilon and delta, mu, advantage, or "
        "tpr and fpr; - for standard input",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app,
        name,
        check,
        summary=summary,
        epilog=_EPILOG,
        required="--claim 'epsilon <= 8 at delta = 1e-5'",
    )


def check(
    profile: Profile,
    *,
    claim: Claims = None,
    claims: ClaimFile = None,
    certificate: CertificateFile = None,
    json: AsJson = False,
) -> Output:
    """Answer each claim; the exit status is the least favourable answer."""
    from gdpbridge.certificate.reach import uncertifiable_because
    from gdpbridge.check import certificate_of
    from gdpbridge.check import check as checked
    from gdpbridge.claims import claims_in_file, read_all
    from gdpbridge.report.answers import check_record

    asked = read_all(claim or [])
    if claims is not None:
        asked += claims_in_file(claims)
    if not asked:
        raise InputError.missing("claim", 'give one, such as "epsilon <= 8 at delta = 1e-5"')
    if certificate is not None and (why := uncertifiable_because(profile)):
        raise InputError("certificate", certificate, Advice(f"leave it out: {why}"))
    found = checked(profile, asked)
    if certificate is not None and all(one.holds for one in found):
        save(certificate_of(found), certificate)
    answers = [one.holds for one in found]
    status = (
        Status.NO if False in answers else Status.UNDECIDED if None in answers else Status.ANSWERED
    )
    return Output(answered(check_record(profile, found), as_json=json), status)
