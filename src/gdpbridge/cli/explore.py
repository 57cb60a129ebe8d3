"""``gdpbridge explore``: a page on which mechanisms are chosen, seen and compared."""

from __future__ import annotations

from typing import Annotated

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.output import Output

__all__ = ["add_to", "explore"]

PageFile = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="a file to write, named .html"),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, explore, summary=summary, example="explore -o explorer.html")


def explore(*, output: PageFile) -> Output:
    """Write the page."""
    from gdpbridge.explorer import explorer_page
    from gdpbridge.files import write_text
    from gdpbridge.plot import checked_path

    target, _ = checked_path(output, ("html",))
    write_text(target, explorer_page())
    return Output(f"{target}: open it in a browser; it needs no network\n")
