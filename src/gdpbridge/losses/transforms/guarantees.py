"""The worst loss of (ε, δ) guarantees: that of the pair with all of the profile they imply.

The profile is linear in t = e^ε between corners, and its own mirror image; the line over t = 1 goes
through (-1, 1). With b_i the fall of δ in t on the line that ends at corner i, Q has the mass
b_i - b_{i+1} at the loss ε_i, and P has t_i times as much; the same the other way round at -ε_i.

Source: Zhu, Dong and Wang (2022), propositions 8 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from gdpbridge.losses.transforms.base import Number, number_ball
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["worst_of"]

# with so many bits two lines are told apart, or taken to be one
_BITS = 512
_SPARE_BITS = 128
# multiples of the unit beyond which losses are on no lattice that is of use
_FARTHEST = 10**7


def worst_of(eps: Sequence[Fraction], deltas: Sequence[Number]) -> FiniteTransform:
    """Return the worst loss of guarantees.

    Args:
        eps: every ε ≥ 0, growing.
        deltas: the δ of each, below 1, falling, and convex in e^ε as nearly as floats can tell.
    """
    corners = _bent([(one, delta) for one, delta in zip(eps, deltas, strict=True)])
    found: list[tuple[Fraction, Number]] = []
    for number, (place, _) in enumerate(corners):
        if place:
            found.append((-place, _mass(corners, number, lambda _: 1)))
            found.append((place, _mass(corners, number, arb.exp)))
        else:
            found.append((place, _mass(corners, number, lambda _: 2)))
    found.sort(key=lambda one: one[0])
    last = corners[-1][1]
    return FiniteTransform(
        [loss for loss, _ in found],
        [mass for _, mass in found],
        failure=last,
        reverse_failure=last,
        symmetric=True,
        spacing=_spacing([place for place, _ in corners]),
    )


_Corner = tuple[Fraction, Number]


def _bent(rows: Sequence[_Corner]) -> list[_Corner]:
    """Return the rows at which the profile certainly bends; the others lie above, or hardly below.

    What is left out makes the profile larger, which is the safe side.
    """
    kept: list[_Corner] = []
    falls: list[arb] = []
    with precision(_BITS):
        for row in rows:
            while True:
                fall = _fall(kept[-1] if kept else None, row)
                if not falls or certainly(fall < falls[-1]):
                    break
                kept.pop()
                falls.pop()
            kept.append(row)
            falls.append(fall)
    return kept


def _fall(left: _Corner | None, right: _Corner) -> arb:
    """Return by how much δ falls, beside t, from one row to the next; the first is (-1, 1)."""
    t, delta = (arb(-1), arb(1)) if left is None else (ball(left[0]).exp(), number_ball(left[1]))
    return (delta - number_ball(right[1])) / (ball(right[0]).exp() - t)


def _mass(
    corners: Sequence[_Corner], number: int, factor: Callable[[arb], arb | int]
) -> Callable[[], arb]:
    """Return what encloses a factor of ε times what the profile bends by at a corner."""

    def mass() -> arb:
        with precision(working_precision() + _BITS + _SPARE_BITS):
            bend = _fall(corners[number - 1] if number else None, corners[number])
            if number + 1 < len(corners):
                bend -= _fall(corners[number], corners[number + 1])
            return bend * factor(ball(corners[number][0]))

    return mass


def _spacing(places: Sequence[Fraction]) -> Fraction | None:
    """Return a number that all are multiples of, if it is not too small."""
    most = math.lcm(*(place.denominator for place in places))
    found = Fraction(math.gcd(*(int(place * most) for place in places)), most) or Fraction(1)
    return found if places[-1] <= _FARTHEST * found else None
