"""The loss of Laplace noise, or of a bounded range, on a Poisson sample.

With L the loss without sampling (exponential.py) and γ the sampling rate it is
ℓ = log g(L), g(x) = 1 - γ + γe^x, under the same Q, so that

    F(w) = m·g(-r)^w + m·e^{-r}·g(r)^w + f·(1 - γ)^w + ∫_{-r}^{r} (D/2)e^{-(x+r)/2}·g(x)^w dx,

the integral in balls. Far out, ψ the integrand at ω = Re w and ℓ' = γe^x/g, integration by parts
gives at most (2/y)·(ψ/ℓ' at both ends): log ψ/ℓ' has one minimum at most. Before that |F(ω + iy)|
is looked at on boxes of y: its slope is at most max|ℓ|·F(ω).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb

from gdpbridge.losses.transforms.base import Number, Plan, Transform, number_ball
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["SampledExponentialTransform"]

_NODES = 96
# how |F| far out is looked at: its bits, in floats at so many places, and on boxes of so large a
# share of what they might show
_FAR_BITS, _LOOKS, _SHARE = 64, 128, 0.25
_MOST_BOXES = 4000
# what an integral takes, more for each turn of what is integrated, and a look in floats at what is
# far out; in units of numeric/effort.py
_EACH, _EACH_TURN, _LOOK = 1_500, 250, 3_000


class SampledExponentialTransform(Transform):
    """One run.

    Args:
        loss: that without sampling.
        gamma: the chance of a record to be in the sample, in (0, 1).
    """

    def __init__(self, loss: ExponentialLoss, gamma: Fraction) -> None:
        self.loss, self.gamma = loss, gamma
        self.failure = gamma * loss.failure
        self.distance = gamma

    def largest(self) -> arb:
        """Return log(1 - γ + γe^r)."""
        return self._moved(ball(self.loss.width))

    def least(self) -> arb:
        """Return log(1 - γ + γe^{-r}), or log(1 - γ) where the loss may be infinite."""
        if self.loss.failure:
            return ball(1 - self.gamma).log()
        return self._moved(-ball(self.loss.width))

    def _moved(self, loss: arb) -> arb:
        return (ball(1 - self.gamma) + ball(self.gamma) * loss.exp()).log()

    def ends(self) -> tuple[Number, Number]:
        """Return the losses between which there is a density."""
        width = self.loss.width
        return lambda: self._moved(ball(-width)), lambda: self._moved(ball(width))

    def steepest(self) -> float:
        """Return about the most that the loss grows by with that without sampling."""
        share = float(self.gamma)
        return share / (share + (1 - share) * math.exp(-float(self.loss.width)))

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        """The losses and Q's masses, of the atoms and of a quadrature."""
        width, atom, gamma = (float(one) for one in (self.loss.width, self.loss.atom, self.gamma))
        with precision(_FAR_BITS):
            density = float(number_ball(self.loss.density))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        x = np.concatenate([nodes * width, [-width, width]])
        inside = weights * width * density / 2 * np.exp(-(nodes + 1) * width / 2)
        masses = np.concatenate([inside, [atom, atom * math.exp(-width)]])
        losses = np.log1p(gamma * np.expm1(x))
        kept = float(self.loss.failure)
        return np.append(losses, math.log1p(-gamma)), np.append(masses, kept)

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        return float(self.log_shapes(np.array([w]))[0][0])

    def log_sizes(self, w: Floats) -> Floats:
        """Return log F in float64."""
        return self.log_shapes(w)[0]

    def log_shapes(self, w: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log F, mean and variance in float64."""
        losses, masses = self._floats
        with np.errstate(divide="ignore"):
            terms = np.log(masses) + w[:, None] * losses
        top = terms.max(axis=1)
        weights = np.exp(terms - top[:, None])
        total = weights.sum(axis=1)
        mean = weights @ losses / total
        second = weights @ losses**2 / total
        return top + np.log(total), mean, np.maximum(second - mean**2, 0.0)

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        return [self._value(acb(ball(w), ball(h) * number)) for number in range(count)]

    def work(self, plan: Plan, h: Fraction, count: int) -> float:
        """Return what :meth:`values` takes: an integral each, of what turns ever more often."""
        with precision(_FAR_BITS):
            turns = float(self.largest() - self.least()) * float(h) * count / (2 * math.pi)
        return count * (_EACH + _EACH_TURN * turns / 2)

    def _value(self, w: acb) -> acb:
        width, kept, gamma = ball(self.loss.width), ball(1 - self.gamma), ball(self.gamma)
        half = number_ball(self.loss.density) / 2

        def power(x: acb, analytic: bool = False) -> acb:
            return ((kept + gamma * x.exp()).log(analytic=analytic) * w).exp()

        def inside(x: acb, analytic: bool) -> acb:
            return (-(x + width) / 2).exp() * power(x, analytic)

        found = acb.integral(inside, acb(-width), acb(width)) * half
        found += power(acb(-width)) * ball(self.loss.atom)
        found += power(acb(width)) * (ball(self.loss.atom) * (-width).exp())
        if self.loss.failure:
            found += (kept.log() * w).exp() * ball(self.loss.failure)
        return found

    def _ends(self, w: Fraction) -> tuple[arb, arb]:
        """Return what atoms leave for every y, and the constant of 1/y for the rest."""
        width, kept, gamma = ball(self.loss.width), ball(1 - self.gamma), ball(self.gamma)
        omega, half = ball(w), number_ball(self.loss.density) / 2
        atoms, rest = arb(0), arb(0)
        for sign in (-1, 1):
            x = sign * width
            g = kept + gamma * x.exp()
            mass = (-(x + width) / 2).exp()
            atoms += ball(self.loss.atom) * mass**2 * (omega * g.log()).exp()
            rest += half * mass * ((omega + 1) * g.log()).exp() / (gamma * x.exp())
        if self.loss.failure:
            atoms += (omega * kept.log()).exp() * ball(self.loss.failure)
        return atoms, 2 * rest

    def log_decay(self, w: float, y: float) -> float:
        """Return about log of the bound over F(w)."""
        spend(_LOOK)
        losses, masses = self._floats
        tilted = masses * np.exp(w * losses - self.log_size(w))
        with precision(_FAR_BITS):
            atoms, rest = (
                float(one) * math.exp(-self.log_size(w)) for one in self._ends(Fraction(w))
            )
        # where the bound by parts is as small as what is seen before
        places = y * np.geomspace(1.0, max(1.5, 8 * rest / y), _LOOKS)
        seen = np.abs(np.exp(1j * places[:, None] * losses) @ tilted)
        best = np.minimum(np.maximum.accumulate(seen), 1.0)
        ends = np.flatnonzero(np.less_equal(atoms + rest / places, best))
        value = float(best[ends[0]]) if ends.size else 1.0
        return math.log(value + _SHARE * (1 - value))

    def beyond(self, plan: Plan, w: Fraction, y: Fraction, size: arb) -> arb:
        """Bound |F(w + iy')| for y' ≥ y, on boxes and then by parts."""
        with precision(_FAR_BITS):
            atoms, rest = self._ends(w)
            width = ball(self.loss.width)
            kept = ball(1 - self.gamma)
            ends = [(kept + ball(self.gamma) * end.exp()).log() for end in (width, -width)]
            if self.loss.failure:
                ends.append(kept.log())
            reach = arb(0)
            for end in ends:
                reach = reach.max(abs(end))
            slope, at, worst = reach * size, ball(y).lower(), arb(0)
            for _ in range(_MOST_BOXES):
                if certainly(atoms + rest / at <= worst):
                    return worst
                spend(_EACH)
                value = abs(self._value(acb(ball(w), at)))
                room = size - value
                if not certainly(room > 0):
                    return size
                step = (_SHARE * room / slope).lower()
                worst = worst.max((value + step * slope).upper())
                at = (at + step).lower()
            return size
