"""``gdpbridge compose``: certificates of several releases of the same data, as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.measure import save
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.show import answered
from gdpbridge.errors import InputError
from gdpbridge.report.answers import verification_record

__all__ = ["add_to", "compose"]

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="certificates in one folder; one that is named twice was released twice",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="the certificate to write, in the same folder"
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, compose, summary=summary, example="compose a.json b.json -o all.json")


def compose(files: Files, *, output: Target = None, json: AsJson = False) -> Output:
    """Answer with what the composition's certificate proves."""
    from gdpbridge.certificate.verify import verify
    from gdpbridge.compose import compose_certificates

    try:
        found = compose_certificates(files)
    except InputError as error:
        raise error.renamed(error.field.replace("certificates", "files")) from None
    folder = Path(files[0]).parent
    if output is not None:
        if Path(output).resolve().parent != folder.resolve():
            raise InputError("output", output, f"in the folder of {Path(files[0]).name}")
        save(found, output)
    return Output(answered(verification_record(verify(found, folder=folder)), as_json=json))
