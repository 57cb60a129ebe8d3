"""Mechanisms from files, and the schemas of files: ``--spec FILE`` and ``gdpbridge schema``."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gdpbridge.cli.commands import Command, Group
from gdpbridge.cli.output import Output
from gdpbridge.mechanisms.base import Profile
from gdpbridge.specification.load import (
    MAX_BYTES,
    parse_release,
    parse_specification,
    read_specification,
)
from gdpbridge.specification.release import Release
from gdpbridge.specification.schema import DIALECT, mechanism_schema

__all__ = ["FROM_FILE", "add_schema_command", "declared_file", "names_file", "read_file"]

# stands for the kind of a mechanism; no kind has this name
FROM_FILE = "file"
_OPTION = "--spec"


def names_file(words: Sequence[str]) -> bool:
    """Whether words name a file that describes the mechanism."""
    return any(word.partition("=")[0] == _OPTION for word in words)


def declared_file() -> inspect.Parameter:
    """Declare the option that names the file, as Typer wants it."""
    option = typer.Option(
        _OPTION, metavar="FILE", help="a TOML or JSON file with a mechanism; - for standard input"
    )
    return inspect.Parameter(
        "spec", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[str, option]
    )


def read_file(path: str) -> tuple[Profile, Release | None]:
    """Return the mechanism of a file, or of standard input, and what is said there of a release.

    Raises:
        InputError: if it describes none.
    """
    standard = path == "-"
    content = sys.stdin.buffer.read(MAX_BYTES + 1) if standard else read_specification(path)
    return parse_specification(content), parse_release(content)


class _Schemas(Group):
    """The documents that have a schema."""

    noun = "document"


def add_schema_command(app: typer.Typer) -> None:
    """Add the command that prints JSON Schemas."""
    summary = "Print the JSON Schema of a file that this program reads or writes."
    schemas = typer.Typer(cls=_Schemas, rich_markup_mode=None, add_completion=False)
    schemas.command("certificate", cls=Command, help="A certificate.")(_certificate)
    schemas.command("mechanism", cls=Command, help="A mechanism, for --spec.")(_mechanism)
    app.add_typer(
        schemas, name="schema", help=summary, short_help=summary, subcommand_metavar="DOCUMENT"
    )


def _certificate() -> Output:
    # the models are slow to load
    from gdpbridge.certificate.model import Certificate

    return _printed({"$schema": DIALECT, **Certificate.model_json_schema()})


def _mechanism() -> Output:
    return _printed(mechanism_schema())


def _printed(schema: object) -> Output:
    # escapes keep it the same on every terminal
    return Output(json.dumps(schema, indent=2) + "\n")
