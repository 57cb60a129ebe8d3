"""Progress of a command on standard error, without getting in the way."""

from __future__ import annotations

import sys

from gdpbridge.cli.output import text_width, write
from gdpbridge.progress import Bar

__all__ = ["Progress"]

_LINE_SECONDS = 5.0


class Progress(Bar):
    """A bar in a terminal; anything else gets a plain line every few seconds."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__()
        self._silent = silent

    def __call__(self, sentence: str, share: float) -> None:
        """Report a share in [0, 1] of the work as done."""
        if self._silent:
            return
        if self.moving:
            super().__call__(sentence, share)
        elif self.due(_LINE_SECONDS):
            self.write(f"{sentence}: {share:.0%}\n")

    def width(self) -> int:
        """Return how many letters a line takes."""
        return text_width()

    def write(self, text: str) -> None:
        """Write to standard error, or nowhere if its reader has gone."""
        write(sys.stderr, text)
