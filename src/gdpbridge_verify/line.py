"""A line of nodes s = c + ikh, which gives curves above and below δ(ε) of composed losses.

With M(s) = ∏ F_i(1 + s)^{T_i}, R = 2π/h and V(ε) = Re Σ_{|k| ≤ N} a_k e^{-ikhε}, a_k =
(h/2π)·M(s_k)/(s_k(s_k + 1)), and B a bound of |M(c + iy)| for y ≥ Nh:

    c > 0:       D(ε) ≤ e^{-cε}(V + B/(πNh)),  D(ε) ≥ e^{-cε}(V - B/(πNh)) - Σ_b α_b e^{-bε}
    -1 < c < 0:  the same of 1 - δ(ε), with -V in place of V

and δ = p_∞ + D. See docs/check-a-mu.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import gmpy2
from gmpy2 import mpfr

from gdpbridge_verify import evidence
from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.refusal import Malformed, Undecided
from gdpbridge_verify.transforms import Runs, Transform

# microseconds
_COST_OF_BALL, _COST_OF_TURN = 25.0, 1.5


class Line:
    """The curves of one line, in one direction.

    Args:
        parts: the mechanisms and their counts.
        backward: whether the direction is Q against P, in which M(s) = ∏ F_i(-s)^{T_i}.
        data: the line.
        arithmetic: the arithmetic.
    """

    def __init__(
        self, parts: Sequence[Runs], backward: bool, data: evidence.Line, arithmetic: Arithmetic
    ) -> None:
        self.parts, self.backward, self.data, self.of = tuple(parts), backward, data, arithmetic
        self.field = Complexes(arithmetic)
        line, below = "evidence.lines", data.c < 0
        if not data.h > 0:
            raise Malformed(f"{line}: h", data.h, "a number > 0")
        if not (data.c > 0 or -1 < data.c < 0):
            raise Malformed(f"{line}: c", data.c, "a number > 0, or between -1 and 0")
        if not (-1 if below else 0) <= data.left < data.c:
            raise Malformed(f"{line}: left", data.left, "less than c, at least 0, or -1 for c < 0")
        if not data.c < data.right or (below and data.right > 0):
            raise Malformed(f"{line}: right", data.right, "more than c, and at most 0 where c < 0")
        for given, needed in zip((data.nodes, data.far), self._needed, strict=True):
            if [one is not None for one in given] != needed:
                raise Malformed(f"{line}: nodes", len(given), "those that the parts need")

    @property
    def _needed(self) -> tuple[list[bool], list[bool]]:
        """Which parts need nodes on the line, and far out."""
        needed = [part.transform.needs_nodes for part in self.parts]
        return needed, needed

    @property
    def is_complement(self) -> bool:
        """Whether the curves are of 1 - δ."""
        return self.data.c < 0

    # --- the curves --------------------------------------------------------------------------

    def above(self, at: Fraction) -> Interval:
        """Return what is above D, or 1 - δ, at an ε."""
        return (self._wave(at) + self._cut) * self._decay(self.data.c, at)

    def below(self, at: Fraction) -> Interval:
        """Return what is below D, or 1 - δ, at an ε."""
        found = (self._wave(at) - self._cut) * self._decay(self.data.c, at)
        for place, alias in self._aliases:
            found = found - alias * self._decay(place, at)
        return found

    def _decay(self, tilt: Fraction, at: Fraction) -> Interval:
        return self.of.exactly(-tilt * at).exp()

    def _wave(self, at: Fraction) -> Interval:
        """Enclose V(ε), the real part of Σ a_k z^k, z = e^{-ihε}.

        With d what z and each product may be off by, z^k is off by at most (1 + d)^k - 1.
        """
        of, field, up = self.of, self.field, self.field.up
        count = len(self.terms)
        of.work.charge(count * _COST_OF_TURN)
        turn = field.of(0, -self.data.h * at).exp()
        off = up.mul(count, up.log1p(up.add(turn.radius, up.mul(2, field.unit))))
        sizes, radii = self._sizes
        error = up.add(up.mul(sizes, up.expm1(off)), up.mul(radii, up.exp(off)))
        # each product and the sum are rounded
        error = up.add(error, up.mul(up.mul(sizes, up.exp(off)), up.mul(3, field.unit)))
        values, power, step = [], field.of(1).middle, turn.middle
        with gmpy2.context(field.nearest):
            for term in self.terms:
                values.append((term.middle * power).real)
                power = power * step
            total = gmpy2.fsum(values)
        return Interval(of, of.down.sub(total, error), of.up.add(total, error))

    # --- the numbers of the line ---------------------------------------------------------------

    @cached_property
    def _directed(self) -> list[tuple[Transform, Fraction, bool]]:
        return [part.directed(self.backward, self.data.c) for part in self.parts]

    @cached_property
    def terms(self) -> list[Ball]:
        """Return a_k, twice for k > 0, and with the sign of the curve."""
        data, field, of = self.data, self.field, self.of
        count = data.count + 1
        of.work.charge(count * len(self.parts) * 3 * _COST_OF_BALL)
        columns = [
            transform.on_line(field, place, data.h, count, nodes)
            for (transform, place, _), nodes in zip(self._directed, data.nodes, strict=True)
        ]
        unit = of.exactly(-data.h if self.is_complement else data.h) / (2 * of.pi)
        found = []
        for k in range(count):
            s = field.of(data.c, data.h * k)
            value = (s * (s + 1)).inverse() * (unit * (2 if k else 1))
            found.append(self._times_moment(value, [column[k] for column in columns]))
        return found

    def _times_moment(self, value: Ball, transforms: Sequence[Ball]) -> Ball:
        """Return a number times M(s), of F_i(1 + s)."""
        for part, one, (_, _, mirrored) in zip(self.parts, transforms, self._directed, strict=True):
            power = power_of(one, part.times)
            value = value * (power.conjugate() if mirrored else power)
        return value

    @cached_property
    def _sizes(self) -> tuple[mpfr, mpfr]:
        """Return sums of the sizes of all a_k, and of how much they may be off."""
        sizes, radii, up = mpfr(0), mpfr(0), self.field.up
        for term in self.terms:
            sizes, radii = up.add(sizes, term.size()), up.add(radii, term.radius)
        return sizes, radii

    @cached_property
    def _cut(self) -> Interval:
        """Bound what the nodes |k| > N add: within ± B/(πNh)."""
        edge = self.data.h * self.data.count
        return (self._log_beyond(edge).exp() / (self.of.pi * edge)).ends()[1]

    def _log_beyond(self, edge: Fraction) -> Interval:
        """Bound log B."""
        of = self.of
        log = of.exactly(0)
        for part, (transform, place, _), far in zip(
            self.parts, self._directed, self.data.far, strict=True
        ):
            size = transform.at(of, place)
            beyond = transform.beyond(self.field, place, edge, far)
            most = Interval(of, mpfr(0), min(size.high, beyond.high))
            log += most.log().ends()[1] * part.times
        return log

    @cached_property
    def _aliases(self) -> list[tuple[Fraction, Interval]]:
        """Return the tilts b and bounds of the aliases' constants α_b."""
        return [(b, self._alias(b)) for b in (self.data.left, self.data.right)]

    def _alias(self, b: Fraction) -> Interval:
        of = self.of
        log = self._log_moment(b)
        if not self.is_complement and b > 0:
            log = (log + log_kappa(b, of)).ends()[1]
        periods = 2 * of.pi * (abs(b - self.data.c) / self.data.h)
        return (log.exp() / periods.expm1()).ends()[1]

    def _log_moment(self, b: Fraction) -> Interval:
        """Bound log M(b) from above."""
        return _log_moment(self.parts, self.backward, b, self.of)


def _log_moment(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log M(b) from above."""
    log = of.exactly(0)
    for part in parts:
        transform, place, _ = part.directed(backward, b)
        log += transform.at(of, place).log().ends()[1] * part.times
    return log


def log_chernoff(parts: Sequence[Runs], backward: bool, b: Fraction, of: Arithmetic) -> Interval:
    """Bound log(κ(b)·M(b)) from above for b > 0."""
    return (_log_moment(parts, backward, b, of) + log_kappa(b, of)).ends()[1]


def log_kappa(b: Fraction, of: Arithmetic) -> Interval:
    """Enclose log κ(b) for b > 0, κ(b) = b^b/(1 + b)^{1 + b}."""
    return of.exactly(b).log() * b - of.exactly(1 + b).log() * (1 + b)


def power_of(value: Ball, times: int) -> Ball:
    """Return v^T: by logarithms, or where v may be 0 by its size alone."""
    field = value.field
    try:
        turned = value.middle.real < 0
        log = (-value if turned else value).log()
        power = (log * times).exp()
        return -power if turned and times % 2 else power
    except Undecided:
        return field.zero(field.up.pow(value.size(), times))
