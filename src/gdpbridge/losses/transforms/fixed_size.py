"""The loss of Gaussian noise on batches of a fixed size, where a record is replaced: a bound.

Let F be P = (1 - q)·N(0, 1) + q·N(m, 1) against Q = N(0, 1), and R the same the other way round. A
step may be as bad as either, at every run anew, so that neither bounds the composition. The one
pair whose profile is max(δ_F, δ_R) at every real ε dominates both: it has F's law where L > 0, R's
where L < 0, and the missing mass at L = 0. With g(u) = 1 - q + q·e^{m(u - m/2)}

    F(w) = K(w) + K(1 - w) + 1 - K(0) - K(1),   K(w) = ∫ φ(u) g(u)^w du over u > m/2.

K is found on a ray from m/2 into the upper half plane, in which arg g ≥ 0 and |g| ≥ 1, so that the
error does not grow with Im w; see docs/composition.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from flint import acb, arb

from gdpbridge.losses.transforms.base import (
    Plan,
    Transform,
    exponential_sums,
    require_noise,
    short,
)
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly, is_above
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.kinds import ball

__all__ = ["FixedSizeTransform", "Ray"]

# tan β of the widest sector, and the share of a right angle up to which e^ρ·cos(ρ·tan β) ≥ 1
_WIDEST = 0.5
_SHARE_OF_RIGHT = 0.9
# sectors tried, as shares of the widest
_SECTORS = np.linspace(0.04, 1.0, 33)
# float64 nodes, from e^-40 to where φ is e^{-72}
_LOWEST, _FLOAT_STEP, _REACH = -40.0, 0.02, 12.0
# of a box in which a bound is constant, the logarithm of the growth of g^w: usually, and where the
# integrand is less than e^-45 beside its largest value; and places where floats look at it
_GROWTH, _MOST_GROWTH, _NOTHING, _FLOATS = 0.125, 20.0, 45.0, 129
# how far past where terms begin to fall their rest is bounded, at least
_PAST = 1.05
# a bound far out need not be close: the atom at 0 is there anyway
_FAR_ANGLE, _FAR_STEP, _FAR_LOWEST = 0.5, 0.2, -12.0
# boxes far out: where more are needed they are wider; and what one takes, in balls, in floats, and
# where the error of nodes is bounded, in units of numeric/effort.py
_MOST_BOXES = 20_000
_EACH_POINT, _EACH_LOOK, _EACH_BOX = 100, 1, 40


@dataclass(frozen=True)
class Ray(Plan):
    """The nodes u = m/2 + e^{(j·step) + i·angle}, j = first, …, last, of the trapezoid rule.

    Attributes:
        angle: half the sector's angle β: the ray in its middle.
        step: η, the distance of the nodes on the scale of log x.
        first: the first node's number.
        last: the last one's.
    """

    angle: Fraction
    step: Fraction
    first: int
    last: int

    @property
    def terms(self) -> int:
        """How many nodes there are."""
        return self.last - self.first + 1


class FixedSizeTransform(Transform):
    """One step of the Gaussian mechanism on a batch of a fixed size, replace-one neighbours.

    Args:
        shift: m, the sensitivity over the noise's standard deviation, positive.
        rate: q, the share of the records in a batch, strictly between 0 and 1.
    """

    symmetric = True

    def __init__(self, shift: Fraction, rate: Fraction) -> None:
        require_noise(1 / shift)
        self.shift, self.rate = shift, rate
        self.tail_variance = shift**2
        self.distance = rate
        self._m, self._q = float(shift), float(rate)
        self._log_k = cache(self._find_log_k)
        self._atom_float = (1 - self._q) * math.erf(self._m / math.sqrt(8))
        self._far = cache(self._find_far)

    # --- floats --------------------------------------------------------------------------------

    def _log_g(self, x: Floats) -> Floats:
        """Return log g at u = m/2 + x, x ≥ 0."""
        t = self._m * x
        small = np.log1p(self._q * np.expm1(np.minimum(t, 1.0)))
        large = np.logaddexp(math.log1p(-self._q), math.log(self._q) + t)
        return np.where(t < 1.0, small, large)

    def _find_log_k(self, w: float) -> float:
        top = math.log(max(w * self._m, 0.0) + _REACH)
        s = np.arange(_LOWEST, top, _FLOAT_STEP)
        x = np.exp(s)
        logs = w * self._log_g(x) - (self._m / 2 + x) ** 2 / 2 + s
        peak = float(logs.max())
        total = float(np.exp(logs - peak).sum()) * _FLOAT_STEP / math.sqrt(2 * math.pi)
        return peak + math.log(total)

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        parts = (self._log_k(w), self._log_k(1 - w), math.log(self._atom_float))
        top = max(parts)
        return top + math.log(sum(math.exp(part - top) for part in parts))

    def _widest(self) -> float:
        return min(_WIDEST, _SHARE_OF_RIGHT * math.pi / 2 / math.log((2 - self._q) / self._q))

    def plan(self, w: Fraction, log_error: float) -> Plan:
        """Return the nodes on the ray that needs fewest; one plan serves w and 1 - w."""
        high = max(float(w), float(1 - w), 1.0)
        size = self.log_size(float(w))
        wanted = log_error + size - math.log(8)
        far = high * self._m
        best: tuple[float, float, float, float] | None = None
        for share in _SECTORS.tolist():
            beta = math.atan(share * self._widest())
            constant, end = self._sector_size(high, beta, wanted)
            need = max(constant - wanted, 1.0) + math.log(4)
            step = math.pi * beta / need
            nodes = (math.log(max(end, far, 1.0)) - wanted) / step
            if best is None or nodes < best[0]:
                best = nodes, beta, step, end
        assert best is not None
        _, beta, step, end = best
        exact_step = short(step)
        return Ray(
            angle=short(beta / 2),
            step=exact_step,
            first=math.floor(min(wanted - 1, -1.0) / float(exact_step)),
            last=math.ceil(math.log(end) / float(exact_step)) + 1,
        )

    def _sector_size(self, w: float, beta: float, log_error: float) -> tuple[float, float]:
        """Return log of the integral of |φ·g^w| in a sector, and where its rest is small."""
        cosine, double = math.cos(beta), math.cos(2 * beta)
        # from here on the terms fall, as fast as their bound asks for
        rise = max(w, 0.0) * self._m - self._m * cosine / 2
        least = (rise + math.sqrt(rise * rise + 4 * double)) / (2 * double)
        top = (max(w, 0.0) * self._m + math.sqrt(2 * max(-log_error, 1.0)) + _REACH) / double
        x = np.linspace(0, 2 * top, 4000)
        logs = w * self._log_g(x) - (self._m**2 / 4 + self._m * x * cosine + x * x * double) / 2
        peak = float(logs.max())
        size = peak + math.log(float(np.exp(logs - peak).sum()) * (x[1] - x[0]))
        beyond = np.nonzero(logs > log_error - 3)[0]
        last = int(beyond[-1]) if beyond.size else 1
        return size, max(float(x[min(last + 2, x.size - 1)]), _PAST * least)

    # --- balls ---------------------------------------------------------------------------------

    def _check(self, beta: arb) -> None:
        """Refuse a sector in which |g| ≥ 1 and arg g ≥ 0 are not known."""
        tangent, rate = beta.tan(), ball(self.rate)
        limit = ball(Fraction(9, 20)) * arb.pi() / ((2 - rate) / rate).log()
        least = limit.min(ball(Fraction(1, 2)))
        if not (certainly(beta > 0) and certainly(tangent <= least)):
            raise ArithmeticError("a sector that the integrand's bound does not hold on")

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        assert isinstance(plan, Ray)
        losses, bases = self._nodes(plan)
        first = self._k(plan, losses, bases, w, h, count)
        second = self._k(plan, losses, bases, 1 - w, h, count)
        atom = self.atom()
        found = [one + other.conjugate() + atom for one, other in zip(first, second, strict=True)]
        return [acb(found[0].real), *found[1:]]

    def atom(self) -> arb:
        """Return P(L = 0) = 1 - K(0) - K(1) = (1 - q)(2Φ(m/2) - 1)."""
        return ball(1 - self.rate) * (ball(self.shift) / arb(8).sqrt()).erf()

    def _nodes(self, plan: Ray) -> tuple[list[acb], list[acb]]:
        """Return log g at the nodes, and log of φ·du/ds·η there."""
        shift, rate, step, angle = map(ball, (self.shift, self.rate, plan.step, plan.angle))
        scale = (step / (2 * arb.pi()).sqrt()).log()
        losses, bases = [], []
        for j in range(plan.first, plan.last + 1):
            log_x = acb(step * j, angle)
            x = log_x.exp()
            u = shift / 2 + x
            losses.append(self._log_g_at(shift * x, rate))
            bases.append(log_x + scale - u * u / 2)
        return losses, bases

    def _log_g_at(self, t: acb, rate: arb) -> acb:
        """Return log(1 + q(e^t - 1)), whose argument grows beyond π with Im t."""
        if certainly(t.imag < 3):
            return (rate * t.expm1()).log1p()
        return rate.log() + t + (1 + (1 - rate) / rate * (-t).exp()).log()

    def _k(
        self, plan: Ray, losses: list[acb], bases: list[acb], w: Fraction, h: Fraction, count: int
    ) -> list[acb]:
        """Enclose K(w + ikh)."""
        tilt = ball(w)
        exponents = [base + loss * tilt for base, loss in zip(bases, losses, strict=True)]
        sums = exponential_sums(exponents, losses, h, count)
        around = arb(0, self._error(plan, w))
        square = acb(around, around)
        return [value + square for value in sums]

    def _error(self, plan: Ray, w: Fraction) -> arb:
        """Bound what the sum differs from K by, for every Im w ≥ 0."""
        beta, step = ball(2 * plan.angle), ball(plan.step)
        self._check(beta)
        start, stop = (step * plan.first).exp(), (step * plan.last).exp()
        top = self._size(w, beta, arb(0))
        strip = 2 * top / (2 * arb.pi() * ball(plan.angle) / step).expm1()
        # terms below the first are at most η·φ(m/2)·|g|^w·x, which is a geometric series
        head = self._weight(beta, arb(0)) * start * self._power(w, start)
        head *= step / (1 - (-step).exp())
        return strip + head + self._rest(w, beta, stop)

    def _power(self, w: Fraction, x: arb) -> arb:
        """Bound |g|^w within x of m/2."""
        if w <= 0:
            return arb(1)
        return (1 + ball(self.rate) * (ball(self.shift) * x).expm1()) ** ball(w)

    def _weight(self, beta: arb, x: arb) -> arb:
        """Bound |φ| at x and beyond, in the sector."""
        shift = ball(self.shift)
        square = shift * shift / 4 + shift * x * beta.cos() + x * x * (2 * beta).cos()
        return (-square / 2).exp() / (2 * arb.pi()).sqrt()

    def _size(self, w: Fraction, beta: arb, start: arb) -> arb:
        """Bound ∫ |φ|·|g|^w dx on every ray of the sector, box by box."""
        edges = self._boxes(max(float(w), 0.0), float(beta.mid()))
        spend(_EACH_BOX * len(edges))
        total = arb(0)
        for first, last in pairwise(edges):
            low, high = arb(first), arb(last)
            total += self._weight(beta, low) * self._power(w, high) * (high - low)
        return total + self._tail(w, beta, arb(edges[-1]))

    def _boxes(self, w: float, beta: float) -> list[float]:
        """Return the edges of boxes: g^w grows little in one, but where next to nothing is."""
        cosine, double = math.cos(beta), math.cos(2 * beta)
        x = np.linspace(0.0, w * self._m / double + _REACH, _FLOATS)
        logs = w * self._log_g(x) - (self._m * x * cosine + x * x * double) / 2
        spare = np.clip((float(logs.max()) - logs - _NOTHING) / 2, _GROWTH, _MOST_GROWTH)
        # the share of q·e^t in g grows with x: that of the next place bounds it
        share = np.exp(np.minimum(math.log(self._q) + self._m * x - self._log_g(x), 0.0))
        slope = w * self._m * np.append(share[1:], 1.0) + 1
        # what is to spare is that of the place where there is less
        least = np.minimum(spare, np.append(spare[1:], spare[-1]))
        counts = np.ceil(np.diff(x) * slope[:-1] / least[:-1]).astype(int)
        parts = [
            np.linspace(low, high, count, endpoint=False)
            for low, high, count in zip(x[:-1], x[1:], np.maximum(counts, 1), strict=True)
        ]
        return [*np.concatenate(parts).tolist(), float(x[-1])]

    def _tail(self, w: Fraction, beta: arb, x: arb) -> arb:
        """Bound ∫ |φ|·|g|^w beyond x, where g grows at most as e^{m(x' - x)}."""
        double, rise = (2 * beta).cos(), max(ball(w), arb(0)) * ball(self.shift)
        # -(x' - x)²·cos 2β/2 - k(x' - x) with k > 0: at most ∫ e^{-k·x'}
        fall = double * x + ball(self.shift) * beta.cos() / 2 - rise
        if not certainly(fall > 0):
            raise ArithmeticError("nodes that leave out the middle")
        return self._weight(beta, x) * self._power(w, x) / fall

    def _rest(self, w: Fraction, beta: arb, x: arb) -> arb:
        """Bound the terms beyond x: x·|φ|·|g|^w falls there, so that they are below an integral."""
        fall = (2 * beta).cos() * x + ball(self.shift) * beta.cos() / 2
        fall -= max(ball(w), arb(0)) * ball(self.shift)
        if not certainly(fall * x > 1):
            raise ArithmeticError("nodes that leave out the middle")
        return self._tail(w, beta, x)

    # --- far out -------------------------------------------------------------------------------

    def _far_plan(self, w: float) -> tuple[float, float, int, int]:
        """Return the ray's angle, and the boxes e^{j·step}, first to last, of a bound far out."""
        angle = float(short(math.atan(self._widest()) * _FAR_ANGLE))
        high = max(w, 1 - w, 1.0)
        end = (high * self._m + _REACH) / math.cos(2 * angle)
        enough = min(_FAR_STEP, _FAR_STEP / (high * self._m * end) * _REACH)
        step = float(short(max(enough, (math.log(end) - _FAR_LOWEST) / _MOST_BOXES)))
        return angle, step, math.floor(_FAR_LOWEST / step), math.ceil(math.log(end) / step)

    def _far_k(self, w: float, y: float) -> float:
        """Return the bound of |K(w + iy)| in floats; see :meth:`beyond`."""
        angle, x, arg = self._far(max(w, 1 - w))
        double, cosine = math.cos(2 * angle), math.cos(angle)
        square = self._m**2 / 4 + self._m * x * cosine + x * x * double
        power = max(w, 0.0) * self._log_g(x)
        logs = power[1:] - square[:-1] / 2 - y * arg + np.log(np.diff(x))
        with np.errstate(under="ignore", over="ignore"):
            return float(np.exp(logs).sum()) / math.sqrt(2 * math.pi)

    def _find_far(self, high: float) -> tuple[float, Floats, Floats]:
        angle, step, first, last = self._far_plan(high)
        x = np.concatenate([[0.0], np.exp(step * np.arange(first, last + 1))])
        t = self._m * x * np.exp(1j * angle)
        back = (1 - self._q) * np.exp(-t)
        arg = t.imag + np.angle(self._q + back)
        late = t.imag[1:] + angle > math.pi
        low = np.where(late, t.imag[:-1] - math.asin(0.5), arg[:-1])
        return angle, x, low

    def log_decay(self, w: float, y: float) -> float:
        """Return about log of the bound over F(w)."""
        _, _, first, last = self._far_plan(max(w, 1 - w))
        spend(_EACH_LOOK * (last - first))
        total = self._atom_float + self._far_k(w, y) + self._far_k(1 - w, y)
        return min(0.0, math.log(total) - self.log_size(w))

    def beyond_plan(self, w: Fraction, y: Fraction) -> Plan:
        """Return the boxes."""
        angle, step, first, last = self._far_plan(float(w))
        return Ray(Fraction(angle), Fraction(step), first, last)

    def beyond(self, plan: Plan, w: Fraction, y: Fraction, size: arb) -> arb:
        """Bound |F(w + iy')| for y' ≥ y: the atom, and ∫ |φ|·|g|^w·e^{-y·arg g} on a ray, by boxes.

        On the ray arg g grows while Im t + θ ≤ π; later it is at least Im t - π/6, as q·e^t is then
        at least twice 1 - q.
        """
        assert isinstance(plan, Ray)
        spend(_EACH_POINT * plan.terms)
        theta, shift, rate = ball(plan.angle), ball(self.shift), ball(self.rate)
        self._check(theta)
        step, height = ball(plan.step), ball(y)
        points = [arb(0), *((step * j).exp() for j in range(plan.first, plan.last + 1))]
        turn = acb(theta.cos(), theta.sin())
        total = self.atom()
        for low, high in pairwise(points):
            psi = shift * high * theta.sin()
            if not is_above(psi + theta, arb.pi()):
                arg = self._log_g_at(shift * low * turn, rate).imag
            else:
                arg = shift * low * theta.sin() - arb.pi() / 6
            share = self._weight(theta, low) * (high - low) * (-height * arg).exp()
            total += share * (self._power(w, high) + self._power(1 - w, high))
        end = points[-1]
        return total + self._tail(w, theta, end) + self._tail(1 - w, theta, end)
