"""The loss of discrete Gaussian noise: Δ(Δ - 2x)/(2σ²) with P(x) ∝ e^{-x²/(2σ²)}, x whole.

With θ(m) = Σ_x e^{-(x - m)²/(2σ²)} and μ = Δ/σ, F(w) = e^{μ²(w² - w)/2}·θ(wΔ)/θ(0). For real w
θ(m) ≤ θ(0), all its Fourier coefficients being positive, so that M(s) is at most that of the
Gaussian mechanism. |F(w + iy)| has the period 2πσ²/Δ: it never decays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from flint import acb, arb, arb_poly

from gdpbridge.errors import InputError
from gdpbridge.losses.transforms.base import Plan, Transform, exponential_sums
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = ["DiscreteGaussianTransform", "Weights"]

# σ from which θ is constant in floats, and how many σ of the sum count there
_FLAT, _WIDTHS = 2.0, 9.5
# masses below 2 to the power of minus this are cut off, where losses must be finitely many
_CUT_BITS = 160
# of the sum of runs, whose masses are first had about 0
_WEIGHT_BITS, _SPARE_BITS = 256, 32
_MOST_PLACES = 1 << 17


@dataclass(frozen=True)
class _Range(Plan):
    """The whole numbers that a sum is taken over."""

    first: int
    last: int

    @property
    def terms(self) -> int:
        """How many there are."""
        return self.last - self.first + 1


class DiscreteGaussianTransform(Transform):
    """Discrete Gaussian noise about 0 against that about Δ.

    Args:
        variance: σ², positive.
        sensitivity: Δ.
    """

    symmetric = True

    def __init__(self, variance: Fraction, sensitivity: int) -> None:
        self.variance, self.sensitivity = variance, sensitivity
        self.tail_variance = sensitivity**2 / variance

    @property
    def gaussian_variance(self) -> Fraction:
        """None: it is a little less private than the Gaussian mechanism."""
        return Fraction(0)

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        return float(self.log_shapes(np.array([w]))[0][0])

    def log_sizes(self, w: Floats) -> Floats:
        """Return log F in float64."""
        return self.log_shapes(w)[0]

    def log_shapes(self, w: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log F, mean and variance: those of the Gaussian mechanism, but for small σ."""
        mu2, rate = float(self.tail_variance), 1 / float(self.variance)
        log, mean, spread = mu2 / 2 * w * (w - 1), mu2 / 2 * (2 * w - 1), np.full(w.shape, mu2)
        sigma = math.sqrt(float(self.variance))
        if sigma >= _FLAT:
            return log, mean, spread
        reach = math.ceil(_WIDTHS * sigma) + 1
        step = np.arange(-reach, reach + 1)
        place = w * self.sensitivity
        off = np.rint(place) - place
        weights = np.exp(-(((off[:, None] + step) ** 2) * rate / 2))
        theta = weights.sum(axis=1)
        norm = float(np.exp(-(step**2) * rate / 2).sum())
        # the tilted x is about wΔ, and the loss -(x - wΔ)Δ/σ² beside its mean
        first = (weights * (off[:, None] + step)).sum(axis=1) / theta
        second = (weights * (off[:, None] + step) ** 2).sum(axis=1) / theta - first**2
        scale = self.sensitivity * rate
        return log + np.log(theta / norm), mean + scale * first, scale**2 * second

    def plan(self, w: Fraction, log_error: float) -> Plan:
        """Return the x about wΔ that count."""
        middle = float(w * self.sensitivity)
        reach = math.sqrt(2 * float(self.variance) * (max(-log_error, 0.0) + 2)) + 2
        return _Range(math.floor(middle - reach), math.ceil(middle + reach))

    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh)."""
        assert isinstance(plan, _Range)
        rate = Fraction(self.sensitivity) / self.variance
        half = Fraction(self.sensitivity) ** 2 / (2 * self.variance)
        norm = self.norm()
        order = range(plan.first, plan.last + 1)
        losses = [ball(rate * x - half) for x in order]
        exponents = [
            acb(ball(w * (rate * x - half) - Fraction(x * x) / (2 * self.variance))) for x in order
        ]
        off = self._beyond(plan.last + 1, w * self.sensitivity)
        off += self._beyond(1 - plan.first, -w * self.sensitivity)
        off *= ball(-w * half).exp()
        error = acb(arb(0, off), arb(0, off))
        return [(value + error) / norm for value in exponential_sums(exponents, losses, h, count)]

    def _beyond(self, first: int, tilt: Fraction) -> arb:
        """Bound Σ e^{-x²/(2σ²) + x·m/σ²} over x ≥ first, m the tilt, by a geometric series."""
        ratio = ball((tilt - first - Fraction(1, 2)) / self.variance).exp()
        term = ball((2 * tilt * first - first**2) / (2 * self.variance)).exp()
        return (term / (1 - ratio)).upper()

    def norm(self) -> arb:
        """Enclose θ(0)."""
        reach = self._reach(working_precision())
        masses = (ball(-Fraction(x * x) / (2 * self.variance)).exp() for x in range(1, reach))
        beyond = arb(0).union(self._beyond(reach, Fraction(0)))
        return 1 + 2 * (sum(masses, arb(0)) + beyond)

    def _reach(self, bits: int) -> int:
        return math.ceil(math.sqrt(2 * float(self.variance) * (bits + 8) * math.log(2))) + 1

    def cut_off(self, times: int) -> FiniteTransform:
        """Return some runs as one, with losses of tiny masses as infinite ones."""
        variance, weights = times * self.variance, Weights(self, times)
        reach = math.ceil(math.sqrt(2 * float(variance) * (_CUT_BITS + 2) * math.log(2)))
        apart = times * self.sensitivity
        top = apart + reach
        order = range(top, apart - top - 1, -1)

        def beyond() -> arb:
            # P(|S| > r) ≤ 2e^{-r²/(2V)}, as of the Gaussian law
            return arb(0).union(2 * ball(-Fraction(reach**2) / (2 * variance)).exp())

        unit = self.sensitivity / (2 * self.variance)
        places = [apart - 2 * x for x in order]
        return FiniteTransform(
            [unit * place for place in places],
            [partial(weights.mass, x) for x in order],
            failure=beyond,
            reverse_failure=beyond,
            symmetric=True,
            spacing=unit,
        )


class Weights:
    """w(x) in P(S = x) = e^{-x²/(2V)}·w(x), for the sum S of some runs.

    As e^{-Σx²/(2σ²)} = e^{-S²/(2V)}·e^{-Σ(x - S/T)²/(2σ²)} with V = Tσ², and 1 more in all x is T
    more in S and leaves the last factor, w has the period T: T numbers give all masses.

    Args:
        one: the loss of one run.
        times: T.
    """

    def __init__(self, one: DiscreteGaussianTransform, times: int) -> None:
        self._one, self._times = one, times
        self._known: tuple[int, list[arb]] = 0, []
        with precision(_WEIGHT_BITS):
            self.logs: Floats = np.array([float(weight.log()) for weight in self._all()])
        self.spread = float(self.logs.max() - self.logs.min())

    def at(self, x: int) -> arb:
        """Enclose that of a whole number."""
        return self._all()[x % self._times]

    def mass(self, x: int) -> arb:
        """Enclose P(S = x)."""
        rate = 1 / (2 * self._times * self._one.variance)
        return self.at(x) * ball(-rate * x * x).exp()

    def largest(self) -> arb:
        """Return the upper end of the largest one."""
        found = arb(0)
        for weight in self._all():
            found = found.max(weight.upper())
        return found

    def uneven(self) -> arb:
        """Bound by how large a share they are off 1/√(2πV)."""
        even = (2 * arb.pi() * ball(self._times * self._one.variance)).sqrt()
        found = arb(0)
        # where they are all the same, they are one object
        for weight in {id(one): one for one in self._all()}.values():
            found = found.max(abs(weight * even - 1).upper())
        return found

    def _all(self) -> list[arb]:
        # more digits than asked for do no harm
        bits = -(-max(working_precision(), _WEIGHT_BITS) // _WEIGHT_BITS) * _WEIGHT_BITS
        if self._known[0] < bits:
            with precision(bits):
                self._known = bits, self._found(bits)
        return self._known[1]

    def _found(self, bits: int) -> list[arb]:
        """Take them from the masses about 0, of which none is above T/2."""
        flat = self._flat(bits)
        if flat is not None:
            return [flat] * self._times
        times, variance = self._times, float(self._one.variance)
        # the masses at T/2 are about e^{-T/(4σ²)}, if runs are 0 and 1 by halves, or larger
        depth = (bits + _SPARE_BITS) * math.log(2)
        depth += times / (4 * variance) + 3 * math.log(times)
        if math.sqrt(2 * times * variance * depth) + times > _MOST_PLACES:
            raise InputError("times", times, "fewer runs: their losses take too many values")
        spare = _SPARE_BITS
        while True:
            with precision(bits + spare):
                middle, masses, lost = self._power(times, depth)
                half = [masses[middle + x] + lost for x in range(times // 2 + 1)]
            if all(mass.rel_accuracy_bits() >= bits for mass in half):
                break
            spare *= 2
        rate = ball(1 / (2 * times * self._one.variance))
        half = [mass * (x * x * rate).exp() for x, mass in enumerate(half)]
        return half + [half[times - x] for x in range(times // 2 + 1, times)]

    def _flat(self, bits: int) -> arb | None:
        """Return what all are to so many bits, 1/√(2πV); None where that is not enough.

        w is a sum of e^{-|x|²/(2σ²)} over a coset of the whole vectors x of sum 0. By Poisson's
        formula it is off its mean by at most a share η, the sum of e^{-2π²σ²|y|²} over the dual
        lattice without 0: over z - mean(z) for whole z, of which some entry in the middle is 0
        after a shift of all. Then |y|² ≥ |z|²/2, so that with r = e^{-π²σ²}
        η ≤ (1 + 2r/(1 - r))^T - 1. The masses' sum is 1, and that of e^{-x²/(2V)} is √(2πV), or
        more by at most a share η.
        """
        rate = -(arb.pi() ** 2) * ball(self._one.variance)
        share = rate.exp()
        off = ((2 * share / (1 - share)).log1p() * self._times).expm1().upper()
        if not certainly(off < arb(2) ** -(bits + _SPARE_BITS)):
            return None
        variance = ball(self._times * self._one.variance)
        return (1 + arb(0, 8 * off)) / (2 * arb.pi() * variance).sqrt()

    def _power(self, times: int, depth: float) -> tuple[int, arb_poly, arb]:
        """Return where 0 is, masses of a sum about it, and what any may be more."""
        reach = math.ceil(math.sqrt(2 * times * float(self._one.variance) * depth)) + times // 2
        if times == 1:
            rate = 1 / (2 * self._one.variance)
            masses = [ball(-rate * x * x).exp() for x in range(-reach, reach + 1)]
            norm = self._one.norm()
            found = arb_poly([mass / norm for mass in masses])
            lost = arb(0)
        else:
            one = self._power(times // 2, depth)
            other = one if times % 2 == 0 else self._power(times - times // 2, depth)
            found, lost = one[1] * other[1], one[2] + other[2]
            middle = one[0] + other[0]
            reach = min(reach, middle)
            found = arb_poly(found.coeffs()[middle - reach : middle + reach + 1])
        # P(|S| > r) ≤ 2e^{-r²/(2V)}, as of the Gaussian law
        beyond = 2 * ball(Fraction(-(reach**2)) / (2 * times * self._one.variance)).exp()
        return reach, found, lost + arb(0).union(beyond)
