"""Bad input in the words of the command line: the option as typed, its value, what is allowed."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gdpbridge.errors import InputError, Masked, Words

__all__ = ["CommandLineError", "Written", "as_written", "shown", "warnings_in_a_line"]

_LONGEST = 80


class CommandLineError(Exception):
    """Bad input, told in one sentence.

    Attributes:
        field: the option or word that is wrong, as the user typed it.
        value: its value as typed, or None if there is none.
    """

    def __init__(self, field: str, value: str | None, message: str) -> None:
        self.field = field
        self.value = value
        super().__init__(message)


@dataclass(frozen=True)
class Written:
    """An option as it stands on the command line.

    Attributes:
        option: the spelling used, where an option has several.
        value: the text given, or None for a flag or an option that was left out.
    """

    option: str
    value: str | None = None


def as_written(error: InputError, options: Mapping[str, Written]) -> CommandLineError:
    """Tell an error of the library in the words of the command line.

    Args:
        error: an error whose field names one argument or several ("sensitivity/scale").
        options: what was written for each option, under each of its spellings.
    """
    found: list[Written] = []

    def option(name: re.Match[str]) -> str:
        written = options.get(f"--{name[0].replace('_', '-')}")
        # between two names "and" is no option
        if written is None or error.field != name[0] == "and":
            # among other arguments, the word that help calls FILE
            return "FILE" if error.field != name[0] == "file" else name[0]
        found.append(written)
        return written.option

    field = re.sub(r"\w+", option, error.field)
    named = list(found)
    # other arguments that the sentence names; a word without "_" may be any word
    others = r"\b[a-z]+(_[a-z]+)+\b( and [a-z_]+)?"
    told = re.sub(others, lambda one: re.sub(r"\w+", option, one[0]), error.allowed)
    error.allowed, found = type(error.allowed)(told), named
    # what must not be shown was typed all the same
    safe = not isinstance(error.value, Masked)
    typed = found[0].value if len(found) == 1 and safe else None
    value = str(error.value) if typed is None else typed
    plain = isinstance(error.value, Words) and typed is None
    return CommandLineError(field, value, error.told(field, value if plain else shown(value)))


def shown(text: str) -> str:
    """A typed word inside a sentence: quoted if it needs it, on one line, not endless."""
    quoted = shlex.quote(text) if text.isprintable() else repr(text)
    return quoted if len(quoted) <= _LONGEST else f"{quoted[: _LONGEST - 3]}..."


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Write warnings as a sentence each, without the place in the source that they come from."""

    def line(message: Warning | str, *_: object, **__: object) -> str:
        return f"warning: {message}\n"

    before, warnings.formatwarning = warnings.formatwarning, line
    try:
        yield
    finally:
        warnings.formatwarning = before
