"""``gdpbridge ledger certificate``: the certificates of all releases, composed into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.ledger_options import Dataset, Url
from gdpbridge.cli.ledger_shared import open_ledger
from gdpbridge.cli.measure import save
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.show import answered

__all__ = ["add_certificate"]

Target = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="the certificate to write, in the folder of those of the releases",
    ),
]


def add_certificate(group: typer.Typer) -> None:
    """Add the command."""
    add_command(
        group,
        "certificate",
        certificate,
        summary="Compose the certificates of all releases into one, which names each.",
        example="ledger certificate census -o proofs/census.json",
    )


def certificate(
    dataset: Dataset, *, output: Target, ledger: Url = None, json: AsJson = False
) -> Output:
    """Write the composition, and answer with what it proves."""
    from gdpbridge.certificate.verify import verify
    from gdpbridge.report.answers import verification_record

    folder = Path(output).parent
    found = open_ledger(ledger).certificate(dataset, folder)
    save(found, output)
    return Output(answered(verification_record(verify(found, folder=folder)), as_json=json))
