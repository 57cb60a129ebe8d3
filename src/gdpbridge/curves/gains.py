"""δ(ε) of a pair of densities in one order, as a formula."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, arb_series

from gdpbridge.curves.pieces import Formula
from gdpbridge.losses.densities import Pair
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import (
    BALLS,
    FLOATS,
    Operations,
    Probability,
    ball,
    to_fraction,
)

__all__ = ["gain_of"]

_BITS = 192
# values of δ: the next cell begins where one ends
_KEPT = 256


def gain_of(pair: Pair, last: arb | None) -> Formula:
    """Return ∫(p - e^ε·q)⁺ dx, where ``last`` is above all losses, if they are bounded."""

    @lru_cache(maxsize=_KEPT)
    def at(eps: Fraction, _: int) -> tuple[arb, arb, arb]:
        total, q, density = pair.delta(ball(eps))
        rest = pair.infinite.lower().union(ball(pair.rest[0]))
        if last is not None:
            # no loss is above the last one: ∫(1 - e^{ε - L})⁺ dP
            rest *= -(ball(eps) - last.upper()).min(arb(0)).expm1()
        return total.max(arb(0)) + rest, q, density

    def value(eps: arb) -> tuple[arb, arb, arb]:
        return at(to_fraction(eps), working_precision())

    def enclosed(eps: arb) -> arb:
        low, high = (value(arb(end))[0] for end in (eps.upper(), eps.lower().max(arb(0)).lower()))
        return low.union(high)

    def delta(eps: Any, ops: Operations) -> Probability:
        if ops is FLOATS:
            return _on_floats(value, eps)
        if ops is BALLS:
            found = value(eps)[0] if eps.is_exact() else enclosed(eps)
            return Probability(found.log, (1 - found).log)
        if not eps[0].is_exact():
            # on a range the chord is looked at
            nothing = arb_series([arb.nan()] * eps.prec, eps.prec)
            return Probability(lambda: nothing, lambda: nothing)
        total, q, density = value(eps[0])
        t, step = eps[0].exp(), eps - eps[0]
        first, second = -t * q, t * (density - q) / 2
        series = total + first * step + second * step * step
        return Probability(series.log, (1 - series).log)

    return delta


def _on_floats(value: Any, eps: Any) -> Probability:
    shape, logs, rests = np.shape(eps), [], []
    with precision(_BITS):
        for at in np.ravel(eps).tolist():
            found = value(arb(at))[0]
            middle = arb(found.mid())
            logs.append(float(middle.log()) if certainly(middle > 0) else -np.inf)
            rests.append(float((1 - middle).log()))
    return Probability(
        lambda: np.array(logs).reshape(shape), lambda: np.array(rests).reshape(shape)
    )
