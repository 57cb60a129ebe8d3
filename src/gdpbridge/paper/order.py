"""Theorem 2.1, checked: what (ε₀, δ₀)-DP implies at another ε, and that a mechanism reaches it.

An event has probabilities x and y under two neighbours. All that (ε₀, δ₀)-DP says of them are four
inequalities, for the event and its complement, either way round, and x - e^ε·y is linear: it is
largest at a corner of that polygon. With rational e^ε₀, δ₀ and e^ε the corners are rational too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from gdpbridge.convert import delta_at
from gdpbridge.curves.constants import interval_around
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import exact
from gdpbridge.numeric.kinds import ball
from gdpbridge.paper.finding import Fact, Found
from gdpbridge.specification.load import load_profile

__all__ = [
    "four_outcomes",
    "implied_is_enough",
    "implied_is_reached",
    "profile_of_pair",
    "worst_event",
]

_BASES = (Fraction(1), Fraction(5, 4), Fraction(3), Fraction(150))
_FAILURES = (Fraction(0), Fraction(1, 10**6), Fraction(1, 10), Fraction(9, 10))
# from ε = 0 to beyond every ε₀
_PLACES = (Fraction(1), Fraction(6, 5), Fraction(2), Fraction(40), Fraction(1000))
_REACHED = ((0.2, 0.0), (1.0, 0.1), (3.0, 0.001))


def worst_event(base: Fraction, failure: Fraction, place: Fraction) -> Fraction:
    """Return the largest x - e^ε·y of any event of any (ε₀, δ₀)-DP mechanism, exactly.

    Args:
        base: e^ε₀ ≥ 1.
        failure: δ₀ in [0, 1).
        place: e^ε ≥ 1.
    """
    return max(x - place * y for x, y in _corners(base, failure))


def _corners(base: Fraction, failure: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Go through the corners of the polygon of the pairs (x, y)."""
    zero, one = Fraction(0), Fraction(1)
    complement = base - 1 + failure
    # a·x + b·y ≤ c: an event and its complement, either way round, and probabilities
    sides = [
        (one, -base, failure),
        (-base, one, failure),
        (base, -one, complement),
        (-one, base, complement),
        (one, zero, one),
        (zero, one, one),
        (-one, zero, zero),
        (zero, -one, zero),
    ]
    for (a, b, c), (d, e, f) in itertools.combinations(sides, 2):
        determinant = a * e - b * d
        if determinant == 0:
            continue
        x, y = (c * e - b * f) / determinant, (a * f - c * d) / determinant
        if all(p * x + q * y <= r for p, q, r in sides):
            yield x, y


def _theorem(base: Fraction, failure: Fraction, place: Fraction) -> Fraction:
    return failure + (1 - failure) * max(base - place, Fraction(0)) / (1 + base)


def implied_is_enough() -> Found:
    """Whether no event of an (ε₀, δ₀)-DP mechanism goes beyond the theorem's δ at ε."""
    triples = list(itertools.product(_BASES, _FAILURES, _PLACES))
    excess = [worst_event(*triple) - _theorem(*triple) for triple in triples]
    facts = (
        Fact("triples (e^ε₀, δ₀, e^ε), in exact arithmetic", len(triples)),
        Fact(
            "largest x - e^ε·y of an event, less the theorem's δ",
            interval_around(max(excess)),
        ),
    )
    return Found(max(excess) <= 0, facts)


def four_outcomes(base: Any, failure: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the laws, for two neighbours, of the mechanism that shows the order to be exact.

    It fails with probability δ₀ and tells which neighbour it is; else it answers right with
    probability e^ε₀/(1 + e^ε₀).

    Args:
        base: e^ε₀, a number of any kind.
        failure: δ₀, of the same kind.
    """
    right, other = (1 - failure) * base / (1 + base), (1 - failure) / (1 + base)
    nothing = 0 * failure
    return (failure, nothing, right, other), (nothing, failure, other, right)


def profile_of_pair(epsilon: float, delta: float) -> Profile:
    """Return what one pair implies for every ε, by the library."""
    return load_profile({"kind": "approx-dp", "epsilon": epsilon, "delta": delta})


def implied_is_reached() -> Found:
    """Whether the mechanism of the proof is (ε₀, δ₀)-DP and has the theorem's δ at each ε.

    Its δ is the sum of (p - e^ε·q)⁺ over its outcomes, the same either way round.
    """
    allowed = all(
        _of_outcomes(base, failure, base) == failure
        for base, failure in itertools.product(_BASES, _FAILURES)
    )
    triples = list(itertools.product(_BASES, _FAILURES, _PLACES))
    equal = sum(_of_outcomes(*triple) == _theorem(*triple) for triple in triples)
    facts = [
        Fact("its δ at ε₀ is δ₀, in exact arithmetic", allowed),
        Fact("triples (e^ε₀, δ₀, e^ε), likewise", len(triples)),
        Fact("triples at which its δ is the theorem's", equal),
    ]
    reached = allowed and equal == len(triples)
    for eps0, delta0 in _REACHED:
        profile = profile_of_pair(eps0, delta0)
        for eps in (0.0, eps0 / 2):
            ours = interval_around(partial(_enclosed, eps0, delta0, eps))
            implied = delta_at(profile, eps)
            reached &= ours.low <= implied.high and implied.low <= ours.high
            reached &= max(ours.width, implied.width) < 1e-15
            at = f"ε₀ = {eps0:g}, δ₀ = {delta0:g}, ε = {eps:g}"
            facts += [Fact(f"{at}: its δ", ours), Fact(f"{at}: δ of the profile", implied)]
    return Found(reached, tuple(facts))


def _of_outcomes(base: Fraction, failure: Fraction, place: Fraction) -> Fraction:
    pairs = zip(*four_outcomes(base, failure), strict=True)
    return sum((max(p - place * q, Fraction(0)) for p, q in pairs), Fraction(0))


def _enclosed(eps0: float, delta0: float, eps: float) -> arb:
    base, place = ball(exact(eps0)).exp(), ball(exact(eps)).exp()
    pairs = zip(*four_outcomes(base, ball(exact(delta0))), strict=True)
    return sum(((p - place * q).max(arb(0)) for p, q in pairs), arb(0))
