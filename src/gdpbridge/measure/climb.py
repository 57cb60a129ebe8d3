"""Where G is largest about an ε on a line: a search, in float64 where that is near enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_series

from gdpbridge.curves.pieces import Formula
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.gaussian.erfcx import erfcx_at
from gdpbridge.measure.pieces import Piece, needed_mu
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.kinds import SERIES, Probability, ball

__all__ = ["Top", "climbed"]

_STEPS = 40
_LOG_HALF = -math.log(2.0)
# how close a top floats can find, and how small a G they can tell
_CLOSE_FLOATS, _LEAST_FLOATS = 1e-7, 1e-4
# Newton's steps towards G in floats, and when they are near enough
_NEWTON_STEPS, _NEAR = 12, 1e-13
_SQRT_HALF, _SQRT_HALF_PI = math.sqrt(0.5), math.sqrt(math.pi / 2)
_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class Top:
    """A place where G is largest.

    Attributes:
        eps: the place.
        mu: about G there, where floats tell it.
    """

    eps: Fraction
    mu: float | None = None


@dataclass(frozen=True)
class _Rise:
    """The first derivatives of G at an ε, up to a positive factor, and about G there."""

    slope: float
    bend: float
    mu: float | arb | None

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.slope) and math.isfinite(self.bend)


_UNKNOWN = _Rise(math.nan, math.nan, None)


def climbed(piece: Piece, formula: Formula, start: Fraction, near: float, failure: Fraction) -> Top:
    """Return where G is largest about an ε on a piece, by Newton's method in a bracket.

    Args:
        piece: the range; it has a line.
        formula: δ past p on it.
        start: the ε.
        near: how close is close enough; an end of the piece that is as close is returned itself.
        failure: p.
    """
    if near > _CLOSE_FLOATS:
        p = float(failure)

        def quick(at: Fraction, mu: float | arb | None) -> _Rise | None:
            return _rise_in_floats(piece, p, float(at), mu if isinstance(mu, float) else None)

        found = _climbed(piece, quick, start, near)
        if found is not None:
            return found

    def rise(at: Fraction, mu: float | arb | None) -> _Rise:
        known = mu if isinstance(mu, arb) else None
        return _rise(ball(at), formula(arb_series([ball(at), 1], 3), SERIES), known)

    return _climbed(piece, rise, start, near) or Top(start)


def _climbed(
    piece: Piece,
    rise: Callable[[Fraction, float | arb | None], _Rise | None],
    start: Fraction,
    near: float,
) -> Top | None:
    """Return the same by the derivatives that are given; None where those cannot tell."""
    low, high = piece.start, piece.stop
    grid = 2 ** math.ceil(1 - math.log2(near))
    known, point = Top(start), start
    mu: float | arb | None = None
    for _ in range(_STEPS):
        here = rise(point, mu)
        if here is None:
            return None
        slope, bend, mu = here.slope, here.bend, here.mu
        if here.is_known:
            known = Top(point, mu if isinstance(mu, float) else None)
        elif point > known.eps:
            # δ has fallen to p, and G to 0
            slope, bend = -1.0, 0.0
        else:
            break
        low, high = (point, high) if slope > 0 else (low, point)
        if high - low <= near:
            break
        after = point - Fraction(slope / bend) if bend < 0 else high
        if not low < after < high:
            after = (low + high) / 2
        after = Fraction(round(after * grid), grid)
        if abs(after - point) < near or not low < after < high:
            break
        point = after
    for end in piece.start, piece.stop:
        if abs(known.eps - end) <= 2 * near:
            return Top(end, known.mu)
    return known


def _rise(eps: arb, value: Probability, near: arb | None) -> _Rise:
    """Return the derivatives at an ε, in balls; ``near`` is G at an ε near it, if it is known."""
    logs, rests = value.log(), value.log_complement()
    try:
        mu = gaussian.about_mu(eps, Probability(lambda: logs[0], lambda: rests[0]), near)
    except UndecidedError:
        return _UNKNOWN
    if certainly(logs[0] > _LOG_HALF):
        off = rests - gaussian.log_delta_complement_series(eps, eps, mu)
    else:
        off = gaussian.log_delta_series(eps, eps, mu) - logs
    return _Rise(-float(off[1].mid()), -2 * float(off[2].mid()), mu)


def _rise_in_floats(piece: Piece, p: float, eps: float, known: float | None) -> _Rise | None:
    """Return the same in floats, None where they do not tell; ``known`` is G near ε, or None."""
    assert piece.line is not None
    found = piece.direction.slopes_at(piece.line, eps)
    if found is None:
        return None
    log, first, second = found
    rest = piece.complement
    value, scale = math.exp(log), -math.log1p(-p)
    if not rest and p:
        if not value > p:
            return _UNKNOWN
        # of δ - p
        share = value / (value - p)
        log, first, second = math.log(value - p), *_scaled(share, first, second)
    log += scale
    value = math.exp(log)
    if not value < 1:
        return None
    if log > _LOG_HALF:
        # the other one of δ and 1 - δ is the smaller
        first, second = _scaled(-value / (1 - value), first, second)
        log, rest = math.log1p(-value), not rest
    mu = _mu_in_floats(eps, log, known, rest=rest)
    if mu is None:
        return None
    _, near, far = _mills(eps, mu, rest=rest)
    total = near + far
    # that of log δ_μ is -h, h' = h + h² - 1/(μ·total); of log(1 - δ_μ) it is g, g' likewise
    hazard, unit = abs(far) / total, 1 / (mu * total)
    if rest:
        return _Rise(hazard - first, hazard - hazard**2 - unit - second, mu)
    return _Rise(first + hazard, second + hazard + hazard**2 - unit, mu)


def _scaled(share: float, first: float, second: float) -> tuple[float, float]:
    """Return the derivatives of log(f - a) from those of log f; ``share`` is f/(f - a)."""
    return share * first, share * (second + first**2) - (share * first) ** 2


def _mills(eps: float, mu: float, *, rest: bool) -> tuple[float, float, float]:
    """Return x, and the two terms of δ_μ/φ(x), or of (1 - δ_μ)/φ(x)."""
    x = eps / mu - mu / 2
    z = -x if rest else x
    near, far = (erfcx_at(one * _SQRT_HALF) * _SQRT_HALF_PI for one in (abs(z), x + mu))
    if z < 0:
        near = 2 * _SQRT_HALF_PI * math.exp(z * z / 2) - near
    return x, near, far if rest else -far


def _mu_in_floats(eps: float, log: float, near: float | None, *, rest: bool) -> float | None:
    """Return G of a log of δ, or of 1 - δ, from a number near it; None where floats do not tell."""
    if near is None:
        smaller = np.array([log])
        larger = np.log1p(-np.exp(smaller))
        pair = (larger, smaller) if rest else (smaller, larger)
        near = float(needed_mu(np.array([eps]), pair[0], pair[1], 0.0)[0])
    mu = near
    for _ in range(_NEWTON_STEPS):
        if not _LEAST_FLOATS < mu < 1 / _LEAST_FLOATS:
            return None
        x, *terms = _mills(eps, mu, rest=rest)
        total = sum(terms)
        if not total > 0:
            return None
        step = (math.log(total) - x * x / 2 - _HALF_LOG_TWO_PI - log) * total
        mu += step if rest else -step
        if abs(step) <= _NEAR * mu:
            return mu
    return None
