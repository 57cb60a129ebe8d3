"""What a command answers with, and how text reaches a stream whatever its encoding."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import IntEnum
from typing import TextIO

__all__ = ["Output", "Status", "has_colour", "is_unicode", "text_width", "write"]

_WIDEST = 100


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
            Status.NO: "the answer is no (identify: not GDP; audit: the claim is contradicted; "
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
        stream.reconfigure(errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # the interpreter flushes once more when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


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
