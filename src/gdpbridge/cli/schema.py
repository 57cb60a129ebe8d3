"""``gdpbridge schema``: JSON Schemas of what the program reads and writes."""

from __future__ import annotations

import json

import typer

from gdpbridge.cli.commands import Command, Group
from gdpbridge.cli.output import Output

__all__ = ["add_to"]


class _Schemas(Group):
    """The documents that have a schema."""

    noun = "document"


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    schemas = typer.Typer(cls=_Schemas, rich_markup_mode=None, add_completion=False)
    schemas.command("certificate", cls=Command, help="A certificate.")(_certificate)
    schemas.command("mechanism", cls=Command, help="A mechanism, for --spec.")(_mechanism)
    app.add_typer(
        schemas, name=name, help=summary, short_help=summary, subcommand_metavar="DOCUMENT"
    )


def _certificate() -> Output:
    from gdpbridge.certificate.schema import certificate_schema
    from gdpbridge.specification.schema import DIALECT

    return _printed({"$schema": DIALECT, **certificate_schema()})


def _mechanism() -> Output:
    from gdpbridge.specification.schema import mechanism_schema

    return _printed(mechanism_schema())


def _printed(schema: object) -> Output:
    # escapes keep it the same on every terminal
    return Output(json.dumps(schema, indent=2) + "\n")
