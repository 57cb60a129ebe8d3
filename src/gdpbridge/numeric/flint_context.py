"""The one place where flint's precision is set: it is global, so it is always put back."""

from __future__ import annotations

import threading

from flint import ctx

__all__ = ["Precision", "precision", "series_length", "working_precision"]

# flint's context is shared by all threads; two of them at different precisions would race
_lock = threading.RLock()


class Precision:
    """A context manager; one made of a generator takes five times as long, for each short sum.

    Args:
        bits: the precision of ball arithmetic.
        series_length: how many terms power series have.
    """

    __slots__ = ("_asked", "_before")

    def __init__(self, bits: int, series_length: int) -> None:
        self._asked = bits, series_length
        self._before: tuple[int, int] = self._asked

    def __enter__(self) -> None:
        _lock.acquire()
        self._before = ctx.prec, ctx.cap
        try:
            ctx.prec, ctx.cap = self._asked
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        ctx.prec, ctx.cap = self._before
        _lock.release()


def precision(bits: int, series_length: int = 3) -> Precision:
    """Do ball arithmetic with ``bits`` of precision and power series of ``series_length`` terms."""
    return Precision(bits, series_length)


def working_precision() -> int:
    """Return the precision in force, in bits."""
    return int(ctx.prec)


def series_length() -> int:
    """Return how many terms power series have."""
    return int(ctx.cap)
