"""What a command answers with, and how text reaches a stream whatever its encoding."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from typing import TextIO

__all__ = ["Output", "Status", "has_colour", "is_unicode", "spelt_for", "text_width", "write"]

_WIDEST = 100
_SPELT = "gdpbridge.spelt"
# what a stream that knows only ASCII is given for the signs in our texts
_SIGNS = {
    "√": "sqrt",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "∞": "inf",
    "−": "-",
    "–": "-",
    "·": "*",
    "×": "x",
    "…": "...",
    "→": "->",
    "∈": "in",
    "²": "^2",
    "₀": "_0",
    "⁺": "^+",
    "⁻": "^-",
    "━": "=",
    "─": "-",
}


def _spelt(error: UnicodeError) -> tuple[str, int]:
    """Spell out what an encoding lacks: "mu" for μ; any other character is escaped."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_spelling, text)), error.end


def _spelling(sign: str) -> str:
    words = unicodedata.name(sign, "").split()
    if words[:1] == ["GREEK"] and len(words) == 4:
        return words[3].capitalize() if words[1] == "CAPITAL" else words[3].lower()
    return _SIGNS.get(sign, sign.encode("ascii", "backslashreplace").decode("ascii"))


codecs.register_error(_SPELT, _spelt)


class Status(IntEnum):
    """The exit statuses."""

    ANSWERED = 0
    FAULT = 1
    BAD_INPUT = 2
    NO = 3
    UNDECIDED = 4
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """What the status says, for the help text."""
        return {
            Status.ANSWERED: "answered",
            Status.FAULT: "a fault in the program, or a disk or database that cannot be used",
            Status.BAD_INPUT: "bad input: one sentence on standard error says what is allowed",
            Status.NO: "the answer is no (identify: not GDP; audit, check: a claim is false; "
            "verify, ledger: refused)",
            Status.UNDECIDED: "undecided within the stated limits (identify: unknown)",
            Status.INTERRUPTED: "interrupted",
        }[self]


@dataclass(frozen=True)
class Output:
    """The answer of a command: what goes to standard output, and the exit status."""

    text: str
    status: Status = Status.ANSWERED


def write(stream: TextIO, text: str) -> None:
    """Write a text and flush; a reader that has gone away is no fault of ours.

    Raises:
        OSError: if the text cannot be written, as on a full disk.
    """
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=_SPELT)
    try:
        stream.write(spelt_for(stream, text))
        stream.flush()
    except OSError as error:
        # the interpreter flushes once more when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def spelt_for(stream: TextIO, text: str) -> str:
    """Return a text as a stream can hold it, columns still in line where there is room."""
    if is_unicode(stream) or text.isascii():
        return text
    return "\n".join(map(_spelt_line, text.split("\n")))


def _spelt_line(line: str) -> str:
    parts, longer = re.split("( {2,})", line), 0
    for at, part in enumerate(parts):
        if part.startswith("  "):
            parts[at] = " " * max(2, len(part) - longer)
        else:
            parts[at] = "".join(sign if sign.isascii() else _spelling(sign) for sign in part)
        longer += len(parts[at]) - len(part)
    return "".join(parts)


def is_unicode(stream: TextIO) -> bool:
    """Whether a stream can hold every character."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def has_colour(stream: TextIO) -> bool:
    """Whether a stream shows colour: a terminal, and nobody asked for none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def text_width() -> int:
    """The terminal's width, or as much of it as is easily read."""
    return min(shutil.get_terminal_size().columns, _WIDEST)
