"""An interruption (Ctrl-C) while a command runs, whatever library it comes upon."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Interruption", "watched"]


class Interruption:
    """Whether one came.

    Attributes:
        came: whether it did; libraries that are interrupted may raise errors of their own.
    """

    def __init__(self) -> None:
        self.came = False
        self._enough = False

    def enough(self) -> None:
        """Let those that follow pass, while the first is told."""
        self._enough = True
        # one that passes through exec ends the process by its signal, whatever status it exits
        # with, unless there is another exec
        exec("")

    def __call__(self, _number: int, _frame: object) -> None:
        """Take the signal."""
        if not self._enough:
            self.came = True
            raise KeyboardInterrupt


@contextmanager
def watched() -> Iterator[Interruption]:
    """Note an interruption of what runs inside; signals are as before after it."""
    found = Interruption()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (
        None,
        signal.SIG_IGN,
    ):
        yield found
        return
    signal.signal(signal.SIGINT, found)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)
