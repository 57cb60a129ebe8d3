"""``gdpbridge ledger page``: budgets and history as a page to look at."""

from __future__ import annotations

from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.ledger_options import Url
from gdpbridge.cli.ledger_shared import open_ledger
from gdpbridge.cli.output import Output

__all__ = ["add_page"]

PageFile = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="a file to write, named .html"),
]


def add_page(group: typer.Typer) -> None:
    """Add the command."""
    add_command(
        group,
        "page",
        page,
        summary="Write a page to look at: budgets, what is left, and the history.",
        example="ledger page -o budget.html",
    )


def page(*, output: PageFile, ledger: Url = None) -> Output:
    """Write the page; the ledger is only read."""
    from datetime import UTC, datetime

    from gdpbridge.files import write_text
    from gdpbridge.plot import checked_path
    from gdpbridge.report.ledger_page import ledger_page

    target, _ = checked_path(output, ("html",))
    book = open_ledger(ledger)
    names = [one.name for one in book.datasets()]
    found = [(book.status(name), list(book.history(name))) for name in names]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    write_text(target, ledger_page(book.where, found, made), private=True)
    sets = "1 data set" if len(names) == 1 else f"{len(names)} data sets"
    return Output(f"{target}: {sets}; open it in a browser\n")
