"""Progress of a long run on standard error, without getting in the way."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gdpbridge.cli.output import write

if TYPE_CHECKING:
    import rich.progress

__all__ = ["Progress"]

_QUIET_SECONDS = 1.0
_LINE_SECONDS = 5.0


class Progress:
    """Called with a sentence and a share; shows them once a run takes over a second.

    A terminal gets one moving line, which is gone at the end; anything else gets a plain line
    every few seconds.
    """

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._next = time.monotonic() + _QUIET_SECONDS
        self._bar: rich.progress.Progress | None = None
        self._moving = not silent and _can_move()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, sentence: str, share: float) -> None:
        """Report a share in [0, 1] of the work as done."""
        if self._silent or time.monotonic() < self._next:
            return
        if self._moving:
            self._move(sentence, share)
        else:
            self._next = time.monotonic() + _LINE_SECONDS
            write(sys.stderr, f"{sentence}: {share:.0%}\n")

    def _move(self, sentence: str, share: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TaskProgressColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.add_task(sentence, total=1.0)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=sentence, completed=share)


def _can_move() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
