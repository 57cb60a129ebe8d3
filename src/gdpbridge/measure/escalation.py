"""Raise the precision until a proof succeeds, up to a stated cap."""

from __future__ import annotations

from collections.abc import Callable

from gdpbridge.errors import UndecidedError
from gdpbridge.measure.problem import Answer
from gdpbridge.numeric.flint_context import precision

__all__ = ["MorePrecisionError", "with_enough_precision"]

MAX_PRECISION = 8192


class MorePrecisionError(Exception):
    """The working precision does not decide."""


def with_enough_precision(bits: int, attempt: Callable[[], Answer]) -> Answer:
    """Return what ``attempt`` finds, at ``bits`` of precision or as many as it needs.

    Raises:
        UndecidedError: if the precision cap is reached.
    """
    while bits <= MAX_PRECISION:
        with precision(bits):
            try:
                return attempt()
            except MorePrecisionError:
                bits *= 2
    raise UndecidedError(
        f"undecided with {MAX_PRECISION} bits of precision: ask for a larger --tol"
    )
