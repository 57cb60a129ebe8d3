"""A tail that the user declares, where none can be proved."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge.curves.tails import AssumedTail
from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import exact

__all__ = ["TAILS", "assumed_tail"]

TAILS = "'gaussian:MU' with a number MU > 0, or 'slow'"
# a declared tail takes over where a head ends by default
_FROM = Fraction(100)
_MAX_MU = 1000


def assumed_tail(declared: str | None) -> AssumedTail | None:
    """Read a declaration: "gaussian:MU" for δ ≤ δ_MU beyond ε = 100, "slow" for not GDP.

    Raises:
        InputError: for other words.
    """
    if declared is None:
        return None
    if declared == "slow":
        return AssumedTail(None, _FROM, declared)
    word, _, number = declared.partition(":")
    try:
        mu = exact(number)
    except ValueError:
        mu = Fraction(0)
    if word != "gaussian" or not 0 < mu <= _MAX_MU:
        raise InputError("tail", declared, TAILS)
    return AssumedTail(mu, _FROM, declared)
