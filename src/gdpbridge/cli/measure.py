"""``gdpbridge measure``: the least μ of a mechanism, as an interval."""

from __future__ import annotations

from typing import Annotated

import typer

import gdpbridge
from gdpbridge.cli.mechanism import add_mechanism_command, mechanism_of
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import rendered, several
from gdpbridge.errors import Advice, InputError, UndecidedError, WorkLimitError
from gdpbridge.measure import COMPOSED_TOL, DEFAULT_TOL, method_names
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.record import (
    MeasurementRecord,
    UndecidedRecord,
    measurement_record,
    undecided_record,
)

__all__ = ["add_to", "measure"]

_EPILOG = """\
Example: gdpbridge measure laplace --scale 0.5

With neither --eps-h nor --failure, μ covers every ε where some finite μ does; else all but the
mass at infinity, as a failure probability; else the head up to ε = 100.
"""

_METHODS = method_names()
_MOST_DIGITS = 100

Tol = Annotated[
    str | None,
    typer.Option(
        metavar="WIDTH",
        help=f"largest width of the interval for μ, in [1e-100, 1] [default: {DEFAULT_TOL:g}; "
        f"{COMPOSED_TOL:g} for losses composed on lattices; relative to μ below 1]",
    ),
]
EpsH = Annotated[
    str | None,
    typer.Option(metavar="ε_h", help="a number > 0: measure the head [0, ε_h] only"),
]
Failure = Annotated[
    str | None,
    typer.Option(
        metavar="p",
        help="a number ≥ 0 and < 1: allow outright failure with probability p; 0: every ε is meant",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=lambda: list(_METHODS),
        help=f"one of {', '.join(_METHODS)} [default: {_METHODS[0]}, which proves]",
        show_default=False,
    ),
]
Digits = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help=f"a whole number from 1 to {_MOST_DIGITS}: decimal places of μ; --tol is 10^-N "
        "unless given",
    ),
]


CertificateFile = Annotated[
    str | None,
    typer.Option(
        "--certificate", metavar="FILE", help="a file to write the proof to, for gdpbridge verify"
    ),
]


Regret = Annotated[
    bool,
    typer.Option(
        "--regret", help="in the certificate prove the worst-case regret of stating μ, too"
    ),
]


Also = Annotated[
    list[str] | None,
    typer.Option(
        "--and",
        metavar="MECHANISM",
        help='another mechanism, its words in quotes: "gaussian --sigma 1"; all in one table; may '
        "be repeated",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(app, name, measure, summary=summary, epilog=_EPILOG)


def measure(
    profile: Profile,
    *,
    tol: Tol = None,
    eps_h: EpsH = None,
    failure: Failure = None,
    method: Method = _METHODS[0],
    digits: Digits = None,
    certificate: CertificateFile = None,
    regret: Regret = False,
    also: Also = None,
    json: AsJson = False,
) -> Output:
    """Answer with the statement and the interval for μ."""
    from gdpbridge.fit import no_regret_because

    if certificate is not None and also:
        raise InputError(
            "certificate", certificate, Advice("leave --and out: it is of one mechanism")
        )
    if certificate is not None:
        _check_certificate(profile, method, certificate)
        if regret and (why := no_regret_because(profile)):
            raise InputError("regret", profile.kind, Advice(f"leave it out: {why}"))
    elif regret:
        raise InputError("regret", "given", Advice("give it with --certificate FILE"))
    places = None if digits is None else _places(digits)
    default = None if places is None else f"1e-{places}"
    profiles = [profile, *(mechanism_of(text, "--and") for text in also or ())]
    records: list[MeasurementRecord | UndecidedRecord] = []
    with Progress(silent=json) as progress:
        for one in profiles:
            try:
                found = gdpbridge.measure(
                    one,
                    # the text itself: 1e-400 is not 0
                    tol=default if tol is None else tol,
                    eps_h=eps_h,
                    failure=failure,
                    method=method,
                    progress=progress,
                )
            except (UndecidedError, WorkLimitError) as error:
                if not also:
                    raise
                records.append(undecided_record(one, error))
                continue
            records.append(measurement_record(found))
            if certificate is not None:
                _save(found, certificate, regret=regret)
    undecided = any(isinstance(one, UndecidedRecord) or one.found.undecided for one in records)
    status = Status.UNDECIDED if undecided else Status.ANSWERED
    (first, *others) = records
    if others or isinstance(first, UndecidedRecord):
        return Output(several(records, as_json=json, digits=places), status)
    return Output(rendered(first, as_json=json, digits=places), status)


def _check_certificate(profile: Profile, method: str, path: str) -> None:
    """Refuse before any work to certify what has no certificate.

    Raises:
        InputError: if no certificate will come of the mechanism or the method.
    """
    from gdpbridge.measure.method import method_for
    from gdpbridge.measure.result import no_certificate_because

    if why := no_certificate_because(profile, lambda: method_for(profile.curve.form, method)):
        raise InputError("certificate", path, Advice(f"leave it out: {why}"))


def _save(found: gdpbridge.Measurement, path: str, *, regret: bool) -> None:
    """Write the certificate of a measurement to a file, that of its regret with it.

    Raises:
        InputError: if there is no certificate for it, or the file cannot be written.
    """
    document = gdpbridge.regret_certificate(found) if regret else found.certificate
    if document is None:
        raise InputError("certificate", path, Advice(f"leave it out: {found.uncertified_because}"))
    save(document, path)


def save(document: gdpbridge.Certificate, path: str) -> None:
    """Write a certificate to a file.

    Raises:
        InputError: if it cannot be written.
    """
    try:
        document.save(path)
    except OSError as error:
        allowed = f"a file that can be written ({error.strerror})"
        raise InputError("certificate", path, allowed) from None


def _places(digits: str) -> int:
    if digits.isascii() and digits.isdigit() and 1 <= int(digits[:9]) <= _MOST_DIGITS:
        return int(digits)
    raise InputError("digits", digits, f"a whole number from 1 to {_MOST_DIGITS}")
