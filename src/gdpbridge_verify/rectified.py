"""Clip and rectify, for the checker: runs on which δ is one of two bounds, or a line between them.

A clipped and rectified mechanism obeys the base's profile and that of the noise, and its own is
convex in e^ε. So whatever the runs are, what they describe is a bound: that is why the knots need
no proof. The claims are about the profile that the runs describe.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from gdpbridge_verify import mechanisms
from gdpbridge_verify.arithmetic import Arithmetic, Interval, Jet
from gdpbridge_verify.mechanisms import Mechanism, Part
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Undecided

__all__ = ["mechanism_of"]

Bracket = tuple[Fraction, Fraction]

# what a text of 400 characters had room for
_MOST_RUNS = 100
_PREFIX = "base."
_KNOT = re.compile(r"0x[0-9a-f]{1,64}p[+-][0-9]{1,3}")
_BOUNDS = ("base", "line", "noise")


def mechanism_of(
    spec: dict[str, str | None], brackets: list[Bracket], arithmetic: Arithmetic
) -> Mechanism:
    """Build the mechanism that a certificate names; as for the plain kinds."""
    if spec.get("kind") != "clip-rectify":
        return mechanisms.mechanism_of(spec, brackets, arithmetic)
    own = {name: text for name, text in spec.items() if not name.startswith(_PREFIX)}
    known = {"kind", "neighbours", "eps_h", "runs", "knots"}
    if set(own) != known:
        raise Malformed("mechanism", ", ".join(sorted(own)), f"{', '.join(sorted(known))}, base.…")
    inner = {
        name.removeprefix(_PREFIX): text for name, text in spec.items() if name.startswith(_PREFIX)
    }
    base = mechanisms.mechanism_of({**inner, "neighbours": own["neighbours"]}, brackets, arithmetic)
    noise = mechanisms.mechanism_of(
        {"kind": "laplace", "scale": "1", "sensitivity": own["eps_h"], "neighbours": None},
        [],
        arithmetic,
    )
    runs = _runs(own["runs"] or "", own["knots"] or "")
    return _joined(base, noise, runs, arithmetic)


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


def _joined(
    base: Mechanism, noise: Mechanism, runs: list[tuple[str, Fraction]], arithmetic: Arithmetic
) -> Mechanism:
    bounds = {"base": base, "noise": noise}
    parts: list[Part] = []
    for number, (bound, start) in enumerate(runs):
        following = runs[number + 1] if number + 1 < len(runs) else None
        stop = None if following is None else following[1]
        if bound != "line":
            parts.extend(_within(bounds[bound], start, stop))
            continue
        left = _point(bounds[runs[number - 1][0]], start, arithmetic)
        if following is None or stop is None:
            # a last line goes to where the noise's bound ends
            assert noise.vanishes_from is not None
            zero, one = arithmetic.exactly(0), arithmetic.exactly(1)
            right = _Knot(noise.vanishes_from, zero, one)
        else:
            right = _point(bounds[following[0]], stop, arithmetic)
        parts.append(_line(left, right, start, stop))
    last = base if runs[-1][0] == "base" else noise
    if last.vanishes_from is None:
        raise Malformed("mechanism.runs", "base", "ended by the noise, where the base never ends")
    return Mechanism(tuple(parts), vanishes_from=last.vanishes_from)


@dataclass(frozen=True)
class _Knot:
    """A point on a bound: δ and 1 - δ at ε."""

    eps: Interval
    delta: Interval
    complement: Interval


def _point(bound: Mechanism, at: Fraction, arithmetic: Arithmetic) -> _Knot:
    """Enclose a bound at a point."""
    eps = arithmetic.exactly(at)
    if bound.vanishes_from is not None and not eps < bound.vanishes_from:
        raise Malformed("mechanism.knots", f"{float(at):.12g}", "below where the bound ends")
    for part in reversed(bound.parts):
        if part.low <= at and (part.high is None or at <= part.high):
            variable = Jet.variable(eps)
            return _Knot(
                eps, part.log(variable).value.exp(), part.log_complement(variable).value.exp()
            )
    raise Malformed("mechanism.knots", f"{float(at):.12g}", "outside of evidence.breakpoints")


def _within(bound: Mechanism, start: Fraction, stop: Fraction | None) -> Iterator[Part]:
    """Return the parts of a bound on a range."""
    for part in bound.parts:
        low = max(part.low, start)
        ends = [end for end in (part.high, stop) if end is not None]
        high = min(ends, default=None)
        if high is None or low < high:
            yield replace(part, low=low, high=high)


def _line(left: _Knot, right: _Knot, start: Fraction, stop: Fraction | None) -> Part:
    """Return the line in e^ε through two points, written so that nothing cancels at its ends."""
    # δ_left - δ_right over 1 - e^{left - right}
    steepness = (left.delta - right.delta) / -((left.eps - right.eps).expm1())
    if not steepness > 0:
        raise Undecided("mechanism.runs: a line falls")
    rise = steepness * (left.eps - right.eps).exp()

    def log(eps: Jet) -> Jet:
        return ((eps - right.eps).expm1().scaled(-steepness) + right.delta).log()

    def log_complement(eps: Jet) -> Jet:
        return ((eps - left.eps).expm1().scaled(rise) + left.complement).log()

    return Part(start, stop, log, log_complement)
