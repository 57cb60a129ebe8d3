"""Clip and rectify, for the checker: runs on which δ is one of two bounds, or a line between them.

A clipped and rectified mechanism obeys the base's profile and that of the noise, and its own is
convex in e^ε. So whatever the runs are, what they describe is a bound: that is why the knots need
no proof. The claims are about the profile that the runs describe.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.mechanisms import FormulasCheck, formulas_of, part_on
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.parameters import apart
from gdpbridge_verify.parts import Bracket, Formulas, Part
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided

# what a text of 400 characters had room for
_MOST_RUNS = 100
_KNOT = re.compile(r"0x[0-9a-f]{1,64}p[+-][0-9]{1,3}")
_BOUNDS = ("base", "line", "noise")
_OWN = {"kind", "neighbours", "eps_h", "runs", "knots"}


class RectifiedCheck(FormulasCheck):
    """The lines of a certificate of clip and rectify, at one precision."""

    # where two runs meet nothing says so
    is_convex = False

    def formulas(self, brackets: list[Bracket]) -> Formulas:
        """Return what the runs describe."""
        own, base = apart(self.spec)
        if set(own) != _OWN:
            given = ", ".join(sorted(own))
            raise Malformed("mechanism", given, f"{', '.join(sorted(_OWN))}, base.…")
        base["neighbours"] = own["neighbours"]
        noise = {"kind": "laplace", "scale": "1", "sensitivity": own["eps_h"], "neighbours": None}
        bounds = {
            "base": formulas_of(base, brackets, self.arithmetic),
            "noise": formulas_of(noise, [], self.arithmetic),
        }
        return _joined(bounds, _runs(own["runs"] or "", own["knots"] or ""), self.arithmetic)


def _runs(names: str, knots: str) -> list[tuple[str, Fraction]]:
    """Read the runs: each has a bound and where it begins."""
    bounds, points = names.split(" "), knots.split(" ")
    if len(bounds) != len(points) or not set(bounds) <= set(_BOUNDS) or len(bounds) > _MOST_RUNS:
        raise Malformed(
            "mechanism.runs", names, f"each one of {', '.join(_BOUNDS)}, as many as knots"
        )
    # a line is between two points on bounds
    pairs = itertools.pairwise(bounds)
    if bounds[0] == "line" or any(pair == ("line", "line") for pair in pairs):
        raise Malformed("mechanism.runs", names, "such that a bound is on either side of a line")
    if not all(_KNOT.fullmatch(point) for point in points):
        raise Malformed("mechanism.knots", knots, "numbers such as 0x1fp-3")
    starts = [binary(point) for point in points]
    if starts[0] != 0 or starts != sorted(starts):
        raise Malformed("mechanism.knots", knots, "in order, the first 0")
    return list(zip(bounds, starts, strict=True))


class _Knot(NamedTuple):
    """A point on a bound."""

    eps: Interval
    level: Level


def _joined(
    bounds: dict[str, Formulas], runs: list[tuple[str, Fraction]], of: Arithmetic
) -> Formulas:
    parts: list[Part] = []
    for number, (bound, start) in enumerate(runs):
        following, stop = runs[number + 1] if number + 1 < len(runs) else (None, None)
        if bound != "line":
            parts.extend(_within(bounds[bound][0], start, stop))
            continue
        left = _point(bounds[runs[number - 1][0]], start, of)
        if following is None or stop is None:
            # a last line goes to where the noise's bound ends
            right = _Knot(_end(bounds["noise"], of), Level.of(of.exactly(0)))
        else:
            right = _point(bounds[following], stop, of)
        parts.append(_line(left, right, start, stop))
    last = bounds["base" if runs[-1][0] == "base" else "noise"][1]
    if last.vanishes_from is None:
        raise Malformed("mechanism.runs", "base", "ended by the noise, where the base never ends")
    return tuple(parts), Tail.ends(last.vanishes_from)


def _end(bound: Formulas, of: Arithmetic) -> Interval:
    end = bound[1].vanishes_from
    return end if isinstance(end, Interval) else of.exactly(end or 0)


def _point(bound: Formulas, at: Fraction, of: Arithmetic) -> _Knot:
    """Enclose a bound at a point."""
    eps, (parts, tail) = of.exactly(at), bound
    if tail.vanishes_from is not None and not eps < tail.vanishes_from:
        raise Malformed("mechanism.knots", about(at), "below where the bound ends")
    try:
        return _Knot(eps, part_on(parts, at, at).level(eps))
    except Refused:
        allowed = "outside of evidence.breakpoints"
        raise Malformed("mechanism.knots", about(at), allowed) from None


def _within(parts: tuple[Part, ...], start: Fraction, stop: Fraction | None) -> Iterator[Part]:
    """Return the parts of a bound on a range."""
    for part in parts:
        low = max(part.low, start)
        ends = [end for end in (part.high, stop) if end is not None]
        high = min(ends, default=None)
        if high is None or low < high:
            yield replace(part, low=low, high=high)


def _line(left: _Knot, right: _Knot, start: Fraction, stop: Fraction | None) -> Part:
    """Return the line in e^ε through two points, written so that nothing cancels at its ends."""
    back = left.eps - right.eps
    # (δ_left - δ_right)/(1 - e^{left - right})
    steepness = (left.level.value - right.level.value) / -back.expm1()
    if not steepness > 0:
        raise Undecided("mechanism.runs: a line falls")
    rise = steepness * back.exp()
    return Part(
        start,
        stop,
        lambda eps: Level(
            right.level.value - steepness * (eps - right.eps).expm1(),
            left.level.complement + rise * (eps - left.eps).expm1(),
        ),
    )
