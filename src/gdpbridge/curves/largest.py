"""The largest of several profiles at each ε, where each of several data sets may be the worst."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from flint import arb, arb_series

from gdpbridge.curves.pieces import Formula
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import BALLS, FLOATS, SERIES, Operations, Probability

__all__ = ["largest_of"]


def largest_of(formulas: Sequence[Formula]) -> Formula:
    """Return the largest one at each ε, of at least two.

    On power series it is the one that is proved to be the largest on all of the range; where none
    is, as next to a crossing, nothing is known.
    """

    def delta(eps: Any, ops: Operations) -> Probability:
        if ops is FLOATS:
            found = [one(eps, ops) for one in formulas]
            return Probability(
                lambda: reduce(np.fmax, [one.log() for one in found]),
                lambda: reduce(np.fmin, [one.log_complement() for one in found]),
            )
        if ops is SERIES:
            best = _largest_on(formulas, eps)
            nothing = arb_series([arb.nan()] * eps.prec, eps.prec)
            return Probability(lambda: nothing, lambda: nothing) if best is None else best(eps, ops)
        balls = _undominated([one(eps, ops) for one in formulas])
        return Probability(
            lambda: reduce(arb.max, [one.log() for one in balls]),
            lambda: reduce(arb.min, [one.log_complement() for one in balls]),
        )

    return delta


def _undominated(values: Sequence[Probability]) -> list[Probability]:
    """Leave out what is proved to be below another one: its logarithm may not be known near 0."""
    rests = [one.log_complement() for one in values]
    best = int(np.argmin(np.nan_to_num([float(rest) for rest in rests], nan=np.inf)))
    return [
        one
        for number, (one, rest) in enumerate(zip(values, rests, strict=True))
        if number == best or not certainly(rests[best] <= rest)
    ]


def _largest_on(formulas: Sequence[Formula], eps: arb_series) -> Formula | None:
    """Return the one that is largest on a range: everywhere above where another one begins.

    Or else by its lead at the centre and the slopes.
    """
    centre, half = eps[0].mid(), eps[0].rad()
    logs = [one(centre, BALLS).log() for one in formulas]
    best = int(np.nanargmax([float(one) for one in logs]))
    if eps[0].is_exact():
        return formulas[best]
    low, high = eps[0].lower(), eps[0].upper()
    least = formulas[best](high, BALLS).log_complement()
    others = [
        one
        for number, one in enumerate(formulas)
        # no δ rises with ε
        if number != best and not certainly(least <= one(low, BALLS).log_complement())
    ]
    if not others:
        return formulas[best]
    slopes = [one(arb_series([eps[0], 1], 2), SERIES).log()[1] for one in formulas]
    for number, (log, slope) in enumerate(zip(logs, slopes, strict=True)):
        lead, change = logs[best] - log, abs(slopes[best] - slope) * half
        if number != best and not certainly(lead >= change):
            return None
    return formulas[best]
