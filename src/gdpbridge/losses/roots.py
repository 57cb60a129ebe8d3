"""The least ε at which δ falls to a number: found by Newton's steps, then proved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, arb_series

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.line import Kind
from gdpbridge.numeric.decide import certainly, is_above
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

if TYPE_CHECKING:
    from gdpbridge.losses.direction import Direction

__all__ = ["TILTS", "coarse_epsilon", "least_epsilon"]

_NEWTON_STEPS = 60
# a line of so few nodes is made to all digits at once
_FEW_NODES = 128
# at first a root is found to this share of itself
_CLOSE = 50
# of a first guess
_GUESS_BITS = 24
# tilts of Chernoff's bound in a first look
TILTS = 2.0 ** np.arange(-8, 23, 0.5)
# an ε below which none is told from 0
_LEAST = Fraction(1, 10**30)
# times the usual losses
_BEYOND_USUAL = 4
# of the upper end: a lower end below tells that no line was close enough
_FAR_APART = Fraction(1, 2)
# doublings of the distance from the root found to the ε that are proved
_PADS = 60


def least_epsilon(direction: Direction, delta: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return ε with δ(ε) > δ, or 0, and ε with δ(ε) ≤ δ, as close as the digits; None for none.

    Raises:
        UndecidedError: if no line is close enough there.
        WorkLimitError: if one would need too many nodes.
    """
    with precision(direction.bits):
        target, failure = ball(delta), direction.moments.failure()
        if is_above(failure, target):
            return None
        share = target - failure
        aim = float(share.log().mid()) if certainly(share > 0) else -math.inf
        with _aimed(direction, aim):
            at, top = _begun(direction, target, share, aim)
            found = _about(direction, at, top, target)
            if found[0] < found[1] * _FAR_APART:
                # where it began, no line tells δ from the number: from the usual losses one may
                usual = _guessed(direction, aim)[0] or top / 4
                with suppress(UndecidedError, WorkLimitError):
                    near = _nearly(direction, usual, top, target)
                    low, high = _about(direction, near, top, target)
                    found = max(found[0], low), min(found[1], high)
            return found


def _about(
    direction: Direction, at: Fraction, top: Fraction, target: arb
) -> tuple[Fraction, Fraction]:
    """Return proved ends of the ε that is found from one near it, or 0 twice if that is it."""
    if at > 0:
        at = _root(direction, at, top, target, Fraction(1, 10**direction.digits))
    return (at, at) if at == 0 else _proved(direction, at, target)


def _begun(direction: Direction, target: arb, share: arb, aim: float) -> tuple[Fraction, Fraction]:
    """Return about where δ falls to a number, and an ε above; 0 first if δ(0) is at most that."""
    at, top = _guessed(direction, aim)
    if direction.start is not None:
        return direction.start, max(top, 2 * direction.start)
    if direction.is_at_most_by_chernoff(Fraction(0), target):
        return Fraction(0), top
    if at == 0 and direction.is_at_most(at, target):
        return at, top
    near = _served(direction, top, share)
    if near is not None:
        return near, top
    told = _told(direction, top, share)
    starts = [at or top / 4, *([] if told is None else [told])]
    if told is not None and direction.splits and told > _BEYOND_USUAL * at:
        # what is far beyond the usual losses is not found from there
        starts.reverse()
    for start in starts[:-1]:
        # where no line serves, one may at another ε
        with suppress(UndecidedError, WorkLimitError):
            return _nearly(direction, start, top, target), top
    return _nearly(direction, starts[-1], top, target), top


def _nearly(direction: Direction, at: Fraction, top: Fraction, target: arb) -> Fraction:
    return _root(direction.coarse, at, top, target, Fraction(1, _CLOSE))


def coarse_epsilon(direction: Direction, delta: Fraction, at: Fraction, top: Fraction) -> Fraction:
    """Return about where δ falls to a number, between 0 and ``top``, from an ε near it.

    Raises:
        UndecidedError: if no line is close enough there.
        WorkLimitError: if one would need too many nodes.
    """
    with precision(direction.bits), _aimed(direction, math.log(delta)):
        return _nearly(direction, at, top, ball(delta))


@contextmanager
def _aimed(direction: Direction, aim: float) -> Iterator[None]:
    """Make lines as close to δ as it is where the search ends."""
    both = direction, direction.coarse
    for one in both:
        one.aim = aim if math.isfinite(aim) else None
    try:
        yield
    finally:
        for one in both:
            one.aim = None


def _told(direction: Direction, top: Fraction, share: arb) -> Fraction | None:
    """Return about where D falls to a number, if the table of tilts tells."""
    if not certainly(share > 0) or not direction.moments.domain[1] > 0:
        return None
    guess = direction.moments.tilts.eps_of(float(share.log().mid()))
    if guess is None or not 0 < guess < float(top):
        return None
    return short_of(Fraction(guess), _GUESS_BITS)


def _served(direction: Direction, top: Fraction, share: arb) -> Fraction | None:
    """Return about where D falls to a number, if a line of all digits with few nodes says so."""
    at = _told(direction, top, share)
    if at is None:
        return None
    try:
        line = direction.stretch(at, None, _FEW_NODES).line
    except (UndecidedError, WorkLimitError):
        return None
    found = direction.bounds(line, ball(at))[1] - direction.moments.failure()
    return at if certainly(abs((found / share).log()) < 1) else None


def _root(
    direction: Direction, at: Fraction, top: Fraction, target: arb, unit: Fraction
) -> Fraction:
    """Return about where δ falls to a number, by Newton's steps between 0 and ``top``.

    It is 0 if δ(0) is proved to be at most that.
    """
    low, high = Fraction(0), top
    is_zero_open = True
    with precision(direction.bits):
        for _ in range(_NEWTON_STEPS):
            step, too_large = _newton(direction, at, target)
            if too_large:
                high = min(high, at)
            else:
                low = max(low, at)
            after = low if step is None else at - step
            if step is not None and after <= 0 and is_zero_open:
                is_zero_open = False
                if direction.is_at_most(Fraction(0), target):
                    return Fraction(0)
            if not low < after < high:
                # nearer to the lower end, where the ends are far apart: there δ is cheaper
                after = 4 * low if 0 < 16 * low < high else low + (high - low) / 4
            close = step is not None and abs(after - at) <= unit * after
            at = short_of(after, direction.bits)
            if close:
                break
    return at


def _newton(direction: Direction, eps: Fraction, target: arb) -> tuple[Fraction | None, bool]:
    """Return by how much an ε is too large, roughly, and whether it is.

    None for how much where δ is too far below the number for a line to tell how it falls.
    """
    series = arb_series([ball(eps), 1], 2)
    if direction.end is not None and eps >= direction.end:
        return eps, True
    line = direction.stretch(eps).line
    least, value = direction.bounds(line, series)
    slope, off = value[1].mid(), (value[0] - target).mid()
    if line.kind is Kind.REST:
        return _signed(off / slope)
    failure = direction.moments.failure()
    excess = (value[0] - failure).mid()
    if certainly(value[0] < target) and not certainly(2 * (least[0] - failure) > excess):
        return None, True
    # log D is nearly straight
    step = ((excess / (target - failure)).log() * excess / slope).mid()
    return _signed(step if step.is_finite() else off / slope)


def _signed(step: arb) -> tuple[Fraction, bool]:
    exact = to_fraction(step.mid())
    return exact, exact >= 0


def _proved(direction: Direction, at: Fraction, target: arb) -> tuple[Fraction, Fraction]:
    low: Fraction | None = None
    high: Fraction | None = None
    pad = max(at, _LEAST) / 10**direction.digits / 4
    for _ in range(_PADS):
        if high is None and certainly(direction.delta(at + pad)[1] <= target):
            high = at + pad
        if low is None:
            below = max(at - pad, Fraction(0))
            above = below == 0 or certainly(direction.delta(below)[0] > target)
            low = below if above else None
        if low is not None and high is not None:
            return low, high
        pad *= 2
    raise UndecidedError(f"the ε of δ = {float(target):g} could not be enclosed")


def _guessed(direction: Direction, log_delta: float) -> tuple[Fraction, Fraction]:
    """Return an ε ≥ 0 at which log D is about a number, and one above it by Chernoff's bound."""
    moments = direction.moments
    tilts = TILTS[: direction.chernoff_logs.size]
    high = float(((direction.chernoff_logs - log_delta) / tilts).min(initial=math.inf))
    if direction.end is not None:
        high = min(high, float(direction.end))
    # the usual losses alone: a tilt downward leaves out rare large ones
    mean, deviation = moments.shape(-0.5)
    mean += deviation * deviation / 2

    def bulk(z: float) -> float:
        below = math.erfc(z / math.sqrt(2)) / 2
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return math.log(max(deviation * (density - z * below), 1e-300))

    z = min((k / 8 for k in range(-64, 97)), key=lambda z: abs(bulk(z) - log_delta))
    return Fraction(min(max(mean + z * deviation, 0.0), high)), Fraction(high)


def short_of(value: Fraction, bits: int) -> Fraction:
    """Return a positive fraction rounded to so many bits."""
    shift = bits - (value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(round(value * Fraction(2) ** shift)) / Fraction(2) ** shift
