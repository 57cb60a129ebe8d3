"""The only place that asks which of two balls is the larger one.

A comparison of balls is true where it is certain, and false both where the opposite is certain and
where nothing is. So it is asked in one of two ways, and never bare:

- ``certainly(x > y)`` in a proof, where "not proved" is an answer;
- ``is_above(x, y)`` where yes and no lead to different results: what the precision does not decide
  raises :class:`MorePrecisionError`, and :func:`with_enough_precision` tries again with more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flint import arb

from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.flint_context import precision, working_precision

__all__ = [
    "MAX_CONSTANT_PRECISION",
    "MAX_PRECISION",
    "AccurateConstant",
    "MorePrecisionError",
    "certainly",
    "is_above",
    "is_below",
    "with_enough_precision",
]

Result = TypeVar("Result")

# some 2,400 digits may cancel; curves are evaluated often, and twice the bits take thrice the time
MAX_PRECISION = 1 << 13
# what is evaluated once: 157,000 digits may cancel, at the cost of about a second
MAX_CONSTANT_PRECISION = 1 << 19
# bits below the precision asked for that a constant may lack
_SPARE = 8


class MorePrecisionError(UndecidedError):
    """The working precision does not decide."""


def certainly(claim: object) -> bool:
    """Whether a comparison of balls is proved; False says that it is not, and nothing else."""
    return bool(claim)


def is_above(x: arb, y: arb | int = 0) -> bool:
    """Decide whether x > y.

    Raises:
        MorePrecisionError: if the balls overlap, or one is not a number.
    """
    if x > y:
        return True
    if x <= y:
        return False
    raise MorePrecisionError("two numbers are too close to be told apart")


def is_below(x: arb, y: arb | int = 0) -> bool:
    """Decide whether x < y; raises as :func:`is_above` does."""
    if x < y:
        return True
    if x >= y:
        return False
    raise MorePrecisionError("two numbers are too close to be told apart")


def with_enough_precision(
    bits: int,
    attempt: Callable[[], Result],
    undecided: str = "",
    most: int = MAX_PRECISION,
) -> Result:
    """Return what ``attempt`` finds, at ``bits`` of precision or as many as it needs.

    Args:
        bits: the precision to begin with; it is doubled as long as that is not enough.
        attempt: what to do; it raises :class:`MorePrecisionError` where it cannot decide.
        undecided: the error's words.
        most: the precision cap.

    Raises:
        UndecidedError: if the precision cap is reached.
    """
    while bits <= most:
        with precision(bits):
            try:
                return attempt()
            except MorePrecisionError:
                bits *= 2
    raise UndecidedError(undecided or f"undecided with {most} bits of precision")


class AccurateConstant:
    """A constant that keeps nearly all bits of the working precision, however much cancels in it.

    Args:
        enclosure: encloses it at the working precision.
        is_log: whether it is a logarithm, of which as many bits behind the point are enough.
    """

    def __init__(self, enclosure: Callable[[], arb], *, is_log: bool = False) -> None:
        self._enclosure, self._is_log = enclosure, is_log
        self._best: arb = arb.nan()
        self._bits = 0

    def __call__(self) -> arb:
        """Enclose it.

        What cancels altogether is enclosed to the absolute precision of the cap.
        """
        wanted = working_precision()
        while not self._is_accurate(wanted):
            bits = max(wanted, 2 * self._bits)
            if bits > max(wanted, MAX_CONSTANT_PRECISION):
                break
            with precision(bits):
                self._best = self._enclosure()
            self._bits = bits
        # rounded to the working precision
        return +self._best

    def _is_accurate(self, wanted: int) -> bool:
        if self._best.is_exact() or self._best.rel_accuracy_bits() >= wanted - _SPARE:
            return True
        return self._is_log and certainly(self._best.rad() < arb(2) ** (_SPARE - wanted))
