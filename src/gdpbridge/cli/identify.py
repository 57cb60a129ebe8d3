"""``gdpbridge identify``: is a mechanism GDP for some finite μ?"""

from __future__ import annotations

import gdpbridge
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.show import rendered
from gdpbridge.identify import Verdict
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.record import identification_record

__all__ = ["identify"]

_STATUS = {
    Verdict.GDP: Status.ANSWERED,
    Verdict.NOT_GDP: Status.NO,
    Verdict.UNKNOWN: Status.UNDECIDED,
}


def identify(profile: Profile, *, json: AsJson = False) -> Output:
    """Answer with the verdict, which is the exit status too."""
    found = gdpbridge.identify(profile)
    record = identification_record(profile, found)
    return Output(rendered(record, as_json=json), _STATUS[found.verdict])
