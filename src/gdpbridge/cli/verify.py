"""``gdpbridge verify``: re-prove a certificate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.show import answered
from gdpbridge.errors import InputError
from gdpbridge.report.answers import verification_record

__all__ = ["add_to", "verify"]

File = Annotated[str, typer.Argument(metavar="FILE", help="a certificate, or - for standard input")]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, verify, summary=summary, example="verify certificate.json")


def verify(file: File, *, json: AsJson = False) -> Output:
    """Answer with what was proved, or the first line that fails."""
    # the checker is slow to load, and no other command needs it
    from gdpbridge.certificate.verify import verify as check
    from gdpbridge_verify.reader import MAX_BYTES

    source = sys.stdin.buffer.read(MAX_BYTES + 1) if file == "-" else Path(file)
    try:
        found = check(source)
    except InputError as error:
        # the file is what was typed; the rest names a place inside it
        if error.field == "certificate":
            raise error.renamed("file") from None
        raise
    status = Status.ANSWERED if found.valid else Status.NO
    return Output(answered(verification_record(found), as_json=json), status)
