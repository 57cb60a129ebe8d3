"""Clip and rectify: the output clipped to [y⁻, y⁺], then Laplace noise of scale (y⁺ - y⁻)/ε_h.

The result obeys the profile δ_A of what was clipped and, whatever that was, the profile
1 - e^{(ε - ε_h)/2} of the Laplace noise (Liu, Sun, Jiang and Kong 2022, section 5). Its own profile
is convex in t = e^ε, so that every straight line in t through two points of these two bounds
bounds it too between them: it lies below the lower convex envelope of their minimum.

The envelope follows one of the two, crosses over on a common tangent, and ends at ε_h. The knots
are the touching points rounded to multiples of 2^-72: the line through them stays a bound, and is
above the tangent by about 2^-144 only. How the knots are found is therefore of no concern to
the proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from flint import arb, arb_series
from pydantic import Field, model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import MAX_EPS, Constant
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.mechanisms.base import (
    Base,
    Profile,
    Real,
    parameter,
    with_relation_of_base,
)
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.registry import register_transformation
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_text
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import (
    BALLS,
    FLOATS,
    SERIES,
    Operations,
    Probability,
    ball,
    to_fraction,
)

__all__ = ["ClipRectify", "Run"]

MAX_LINES = 1000
# what fits into a line of a certificate
MAX_RUNS = 12

_BITS = 384
_KNOT_BITS = 72
_GRID = 512
_HALVINGS = 220
_RETREATS = 40
_LOG_HALF = -math.log(2.0)


@dataclass(frozen=True)
class Run:
    """A range of ε on which the profile is one of its bounds, or the line between its ends.

    Attributes:
        bound: "base", "noise" or "line".
        start: where it begins; it ends where the next run begins, the last one where δ is 0.
    """

    bound: Literal["base", "noise", "line"]
    start: Fraction


@register_transformation
class ClipRectify(Profile):
    """A mechanism whose output is clipped to bounds and then given Laplace noise."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["clip-rectify"] = "clip-rectify"
    base: Base = Field(
        description="the mechanism whose output is clipped",
        json_schema_extra={"allowed": "a profile"},
    )
    eps_h: Real = parameter(
        "width of the bounds over the scale of the noise",
        symbol="ε_h",
        allowed=f"a number > 0 and at most {MAX_EPS:g}",
        typical=(1.0, 20.0),
        gt=0,
        le=MAX_EPS,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take the neighbouring relation from the base: noise alone has none."""
        return with_relation_of_base(given)

    def model_post_init(self, _: Any) -> None:
        """Refuse another relation than the base's."""
        if self.base.neighbours not in (None, self.neighbours):
            raise InputError(
                "neighbours", self.neighbours, f"{self.base.neighbours}, as for what is clipped"
            )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Which bound holds where, in order of ε."""
        return _Envelope(self._base, self._noise).runs()

    @property
    def _base(self) -> SmoothCurve:
        return self.base.curve.piecewise(self.exact("eps_h"), MAX_LINES)

    @property
    def beyond_certificates(self) -> str:
        """They hold a plain mechanism that is clipped once, and a few runs."""
        if isinstance(self.base, ClipRectify):
            return "there is no certificate for a mechanism that is clipped twice"
        if len(self.runs) > MAX_RUNS:
            return f"there is no certificate for a clipped mechanism with more than {MAX_RUNS} runs"
        return ""

    def specification(self) -> dict[str, str | None]:
        """Return the parameters, the runs, and the base's specification, as flat text."""
        base = self.base.specification()
        knots = (f"0x{int(run.start * 2**_KNOT_BITS):x}p-{_KNOT_BITS}" for run in self.runs)
        return {
            "kind": self.kind,
            "neighbours": self.neighbours,
            "eps_h": decimal_text(self.exact("eps_h")),
            "runs": " ".join(run.bound for run in self.runs),
            "knots": " ".join(knots),
            **{f"base.{name}": text for name, text in base.items() if name != "neighbours"},
        }

    @property
    def _noise(self) -> SmoothCurve:
        return Laplace(scale=1, sensitivity=self.eps_h).build_curve()

    def build_curve(self) -> SmoothCurve:
        """Return the runs as pieces."""
        base, noise = self._base, self._noise
        bounds = {"base": base, "noise": noise}
        pieces: list[Piece] = []
        runs = self.runs
        for number, run in enumerate(runs):
            following = runs[number + 1] if number + 1 < len(runs) else None
            stop = None if following is None else following.start
            if run.bound == "line":
                left = _Knot(run.start, bounds[runs[number - 1].bound])
                # a last line goes to where the noise's bound ends
                right = _Knot(
                    self.exact("eps_h") if stop is None else stop,
                    noise if following is None else bounds[following.bound],
                )
                # it is below both bounds
                beneath = _beneath(base, run.start, stop)
                pieces.append(Piece(run.start, _line(left, right), beneath=beneath))
            else:
                pieces.extend(_within(bounds[run.bound], run.start, stop))
        end = base.end if runs[-1].bound == "base" else noise.end
        assert end is not None
        tail = ConstantTail(end, Fraction(0))
        return SmoothCurve(pieces, tail, end, has_series=base.has_series)


@dataclass(frozen=True)
class _Knot:
    """A point on a bound."""

    eps: Fraction
    curve: Curve

    def log(self) -> arb:
        """Return log δ there, -inf where δ is 0."""
        return self.curve.enclose(BALLS.constant(self.eps)).log()

    def log_complement(self) -> arb:
        """Return log(1 - δ) there."""
        return self.curve.enclose(BALLS.constant(self.eps)).log_complement()

    @property
    def is_zero(self) -> bool:
        """Whether the bound ends there: no enclosure could tell 0 from too small."""
        return self.eps == self.curve.end


def _line(left: _Knot, right: _Knot) -> Formula:
    """Return the line in e^ε through two points, with no cancellation between them."""
    to_zero = right.is_zero

    def log_fall() -> arb:
        # log(δ_left - δ_right)
        return left.log() if to_zero else left.log() + BALLS.log1mexp(right.log() - left.log())

    def log_span() -> arb:
        # log(1 - e^{left - right})
        return BALLS.log1mexp(BALLS.constant(left.eps) - BALLS.constant(right.eps))

    def log_rise() -> arb:
        # of 1 - δ, for each e^{ε - left} - 1, relative to its value on the left
        reach = BALLS.constant(left.eps) - BALLS.constant(right.eps)
        return log_fall() + reach - log_span() - left.log_complement()

    def delta(eps: Any, ops: Operations) -> Probability:
        def log() -> Any:
            rest = ops.log1mexp(eps - ops.constant(right.eps))
            part = ops.constant(log_fall) - ops.constant(log_span) + rest
            return part if to_zero else ops.logaddexp(ops.constant(right.log), part)

        def log_complement() -> Any:
            grown = ops.expm1(eps - ops.constant(left.eps))
            return ops.constant(left.log_complement) + ops.log1p(
                ops.exp(ops.constant(log_rise)) * grown
            )

        return Probability(log, log_complement)

    return delta


def _falls(base: Curve, left: Fraction, noise: Curve, right: Fraction) -> bool:
    """Whether the noise's bound is proved to be below the base's, at a point of each."""
    return certainly(noise.enclose(ball(right)).log() < base.enclose(ball(left)).log())


def _beneath(curve: SmoothCurve, start: Fraction, stop: Fraction | None) -> Constant | None:
    """Return a μ whose curve is above a bound on all of [start, stop), where one is known."""
    found = {piece.beneath for piece in _within(curve, start, stop)}
    return found.pop() if len(found) == 1 else None


def _within(curve: SmoothCurve, start: Fraction, stop: Fraction | None) -> Iterator[Piece]:
    """Return the pieces of a curve on [start, stop), as far as it is not 0."""
    with precision(_BITS):
        low = ball(start)
        high = None if stop is None else ball(stop)
        ends = [*(BALLS.constant(piece.start) for piece in curve.pieces[1:]), None]
        for piece, end in zip(curve.pieces, ends, strict=True):
            begin = BALLS.constant(piece.start)
            if end is not None and certainly(end <= low):
                continue
            if high is not None and certainly(begin >= high):
                continue
            yield replace(piece, start=start) if certainly(begin <= low) else piece


class _Envelope:
    """Where the lower convex envelope of two bounds, in t = e^ε, leaves the one for the other.

    The shape is found in floats on a grid, each change is then made precise. Both only matter
    for how low the envelope is: it consists of bounds and of lines between points on them.
    """

    def __init__(self, base: SmoothCurve, noise: SmoothCurve) -> None:
        self.base, self.noise = base, noise
        assert isinstance(noise.end, Fraction)
        self.eps_h = noise.end
        # a base that ends first is the last bound
        stop = math.inf if base.end is None else math.nextafter(FLOATS.constant(base.end), 0.0)
        self.base_is_last = stop < self.eps_h
        self.top = min(stop, float(self.eps_h))

    def runs(self) -> tuple[Run, ...]:
        """Return the runs; every line is from one bound to the other."""
        if self.top <= 0:
            return (Run("base", Fraction(0)),)
        corners = self._corners()
        runs = [Run(corners[0][1], Fraction(0))]
        for (left, before), (right, after) in itertools.pairwise(corners):
            if before == after:
                continue
            low, high = self._touching(left, right, before)
            # a run may be a point: a corner that only lines touch
            runs.append(Run("line", low))
            if high < self.eps_h:
                runs.append(Run(after, high))
        return self._checked(tuple(runs))

    def _checked(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """Refuse runs out of order, which only rounding of a tie could make.

        Raises:
            UndecidedError: if there are any.
        """
        for run, following in itertools.pairwise(runs):
            empty = run.start == following.start and run.bound == "line"
            if run.start > following.start or empty:
                raise UndecidedError("which of noise and base is the better bound is a tie")
        return runs

    @cached_property
    def grid(self) -> Floats:
        """Return points on [0, top], crowded at both ends and at the base's breakpoints."""
        starts = [FLOATS.constant(piece.start) for piece in self.base.pieces]
        edges = sorted({0.0, *(start for start in starts if 0 < start < self.top), self.top})
        share = np.concatenate([2.0 ** -np.arange(1, 40), np.linspace(0.0, 1.0, _GRID)])
        # rounded, so that no two points are the same but for rounding
        share = np.unique(np.round(np.concatenate([share, 1.0 - share]), 13))
        parts = [low + (high - low) * share for low, high in itertools.pairwise(edges)]
        points: Floats = np.unique(np.concatenate(parts))
        return points

    def _corners(self) -> list[tuple[float, Literal["base", "noise"]]]:
        """Return the corners of the lower hull of the two bounds on the grid."""
        grid = self.grid
        base, base_c = self.base.logs(grid)
        noise, noise_c = self.noise.logs(grid)
        lower = (noise < base) | ((noise > _LOG_HALF) & (noise_c > base_c))
        if not self.base_is_last:
            lower[-1] = True
        log, log_c = np.where(lower, noise, base), np.where(lower, noise_c, base_c)
        hull: list[int] = []
        for point in range(grid.size):
            while len(hull) > 1 and _log_fall(grid, log, log_c, hull[-2], hull[-1]) <= _log_fall(
                grid, log, log_c, hull[-1], point
            ):
                hull.pop()
            hull.append(point)
        return [(float(grid[k]), "noise" if lower[k] else "base") for k in hull]

    def _touching(
        self, left: float, right: float, before: Literal["base", "noise"]
    ) -> tuple[Fraction, Fraction]:
        """Return the ends of the line from one bound to the other, near a line of the hull."""
        on_base = left if before == "base" else right
        with precision(_BITS):
            at = self._root(on_base, before == "base")
            other = self._noise_point(at, before == "base")
            base_knot = _rounded(at)
            # no line from a point on the noise's bound touches it elsewhere
            noise_knot = _rounded(other) if other.is_finite() else base_knot
            # of a tiny δ, all but the end of the noise may be rounded to where it is larger
            above = before == "base" and not _falls(self.base, base_knot, self.noise, noise_knot)
            if above or certainly(other >= ball(self.eps_h)):
                noise_knot = self.eps_h
        return (base_knot, noise_knot) if before == "base" else (noise_knot, base_knot)

    def _root(self, start: float, leaves_base: bool) -> arb:
        """Return where the base's slope is that of the line to the noise; the start if nowhere."""
        point = arb(start)
        if not self.base.has_series:
            return point
        place = int(np.searchsorted(self.grid, start))
        ends = []
        for neighbour in (max(place - 1, 0), min(place + 1, self.grid.size - 1)):
            end = arb(float(self.grid[neighbour]))
            for _ in range(_RETREATS):
                if self._excess(end, leaves_base).is_finite():
                    break
                end = ((end + point) / 2).mid()
            ends.append(end)
        low, high = ends
        at_low, at_high = self._excess(low, leaves_base), self._excess(high, leaves_base)
        rising = certainly(at_low < 0) and certainly(at_high > 0)
        if not (rising or (certainly(at_low > 0) and certainly(at_high < 0))):
            return point
        for _ in range(_HALVINGS):
            middle = ((low + high) / 2).mid()
            value = self._excess(middle, leaves_base)
            low, high = (low, middle) if certainly(value > 0) == rising else (middle, high)
        return ((low + high) / 2).mid()

    def _excess(self, eps: arb, leaves_base: bool) -> arb:
        """Return the slope of the line from the base's point to the noise over that of the base.

        Slopes are in x = t/e^{ε_h}; nan where there is none.
        """
        piece = self.base.pieces_on(eps, eps)[-1]
        series = piece.formula(arb_series([eps, 1], 2), SERIES).log().exp()
        x = (eps - ball(self.eps_h)).exp()
        other = self._noise_point(eps, leaves_base)
        fall = series[0] - (1 - ((other - ball(self.eps_h)) / 2).exp())
        return -fall / ((other - ball(self.eps_h)).exp() - x) - series[1] / x

    def _noise_point(self, eps: arb, leaves_base: bool) -> arb:
        """Return where the line from the base's point touches 1 - √x, kept within [0, ε_h].

        With u = √x at the touching point and C = 1 - δ, u² - 2Cu + x = 0.
        """
        kept = self.base.enclose(eps).log_complement().exp()
        root = (kept * kept - (eps - ball(self.eps_h)).exp()).sqrt()
        u = kept + root if leaves_base else kept - root
        return (ball(self.eps_h) + 2 * u.log()).min(ball(self.eps_h)).max(arb(0))


def _log_fall(grid: Floats, log: Floats, log_c: Floats, left: int, right: int) -> float:
    """Return the logarithm of minus the slope in t between two points of the grid."""
    span = grid[right] - grid[left]
    log_span = grid[left] + span + FLOATS.log1mexp(-span)
    if log[left] > _LOG_HALF:
        fall = log_c[right] + FLOATS.log1mexp(log_c[left] - log_c[right])
    elif log[left] == -math.inf:
        return -math.inf
    else:
        fall = log[left] + FLOATS.log1mexp(log[right] - log[left])
    return float(fall - log_span)


def _rounded(value: arb) -> Fraction:
    scale = 2**_KNOT_BITS
    return Fraction(round(to_fraction(value.mid()) * scale), scale)
