"""The loss of a pair that is as bad as either direction of another one, at every ε.

Neighbours that differ in the values of one record may be taken in either order, and each of several
runs may be worst in another one: the larger δ of both compositions is then no bound (Lebeda,
Regehr, Kamath and Steinke 2024). The symmetric pair whose δ is the larger one of both directions of
one run dominates each run, and so do runs of it (Zhu, Dong and Wang 2022, theorem 10).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.chained import masses_of_lines
from gdpbridge.curves.constants import Constant
from gdpbridge.curves.loss_distribution import loss_curve
from gdpbridge.losses.lattices import atoms_of, exactly
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.base import number_ball
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["as_bad_either_way"]

_BITS = 256


def as_bad_either_way(part: Part) -> Part:
    """Return as many runs of a symmetric pair that dominates a run in each direction.

    Args:
        part: runs of finitely many losses, which are rational numbers.

    Raises:
        UndecidedError: if δ could not be told apart at two losses.
    """
    if part.symmetric:
        return part
    one = replace(part, times=1)
    factors = [one.factor(backward=backward) for backward in (False, True)]
    laws = [law for factor in factors if (law := exactly([factor])) is not None]
    assert len(laws) == len(factors)
    curve = loss_curve(laws)
    # between any two of these losses both are lines in e^ε, and the chord is above the larger one
    knots: set[Fraction] = set()
    for factor in factors:
        for loss in atoms_of(factor).losses:
            assert isinstance(loss, Fraction)
            knots.add(loss)
    ordered = sorted(knots)
    ordered = ordered[bisect_right(ordered, Fraction(0)) :]
    if curve.end is None:
        ordered = _falling(curve, ordered)
    losses, masses, failure = masses_of_lines(curve, ordered, bends=True)
    kept = [
        (loss, mass)
        for loss, mass in zip(losses, (_held(mass) for mass in masses), strict=True)
        if mass is not None
    ]
    spacings = {number for factor in factors if (number := atoms_of(factor).unit) is not None}
    dominating = FiniteTransform(
        [loss for loss, _ in kept],
        [mass for _, mass in kept],
        failure=failure,
        reverse_failure=failure,
        symmetric=True,
        spacing=spacings.pop() if len(spacings) == 1 else None,
    )
    return Part(dominating, part.times)


def _falling(curve: Curve, knots: Sequence[Fraction]) -> list[Fraction]:
    """Return the knots at which δ is known to have fallen since the last of them.

    The chord over those between is above δ too. Where δ has come down to what fails, the other
    direction tells no more: all beyond counts as a failure.
    """
    found: list[Fraction] = []
    with precision(_BITS):
        level = curve.tail.level
        least = arb(0) if level is None else number_ball(level.value)
        last = curve.enclose(arb(0)).log().exp()
        for knot in knots:
            value = curve.enclose(ball(knot)).log().exp()
            if certainly(value < last):
                found.append(knot)
                last = value
            if not certainly(value > least):
                break
    return found


def _held(mass: Constant) -> Constant | None:
    """Return a mass, or, of what may be 0, the most that it may be."""
    with precision(_BITS):
        value = number_ball(mass)
        if certainly(value > 0):
            return mass
        most = value.upper()
    if not certainly(most > 0):
        return None

    def held() -> arb:
        return most

    found: Callable[[], arb] = held
    return found
