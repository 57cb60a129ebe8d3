"""Mechanisms from files: ``--spec FILE``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gdpbridge.mechanisms.base import Profile
from gdpbridge.specification.load import (
    MAX_BYTES,
    parse_release,
    parse_specification,
    read_specification,
)
from gdpbridge.specification.release import Release

__all__ = ["FROM_FILE", "declared_file", "names_file", "read_file"]

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
