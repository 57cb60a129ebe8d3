"""Discrete losses and their sums, for the checker: δ above and below from a law made here.

The law is made in whole multiples of 2^{-bits}, rounded down at every step, so that it has at most
the true masses. With q the masses so found, tilted by s and divided by M(s), their sum 1 - η, and
κ(s) = s^s/(1 + s)^{1+s}, the largest of e^{-sx}(1 - e^{-x}) for x ≥ 0:

    D(ε) = M(s)·Σ q(y)·e^{-sy}(1 - e^{ε-y})⁺,   p_∞ + D ≤ δ ≤ p_∞ + D + M(s)·κ(s)·e^{-sε}·η.

Nothing need be known of how masses were lost: in rounding, or beyond what was kept.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import gmpy2
from gmpy2 import mpfr, mpz

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.composed import LossesCheck, log_kappa
from gdpbridge_verify.decay import Decay
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.finite import Atoms, DiscreteGaussian, Finite, Unit, finite_of
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, OutOfWork

# multiples of one unit, and sums of all losses, that a law may have
_MOST_PLACES, _MOST_SUMS = 1 << 20, 1 << 17
_JOINT_PLACES = 1 << 19
# microseconds
_COST_OF_SHARE, _COST_OF_SUM, _COST_OF_CHORD = 15.0, 4.0, 80.0
# below it floats have fewer digits
_LEAST_FLOAT = 1e-300


class _Row(NamedTuple):
    """Masses on adjacent places from a first one on."""

    first: int
    masses: list[int]


class Law:
    """The sum of independent losses under a tilt.

    Args:
        parts: laws of one run, and how many runs.
        tilt: s ≥ 0.
        of: the arithmetic.
    """

    def __init__(self, parts: Sequence[tuple[Finite, int]], tilt: Fraction, of: Arithmetic) -> None:
        self.of, self.bits = of, of.precision
        self._steps: list[int] | None = None
        runs = [(one.unit, one.atoms(of, tilt), times) for one, times in parts]
        self._log_moment, self._tilt = of.exactly(0), of.exactly(tilt)
        for _, atoms, times in runs:
            self._log_moment += of.exactly(times) * atoms.total.log()
        starts = (one.start(of) * times for one, times in parts)
        sums = [(sum(starts, of.exactly(0)), 1 << self.bits)]
        lattices = _lattices(runs)
        for unit, lattice in lattices:
            size, row = unit.enclosed(of), self._row(lattice)
            if len(sums) * len(row) > _MOST_SUMS:
                raise OutOfWork
            of.work.charge(6 * len(sums) * len(row))
            places = [(size * place, mass) for place, mass in row]
            sums = [(y + x, (m * mass) >> self.bits) for y, m in sums for x, mass in places]
            self._steps = [place for place, _ in row] if len(lattices) == 1 else None
        if self._steps is None:
            sums = sorted((pair for pair in sums if pair[1]), key=lambda pair: pair[0].low)
        self._losses, self._masses = [loss for loss, _ in sums], [mass for _, mass in sums]
        self._lows = [loss.low for loss in self._losses]
        self._widest = max((of.up.sub(y.high, y.low) for y in self._losses), default=0)
        kappa = log_kappa(tilt, of).exp() if tilt else 1
        self._lost = self._fixed((1 << self.bits) - sum(self._masses)) * kappa
        self._p, self._q = self._tails(tilt), self._tails(tilt + 1)

    def sums(self) -> tuple[list[tuple[Interval, Interval]], Interval]:
        """Return, for no tilt, the losses with masses that are at most theirs, and what is missed.

        Masses are those of all finite losses.
        """
        share = self._log_moment.exp()
        masses = [share * self._fixed(mass) for mass in self._masses]
        return list(zip(self._losses, masses, strict=True)), share * self._lost

    def enclose(self, eps: Interval) -> Interval:
        """Enclose D at an ε."""
        # from `first` on losses are certainly larger, before `last` certainly not
        first = bisect_right(self._lows, eps.high)
        last = bisect_left(self._lows, self.of.down.sub(eps.low, self._widest))
        self.of.charge(_COST_OF_SHARE * (1 + first - last))
        kept = self.of.exactly(0)
        if first < len(self._lows):
            over = self._losses[first] - eps
            kept = (-self._tilt * over).exp() * (self._p[first] - (-over).exp() * self._q[first])
        for number in range(last, first):
            over = self._losses[number] - eps
            share = (-(-over).expm1()).positive() * (-self._tilt * over).exp()
            kept += self._fixed(self._masses[number]) * share
        kept = kept.positive()
        scale = (self._log_moment - self._tilt * eps).exp()
        return scale * Interval(self.of, kept.low, (kept + self._lost).high)

    def between(self, low: Interval, high: Interval) -> mpfr | None:
        """Return the middle one of the losses between two places, if there is one, or about it."""
        first, last = bisect_right(self._lows, low.high), bisect_left(self._lows, high.low)
        return self._lows[(first + last) // 2] if first < last else None

    def _tails(self, rate: Fraction) -> list[Interval]:
        """Enclose Σ q(y)·e^{-rate·(y - x)} over y ≥ x for each loss x."""
        of, total, found = self.of, self.of.exactly(0), list[Interval]()
        of.charge(_COST_OF_SUM * len(self._masses))
        decays: dict[int, Interval] = {}
        for number in reversed(range(len(self._masses))):
            if found:
                # on one lattice few gaps differ
                key = self._steps[number + 1] - self._steps[number] if self._steps else number
                if key not in decays:
                    of.charge(_COST_OF_SHARE)
                    gap = self._losses[number + 1] - self._losses[number]
                    decays[key] = (gap * -rate).exp()
                total = total * decays[key]
            total += self._fixed(self._masses[number])
            found.append(total)
        return found[::-1]

    def _fixed(self, mass: int) -> Interval:
        """Return a mass in multiples of 2^{-bits}."""
        of, one = self.of, mpz(1) << self.bits
        return Interval(of, of.down.div(mpz(mass), one), of.up.div(mpz(mass), one))

    # --- masses on one lattice ---------------------------------------------------------------

    def _row(self, lattice: Sequence[tuple[int, Atoms, int]]) -> list[tuple[int, int]]:
        """Return the sums of runs whose places are multiples of a factor, and their masses."""
        if len(lattice) == 1 and lattice[0][2] == 1:
            factor, atoms, _ = lattice[0]
            pairs = zip(atoms.places, map(self._rounded, atoms.masses), strict=True)
            return [(factor * place, mass) for place, mass in pairs if mass]
        steps = [f * (at - atoms.places[0]) for f, atoms, _ in lattice for at in atoms.places]
        stride = math.gcd(*steps) or 1
        found = _Row(0, [1 << self.bits])
        start = sum(factor * atoms.places[0] * times for factor, atoms, times in lattice)
        for factor, atoms, times in lattice:
            places = [(place - atoms.places[0]) * factor // stride for place in atoms.places]
            if places[-1] >= _MOST_PLACES:
                raise OutOfWork
            masses = [0] * (places[-1] + 1)
            for place, mass in zip(places, atoms.masses, strict=True):
                masses[place] = self._rounded(mass)
            found = self._product(found, self._power(_Row(0, masses), times))
        sums = enumerate(found.masses, found.first)
        return [(start + stride * at, mass) for at, mass in sums if mass]

    def _rounded(self, mass: Interval) -> int:
        """Return the lower end in multiples of 2^{-bits}, rounded down."""
        # what a tilt puts beyond every exponent is left out
        if not 0 < mass.low <= 1:
            return 0
        return int(self.of.down.floor(self.of.down.mul_2exp(mass.low, self.bits)))

    def _power(self, row: _Row, times: int) -> _Row:
        found = row
        for digit in bin(times)[3:]:
            found = self._product(found, found)
            if digit == "1":
                found = self._product(found, row)
        return found

    def _product(self, one: _Row, other: _Row) -> _Row:
        """Multiply two polynomials as whole numbers, with a slot of bytes for each coefficient."""
        # as masses add up to at most 2^bits, coefficients of the product stay below 2^(2·bits) + 1
        size = 2 * self.bits // 8 + 1
        count = len(one.masses) + len(other.masses) - 1
        if count > _MOST_PLACES:
            raise OutOfWork
        self.of.work.charge(count * (0.5 + 0.02 * size))
        packed = [
            mpz(int.from_bytes(b"".join(m.to_bytes(size, "little") for m in masses), "little"))
            for masses in (one.masses, other.masses)
        ]
        text = int(packed[0] * packed[1]).to_bytes(size * count, "little")
        slots = (text[at : at + size] for at in range(0, len(text), size))
        masses = [int.from_bytes(slot, "little") >> self.bits for slot in slots]
        kept = [at for at, mass in enumerate(masses) if mass] or [0]
        first = one.first + other.first + kept[0]
        return _Row(first, masses[kept[0] : kept[-1] + 1])


def _lattices(
    runs: Sequence[tuple[Unit, Atoms, int]],
) -> list[tuple[Unit, list[tuple[int, Atoms, int]]]]:
    """Put what has the same unit together, and rational units if they have a handy divisor."""
    found: dict[Unit, list[tuple[int, Atoms, int]]] = {}
    for unit, atoms, times in runs:
        found.setdefault(unit, []).append((1, atoms, times))
    rational = [unit for unit in found if not unit.is_log]
    bottom = math.lcm(*(unit.value.denominator for unit in rational))
    common = Fraction(math.gcd(*(int(unit.value * bottom) for unit in rational)), bottom)
    pairs = [(int(unit.value / common), one) for unit in rational for one in found[unit]]
    joint = [(factor, atoms, times) for factor, (_, atoms, times) in pairs]
    span = sum(f * (atoms.places[-1] - atoms.places[0]) * times for f, atoms, times in joint)
    if len(rational) < 2 or span > _JOINT_PLACES:
        return list(found.items())
    return [(Unit(common), joint), *((unit, found[unit]) for unit in found if unit.is_log)]


class DiscreteCheck(LossesCheck):
    """The lines of a certificate of discrete losses, at one precision."""

    # whether δ is looked at from above: there may be a law on either side of it
    _is_above = True

    def build(self) -> Tail:
        """Return what is known of the tail.

        A discrete Gaussian loss has M(s) ≤ e^{v(s² + s)/2}, and one of at most B has M(s) ≤ e^{sB}.
        With v and B their sums, Chernoff's bound at s = (ε - B)/v - 1/2 is, for ε ≥ B + v/2,

            log δ ≤ -(ε - B)²/(2v) + (ε - B)/2 - v/8.

        Of a single one, with y ≥ ε the next loss, δ(ε) ≤ P(L ≥ y), which is at most (N + 1)/(2N)
        times the same at y, from v/2 on.
        """
        tail = super().build()
        # each is made once
        self._law, self._known = cache(self.law), cache(self._enclosed)
        parts, v = self.composition.parts, self.variance
        if self.evidence.tail_from is not None and not v:
            raise Malformed("evidence.tail_from", self.evidence.tail_from, "null")
        if not v or tail.square is None:
            return tail
        bound, factor = Fraction(0), self.enclosed(Fraction(1))
        for part in parts:
            if not part.transform.tail_variance:
                both = part.transform, part.reverse or part.transform
                ends = [one.largest(self.arithmetic) for one in both]
                bound += part.times * max(_top(end) for end in ends if end is not None)
        single = parts[0].transform if len(parts) == 1 and parts[0].times == 1 else None
        if isinstance(single, DiscreteGaussian):
            norm = single.norm(self.arithmetic)
            factor = (norm + 1) / (2 * norm)
        log_factor = factor.log() - (bound**2 / (2 * v) + bound / 2 + v / 8)
        decay = Decay(log_factor, bound + v / 2, Fraction(1, 2) + bound / v)
        return Tail(tail.why, square=v, decay=decay)

    def law(self, tilt: str, backward: bool, above: bool) -> Law:
        """Return the law of all runs in a direction under a tilt, the same above δ and below."""
        parts = self.towards(backward=backward)
        finite = [(known, times) for one, times in parts if (known := finite_of(one))]
        assert len(finite) == len(parts)
        return Law(finite, binary(tilt), self.arithmetic)

    def _law_at(self, at: Fraction) -> Law:
        """Return the law of the piece that an ε is on."""
        piece = self.piece_at(at)
        if piece.tilt is None or piece.line is not None or piece.chord is not None:
            raise Malformed("evidence.directions: piece", "a line or a chord", "a tilt")
        return self._law(piece.tilt, bool(self.direction), self._is_above)

    def _delta(self, at: Fraction) -> Interval:
        """Enclose δ of the direction in question."""
        return self._known(at, bool(self.direction), self._is_above)

    def _enclosed(self, at: Fraction, backward: bool, _: bool) -> Interval:
        found = self.enclosed(self.failure_towards(backward=backward))
        if self.is_past_losses(at):
            return found
        return found + self._law_at(at).enclose(self.enclosed(at))

    def parting(self, low: Fraction, high: Fraction) -> Fraction:
        """Return a loss within: between two of them δ is linear in e^ε."""
        found = self._law_at(low).between(self.enclosed(low), self.enclosed(high))
        at = None if found is None else Fraction(*found.as_integer_ratio())
        return at if at is not None and low < at < high else super().parting(low, high)

    def touching(self, low: Fraction, high: Fraction) -> Fraction:
        """Return about where δ_μ has the slope of the chord of δ: Φ(-y) = b at ε = μ(y - μ/2).

        No proof needs it to be exact: the tangent at any ε is below δ_μ.
        """
        if not self.high:
            return super().touching(low, high)
        self.arithmetic.charge(_COST_OF_CHORD)
        fall = self._delta(low) - self._delta(high)
        width = self.enclosed(high).exp() - self.enclosed(low).exp()
        y, mu = _normal_place(fall / width / (1 - self.aside)), self.bound.mu
        if y is None:
            return super().touching(low, high)
        return min(max(_top(mu * (y - mu / 2)), low), high)

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Prove that δ(ε) of the direction in question is at most a number."""
        self.hold(line, level.value - self._delta(at))

    def excess(self, at: Fraction, wanted: Level, proof: Evidence | Point) -> Interval:
        """Return by how much δ of the larger direction exceeds a number."""
        found = []
        for _ in self.each_direction():
            found.append(self._delta(at) - wanted.value)
        return max(found, key=lambda one: one.low)


def _top(value: Fraction | Interval) -> Fraction:
    """Return a rational number that is not below."""
    return value if isinstance(value, Fraction) else Fraction(*value.high.as_integer_ratio())


def _normal_place(share: Interval) -> Interval | None:
    """Return about the y with Φ(-y) = b for 0 < b < 1/2: Newton's step from what floats see."""
    if not 0 < share.low <= share.high < 0.5:
        return None
    if (b := float(share.low)) > _LEAST_FLOAT:
        first = -NormalDist().inv_cdf(b)
    else:
        # Φ(-y) is about φ(y)/y
        fall = -2 * float(share.log().low)
        first = math.sqrt(fall - math.log(2 * math.pi * fall))
    y = share.of.exactly(Fraction(first))
    density = (-y.square() / 2).exp() / (2 * share.of.pi).sqrt()
    found = y + (y.normal_tail() - share) / density
    return found if gmpy2.is_finite(found.low) and gmpy2.is_finite(found.high) else None
