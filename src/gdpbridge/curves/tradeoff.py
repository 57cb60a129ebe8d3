"""The trade-off function f(α) that a profile stands for: the attacker's least type II error.

With t = e^ε and the mirror image δ(1/t) = 1 - (1 - δ(t))/t, f(α) is the supremum over t > 0 of
g(t) = 1 - δ(t) - tα, which is concave in t because δ is convex in it (Dong, Roth and Su 2022,
proposition 2.12). Every t gives a lower bound of f; four points about the largest one, through
which a concave function can be extended, give an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gdpbridge.curves.base import Curve, Form
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import float_ceiling, float_floor

__all__ = ["errors_at", "errors_range", "least_errors", "proved_errors", "touching"]

# e^-ε leaves the range of a double beyond it
_FARTHEST = 700.0
_SECTIONS = 33
_NARROWINGS = 11
# for curves whose values take a while: places each way from ε = 0, and at most so many parabolas
_GRID, _PARABOLAS = 97, 30
# log of a δ below which places are looked at roughly, and a number that stands for 0
_ROUGHLY, _LEAST = math.log(1e-6), 1e-300
# near points follow a bend closely, far ones are less disturbed by a gap between the bounds of δ
_APART = tuple(10.0**-power for power in np.arange(0.5, 7.5, 0.5))
# at a corner of δ nothing is as good as the nearest ones; composed losses have no corners
_AT_CORNERS = tuple(10.0**-power for power in range(8, 12))
# a few roundings of products and sums, relative to the largest term
_ROUNDING = 4e-15


def least_errors(curve: Curve, alpha: Floats) -> Floats:
    """Return f(α) in float64, one-dimensional; where δ is only bounded, a lower bound of f."""
    return np.maximum(_values(curve.beside_one, touching(curve, alpha), alpha), 0.0)


def proved_errors(curve: Curve, alpha: Floats) -> tuple[Floats, Floats]:
    """Return bounds of f(α), one-dimensional, rounded outward."""
    best = touching(curve, alpha)
    curve = curve.beside_one
    low, _ = _bounds(curve, best, alpha)
    most = np.where(alpha == 0, 1.0, np.nextafter(1 - alpha, 1.0))
    most = np.where(alpha == 1, 0.0, most)
    high = most.copy()
    inside = (alpha > 0) & (alpha < 1)
    for apart in _APART if curve.form is Form.COMPOSED else (*_APART, *_AT_CORNERS):
        found = _ceilings(curve, best[inside], alpha[inside], apart)
        high[inside] = np.minimum(high[inside], found)
    low = np.clip(low, 0.0, most)
    # a mere upper bound of a profile need not be convex, and may then imply more than is seen here
    return low, np.maximum(high, low)


def errors_at(curve: Curve, alpha: Sequence[Fraction]) -> tuple[Floats, Floats]:
    """Return bounds of f(α) at some α, which falls: α is rounded to either side."""
    sides = [[max(float_floor(one), 0.0), min(float_ceiling(one), 1.0)] for one in alpha]
    ends = np.array(sides, dtype=np.float64).reshape(len(alpha), 2).T
    points = np.unique(ends)
    low, high = proved_errors(curve, points)
    places = np.searchsorted(points, ends)
    return low[places[1]], high[places[0]]


def errors_range(curve: Curve, alpha: Floats) -> tuple[Floats, Floats]:
    """Return what f lies between, as a picture shows it: equal where δ is known exactly."""
    if curve.form is Form.BETWEEN:
        return proved_errors(curve, alpha)
    value = least_errors(curve, alpha)
    return value, value


def touching(curve: Curve, alpha: Floats) -> Floats:
    """Return the signed ε at which g is largest, as floats find it."""
    alpha = np.maximum(alpha, curve.least_alpha)
    if curve.form is Form.COMPOSED and alpha.size:
        return _along(curve, alpha)
    with np.errstate(divide="ignore"):
        # beyond the first, e^ε·α > 1; beyond the second, δ(ε) ≤ α could not make up for it
        reach = np.minimum(-np.log(alpha), np.log1p(np.exp(_capped(curve.least_epsilon(alpha)))))
    # beyond it e^-ε is too small for what half of 1 - α leaves
    back = _capped(curve.least_epsilon((1 - alpha) / 2)) + np.log(2.0)
    # either side on its own: a mere upper bound of a profile may have a dent where they meet
    sides = [
        _largest(curve, first, last, alpha)
        for first, last in ((-_capped(back), np.zeros(alpha.shape)), (0 * back, _capped(reach)))
    ]
    better = _values(curve, sides[1], alpha) > _values(curve, sides[0], alpha)
    return np.where(better, sides[1], sides[0])


def _largest(curve: Curve, first: Floats, last: Floats, alpha: Floats) -> Floats:
    """Return the signed ε in a range at which g is largest, if it rises and then falls there."""
    shares = np.linspace(0.0, 1.0, _SECTIONS)
    rows = np.arange(alpha.size)
    for _ in range(_NARROWINGS):
        eps = first[:, None] + (last - first)[:, None] * shares
        index = np.argmax(_values(curve, eps, alpha[:, None]), axis=1)
        best = eps[rows, index]
        first = eps[rows, np.maximum(index - 1, 0)]
        last = eps[rows, np.minimum(index + 1, _SECTIONS - 1)]
    return best


def _along(curve: Curve, alpha: Floats) -> Floats:
    """Return where g is largest for a smooth convex δ of which every value takes a while.

    One grid serves all α; from its three best points parabolas lead to the place.
    """
    shares = np.linspace(0.0, 1.0, _GRID) ** 2
    far, back = _capped(curve.least_epsilon(np.array([alpha.min(), (1 - alpha.max()) / 2])))
    eps = np.concatenate([-(back + np.log(2.0)) * shares[:0:-1], np.logaddexp(0.0, far) * shares])
    # to some digits, which may be off by one place
    rough = curve.roughly(min(math.log(float(alpha.min()) or _LEAST), _ROUGHLY))
    values = _g(np.exp(rough.logs(np.abs(eps))[1])[:, None], eps[:, None], alpha)
    middle = np.clip(np.argmax(values, axis=0), 1, eps.size - 2)
    curve, rests = curve.beside_one, np.full(eps.shape, np.nan)
    for _ in range(eps.size):
        near = middle + np.array([[-1], [0], [1]])
        unknown = np.unique(near[np.isnan(rests[near])])
        rests[unknown] = np.exp(curve.logs(np.abs(eps[unknown]))[1])
        at, found = eps[near], _g(rests[near], eps[near], alpha)
        moved = np.clip(middle + np.argmax(found, axis=0) - 1, 1, eps.size - 2)
        if (moved == middle).all():
            break
        middle = moved
    open_ = np.arange(alpha.size)
    for _ in range(_PARABOLAS):
        place, gain = _vertex(at[:, open_], found[:, open_])
        open_, place = open_[gain > _ROUNDING], place[gain > _ROUNDING]
        if not open_.size:
            break
        value = _values(curve, place, alpha[open_])
        # of four points in order the best and those beside it
        four = np.vstack([at[:, open_], place])
        order = np.argsort(four, axis=0)
        four = np.take_along_axis(four, order, axis=0)
        tall = np.take_along_axis(np.vstack([found[:, open_], value]), order, axis=0)
        near = np.clip(np.argmax(tall, axis=0), 1, 2) + np.array([[-1], [0], [1]])
        at[:, open_] = np.take_along_axis(four, near, axis=0)
        found[:, open_] = np.take_along_axis(tall, near, axis=0)
    return np.take_along_axis(at, np.argmax(found, axis=0)[None], axis=0)[0]


def _vertex(at: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return where the parabola through three points is highest, and how far above them all.

    Where that is at the middle one or beyond the outer ones, the wider gap is halved.
    """
    (a, b, c), (low, top, end) = at, value
    with np.errstate(divide="ignore", invalid="ignore"):
        rise, fall = (top - low) / (b - a), (end - top) / (c - b)
        bend = (rise - fall) / (c - a)
        # the slope at b, over twice the bend
        step = (rise * (c - b) + fall * (b - a)) / (c - a) / (2 * bend)
        gain = bend * step**2
    place = b + np.nan_to_num(step)
    halved = np.where(b - a > c - b, (a + b) / 2, (b + c) / 2)
    fits = (place > a) & (place < c) & (np.abs(place - b) > 1e-3 * np.minimum(b - a, c - b))
    # the outer points tell how high a curve can be that rises and then falls
    most = np.maximum(rise * (c - b), -fall * (b - a))
    gain = np.where(fits, gain, np.minimum(most, gain))
    return np.where(fits, place, halved), gain


def _capped(eps: Floats) -> Floats:
    return np.minimum(eps, _FARTHEST)


def _values(curve: Curve, eps: Floats, alpha: Floats) -> Floats:
    """Return g at signed ε in float64."""
    rest = np.exp(curve.logs(np.abs(eps))[1])
    return _g(rest, eps, alpha)


def _g(rest: Floats, eps: Floats, alpha: Floats) -> Floats:
    """Return g from 1 - δ(|ε|)."""
    size = np.exp(-np.abs(eps))
    return np.where(eps >= 0, rest - np.exp(np.maximum(eps, 0.0)) * alpha, size * (rest - alpha))


def _bounds(curve: Curve, eps: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Return proved bounds of g at signed ε."""
    delta_low, delta_high = curve.delta_bounds(np.abs(eps))
    # an error of rounding is at most so large beside the terms of g
    slack = _ROUNDING * np.exp(np.minimum(eps, 0.0)) * (1 + np.exp(np.maximum(eps, 0.0)) * alpha)
    return (
        _g(1 - delta_high, eps, alpha) - slack,
        _g(1 - delta_low, eps, alpha) + slack,
    )


def _ceilings(curve: Curve, eps: Floats, alpha: Floats, apart: float) -> Floats:
    """Bound the supremum of g from four points about where it is; 1 - α where that fails."""
    places = eps[:, None] + apart * np.array([-2.0, -1.0, 1.0, 2.0])
    flat, alphas = places.ravel(), np.repeat(alpha, 4)
    low, high = (side.reshape(places.shape) for side in _bounds(curve, flat, alphas))
    t = np.exp(places)
    # slopes that no chord exceeds on the left, and that none falls short of on the right
    left = (high[:, 1] - low[:, 0]) / (t[:, 1] - t[:, 0])
    right = (low[:, 3] - high[:, 2]) / (t[:, 3] - t[:, 2])
    across = (low[:, 2] - high[:, 1]) / (t[:, 2] - t[:, 1])
    back = (high[:, 2] - low[:, 1]) / (t[:, 2] - t[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = t[:, 2] - t[:, 1]
        # the lines from the left and from the right meet there
        share = (high[:, 2] - high[:, 1] - right * gap) / ((left - right) * gap)
        meeting = high[:, 1] + left * gap * np.clip(np.nan_to_num(share), 0.0, 1.0)
    inner = np.maximum(meeting, np.maximum(high[:, 1], high[:, 2]))
    outer = np.maximum(
        high[:, 1] + np.maximum(-across, 0.0) * (t[:, 1] - t[:, 0]),
        high[:, 2] + np.maximum(back, 0.0) * (t[:, 3] - t[:, 2]),
    )
    falls = (low[:, 1] >= high[:, 0]) & (low[:, 2] >= high[:, 3])
    found = np.maximum(inner, outer) * (1 + _ROUNDING)
    return np.where(falls, found, 1 - alpha)
