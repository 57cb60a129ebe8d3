"""Progress of a long run on standard error, without getting in the way."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Self

from gdpbridge.cli.output import text_width, write

__all__ = ["Progress"]

_QUIET_SECONDS = 1.0
_LINE_SECONDS = 5.0
_REDRAW_SECONDS = 0.1
_BAR_WIDTH = 20
_CLEAR = "\r\x1b[2K"


class Progress:
    """Called with a sentence and a share; shows them once a run takes over a second.

    A terminal gets one moving line, which is gone at the end; anything else gets a plain line
    every few seconds. It is drawn here, not by rich, whose display does not survive an
    interruption while it starts.
    """

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._next = time.monotonic() + _QUIET_SECONDS
        self._moving = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._drawn:
            write(sys.stderr, _CLEAR)

    def __call__(self, sentence: str, share: float) -> None:
        """Report a share in [0, 1] of the work as done."""
        now = time.monotonic()
        if self._silent or now < self._next:
            return
        if self._moving:
            self._next = now + _REDRAW_SECONDS
            self._drawn = True
            done = round(_BAR_WIDTH * share)
            bar = "━" * done + "─" * (_BAR_WIDTH - done)
            line = f"{bar} {share:4.0%} {sentence}"
            write(sys.stderr, f"{_CLEAR}{line[: text_width() - 1]}")
        else:
            self._next = now + _LINE_SECONDS
            write(sys.stderr, f"{sentence}: {share:.0%}\n")
