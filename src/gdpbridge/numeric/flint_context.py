"""The one place where flint's precision is set: it is global, so it is always put back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flint import ctx

__all__ = ["precision", "series_length", "working_precision"]

# flint's context is shared by all threads; two of them at different precisions would race
_lock = threading.RLock()


@contextmanager
def precision(bits: int, series_length: int = 3) -> Iterator[None]:
    """Do ball arithmetic with ``bits`` of precision and power series of ``series_length`` terms."""
    with _lock:
        before = ctx.prec, ctx.cap
        ctx.prec, ctx.cap = bits, series_length
        try:
            yield
        finally:
            ctx.prec, ctx.cap = before


def working_precision() -> int:
    """Return the precision in force, in bits."""
    return int(ctx.prec)


def series_length() -> int:
    """Return how many terms power series have."""
    return int(ctx.cap)
