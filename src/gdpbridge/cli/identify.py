"""``gdpbridge identify``: is a mechanism GDP for some finite μ?"""

from __future__ import annotations

import typer

import gdpbridge
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.show import rendered
from gdpbridge.identify import Verdict
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.record import identification_record

__all__ = ["add_to", "identify"]

_EPILOG = """\
Example: gdpbridge identify icea --messages 20 --users 4

The exit status is 0 for GDP, 3 for not GDP and 4 for unknown.
"""

_STATUS = {
    Verdict.GDP: Status.ANSWERED,
    Verdict.NOT_GDP: Status.NO,
    Verdict.UNKNOWN: Status.UNDECIDED,
}


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(app, name, identify, summary=summary, epilog=_EPILOG)


def identify(profile: Profile, *, json: AsJson = False) -> Output:
    """Answer with the verdict, which is the exit status too."""
    found = gdpbridge.identify(profile)
    record = identification_record(profile, found)
    return Output(rendered(record, as_json=json), _STATUS[found.verdict])
