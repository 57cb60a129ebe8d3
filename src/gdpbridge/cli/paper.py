"""``gdpbridge paper``: the source paper, reproduced into a folder."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status, has_colour, text_width
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text

__all__ = ["add_to", "paper"]

Folder = Annotated[
    str,
    typer.Option(
        "-o", "--output", metavar="FOLDER", help="a folder for the page, its numbers and figures"
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, paper, summary=summary, example="paper -o paper")


def paper(*, output: Folder, json: AsJson = False) -> Output:
    """Answer with how many statements agree; the exit status is 1 if one does not."""
    from gdpbridge.paper.finding import Status as Agreement
    from gdpbridge.paper.record import paper_record, to_text
    from gdpbridge.paper.reproduce import reproduce
    from gdpbridge.paper.write import prepared_folder, write_folder

    folder = prepared_folder(output)
    with Progress(silent=json) as progress:
        done = reproduce(progress=progress)
        write_folder(done, folder, progress=progress)
    status = Status.FAULT if done.of_status(Agreement.DISAGREES) else Status.ANSWERED
    if json:
        return Output(as_json_text(paper_record(done)), status)
    text = to_text(done, folder, text_width(), colour=has_colour(sys.stdout))
    return Output(text, status)
