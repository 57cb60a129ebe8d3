"""``gdpbridge verify``: re-prove a certificate."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.show import answered
from gdpbridge.errors import InputError
from gdpbridge.report.answers import verification_record

if TYPE_CHECKING:
    from gdpbridge_verify.check import Verification

__all__ = ["add_to", "verify"]

File = Annotated[str, typer.Argument(metavar="FILE", help="a certificate, or - for standard input")]

PageFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="also write a page for an auditor: a file named .html, to read without a network",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, verify, summary=summary, example="verify certificate.json")


def verify(file: File, *, output: PageFile = None, json: AsJson = False) -> Output:
    """Answer with what was proved, or the first line that fails."""
    # the checker is slow to load, and no other command needs it
    from gdpbridge.certificate.verify import verify as check
    from gdpbridge.files import STANDARD_INPUT, read_bounded
    from gdpbridge_verify.reader import MAX_BYTES

    target = None if output is None else _page_path(output)
    # read once: what is told of is what was checked
    content = read_bounded(file, MAX_BYTES)
    try:
        found = check(content, folder=None if file == STANDARD_INPUT else Path(file).parent)
    except InputError as error:
        # the file is what was typed; the rest names a place inside it
        if error.field == "certificate":
            raise error.renamed("file") from None
        raise
    if target is not None:
        _write_page(target, content, found)
    status = Status.ANSWERED if found.valid else Status.NO
    return Output(answered(verification_record(found), as_json=json), status)


def _page_path(output: str) -> Path:
    from gdpbridge.plot import checked_path

    return checked_path(output, ("html",))[0]


def _write_page(target: Path, content: bytes, found: Verification) -> None:
    from importlib.metadata import version

    from gdpbridge.certificate.model import read
    from gdpbridge.files import write_text
    from gdpbridge.report.certificate_page import certificate_page

    sha256 = hashlib.sha256(content).hexdigest()
    checker = f"gdpbridge_verify {version('gdpbridge')}"
    write_text(target, certificate_page(read(content), found, sha256, checker))
