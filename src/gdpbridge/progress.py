"""Progress of a long run: a moving line on standard error, in a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

__all__ = ["Bar", "Progress", "silent", "with_bar"]

# called with a sentence and the share done so far, in [0, 1]
Progress = Callable[[str, float], None]

P = ParamSpec("P")
R = TypeVar("R")

_QUIET_SECONDS = 1.0
_REDRAW_SECONDS = 0.1
_BAR_WIDTH = 20
_CLEAR = "\r\x1b[2K"
# of those in this process, the one that is drawn
_DRAWING = threading.Lock()


def silent(_: str, __: float) -> None:
    """Report nothing."""


def _in_notebook() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class Bar:
    """Called with a sentence and a share; draws them once a run takes over a second.

    It is drawn here, not by rich, whose display does not survive an interruption while it starts.
    """

    def __init__(self) -> None:
        self._next = time.monotonic() + _QUIET_SECONDS
        notebook = _in_notebook()
        self.moving = notebook or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
        # a notebook knows no codes of terminals
        self._clear = f"\r{' ' * (self.width() - 1)}\r" if notebook else _CLEAR
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._drawn:
            self.write(self._clear)

    def __call__(self, sentence: str, share: float) -> None:
        """Report a share in [0, 1] of the work as done."""
        if not (self.moving and self.due(_REDRAW_SECONDS)):
            return
        self._drawn = True
        done = round(_BAR_WIDTH * share)
        bar = "━" * done + "─" * (_BAR_WIDTH - done)
        line = f"{bar} {share:4.0%} {sentence}"
        self.write(f"{self._clear}{line[: self.width() - 1]}")

    def due(self, pause: float) -> bool:
        """Return whether it is time to show something, and then not again for a pause (seconds)."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + pause
        return True

    def width(self) -> int:
        """Return how many letters a line takes."""
        return min(shutil.get_terminal_size().columns, 100)

    def write(self, text: str) -> None:
        """Write to standard error; that it cannot be written is no fault of the work."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def with_bar(function: Callable[P, R]) -> Callable[P, R]:
    """Draw a bar for a function whose ``progress`` is None, where people look on.

    That is in a terminal or a notebook, in the first process, and not inside another such bar.
    """

    @wraps(function)
    def shown(*args: P.args, **kwargs: P.kwargs) -> R:
        words: dict[str, Any] = kwargs
        if words.get("progress") is not None:
            return function(*args, **kwargs)
        # loaded in every worker
        processes = sys.modules.get("multiprocessing.process")
        first = processes is None or processes.parent_process() is None
        if not first or not _DRAWING.acquire(blocking=False):
            words["progress"] = silent
            return function(*args, **kwargs)
        try:
            with Bar() as words["progress"]:
                return function(*args, **kwargs)
        finally:
            _DRAWING.release()

    return shown
