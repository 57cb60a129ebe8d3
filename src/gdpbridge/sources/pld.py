"""Privacy loss distributions of dp_accounting.

Only public methods are used. A PrivacyLossDistribution answers with δ(ε), the larger one of both
directions, which is linear in e^ε between the multiples of its discretisation interval: from its
values there, the masses of an equal loss distribution follow. That is the one of a pair that is as
bad in either direction, so that several runs are composed as what they are at most.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.mechanisms.base import Neighbours
from gdpbridge.mechanisms.pld import PLD
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import exact

__all__ = ["profile_of_pld"]

_INTERVALS = tuple(lead * 10.0**power for power in range(-1, -8, -1) for lead in (5, 2, 1))
_LINEAR = 1e-6
_MOST = 5_000_000


def profile_of_pld(
    source: Any,
    interval: float | None = None,
    *,
    bound: bool = False,
    neighbours: Neighbours | None = None,
) -> PLD:
    """Return the profile of a PrivacyLossDistribution.

    Its numbers are taken as they are: if they are too small, as at the far end of a composed one,
    so are ours.

    Args:
        source: the distribution.
        interval: its discretisation interval; found by trying round numbers if None.
        bound: whether it is only an upper bound of the mechanism's.
        neighbours: which data sets it is stated for, if that is known.

    Raises:
        InputError: if the interval is not found, or not the one given.
    """
    failure = float(source.get_delta_for_epsilon(math.inf))
    if interval is None:
        interval = next((one for one in _INTERVALS if _is_linear(source, one)), None)
        if interval is None:
            raise InputError.missing(
                "interval", "give the discretisation interval, which is not found"
            )
    elif not interval > 0 or not _is_linear(source, interval):
        raise InputError("interval", interval, "the discretisation interval of the distribution")
    eps, delta = _values(source, interval, failure)
    # the slopes between lattice points are minus P(L > ε) under the other distribution
    slopes = (delta[:-1] - delta[1:]) / (np.exp(eps[:-1]) * math.expm1(interval))
    other = np.maximum(slopes - np.append(slopes[1:], 0.0), 0.0)
    masses = other * np.exp(eps[1:])
    # the larger δ of both directions is that of a pair as bad in either: each loss has its negative
    rest = max(1.0 - math.fsum([*masses, *other, failure]), 0.0)
    losses = [*(-eps[:0:-1]).tolist(), 0.0, *eps[1:].tolist(), math.inf]
    pairs = list(zip(losses, [*other[::-1], rest, *masses, failure], strict=True))
    return PLD(remove=pairs, bound=bound, neighbours=neighbours)


def _is_linear(source: Any, interval: float) -> bool:
    """Whether δ is linear in e^ε between the first multiples of an interval, and bends at them."""
    points = np.arange(0, 9) * interval / 2
    delta = np.asarray(source.get_delta_for_epsilon(points), dtype=np.float64)
    t = np.exp(points)
    for left in range(0, 7, 2):
        share = (t[left + 1] - t[left]) / (t[left + 2] - t[left])
        line = delta[left] + share * (delta[left + 2] - delta[left])
        if abs(line - delta[left + 1]) > _LINEAR * max(abs(delta[left] - delta[left + 2]), 1e-300):
            return False
    return True


def _values(source: Any, interval: float, failure: float) -> tuple[Floats, Floats]:
    """Return δ at multiples of the interval up to where it is δ_∞."""
    count = 1024
    while True:
        # the floats nearest to multiples of the interval as it is written
        step = exact(interval)
        eps = np.array([float(k * step) for k in range(count + 1)])
        delta = np.asarray(source.get_delta_for_epsilon(eps), dtype=np.float64)
        done = np.flatnonzero(delta <= failure * (1 + 1e-12))
        if done.size:
            last = int(done[0])
            found = np.asarray(np.append(delta[:last], failure), dtype=np.float64)
            return eps[: last + 1], found
        count *= 4
        if count > _MOST:
            raise InputError(
                "source",
                Words("of very large losses"),
                Advice(f"its losses are spread over more than {_MOST:,} lattice points"),
            )
