"""What composition needs of one mechanism's privacy loss: its transform, on lines and far out.

For a pair of distributions P, Q with densities p, q and the loss L = log p/q let

    F(w) = E_Q[e^{wL}; p, q > 0] = ∫ p^w q^{1-w}.

E_P[e^{sL}; L < ∞] is F(1 + s), and the same of Q against P is F(-s), so that one transform serves
both directions. |F(w)| ≤ F(Re w), and F of independent runs is the product of the F.

A new kind of loss is one new file with one class. Numbers that only steer a search are floats;
everything that a proof rests on is computed in balls from a plan, whose numbers are exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb

from gdpbridge.errors import InputError, Words
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = [
    "NO_PLAN",
    "SHORT_BITS",
    "Number",
    "Plan",
    "Transform",
    "exponential_sums",
    "number_ball",
    "phase",
    "powers",
    "require_noise",
    "short",
]

# a number known exactly, or enclosed at the working precision
Number = Fraction | Callable[[], arb]

# of a number that is rounded to be quick to use
SHORT_BITS = 12
# entries of a table of exponentials
_TABLE = 1 << 15
# shares of a deviation between places of a second difference
_DIFFERENCE = 1e-3
_LEAST_NOISE = Fraction(1, 1000)
# what finding a term takes, beside a product, in units of numeric/effort.py
_EACH_TERM = 400


@dataclass(frozen=True)
class Plan:
    """How F is evaluated: the numbers of a quadrature, for a kind that needs one.

    A subclass holds exact numbers only (fractions and whole numbers), so that whoever has them
    can repeat the evaluation in another arithmetic.
    """

    @property
    def terms(self) -> int:
        """How many terms a value takes."""
        return 1


NO_PLAN = Plan()


class Transform(ABC):
    """The privacy loss of one run of one mechanism.

    Attributes:
        symmetric: whether Q against P has the same loss as P against Q.
        failure: P(L = ∞).
        reverse_failure: Q(L = -∞).
        tail_variance: μ_t² of one run: the upper limit of ε²/(-2 log δ(ε)); 0 for bounded losses.
        gaussian_variance: μ² of a Gaussian curve that δ(ε) of one run stays below; 0 for bounded
            losses. At least tail_variance.
        distance: an upper bound of the total variation distance of P and Q.
        domain: an open range of Re w where F is proved to be finite; it holds [0, 1] or its inside.
    """

    symmetric: bool = False
    failure: Number = Fraction(0)
    reverse_failure: Number = Fraction(0)
    tail_variance: Fraction = Fraction(0)
    distance: Fraction = Fraction(1)
    domain: tuple[float, float] = (-math.inf, math.inf)

    @property
    def gaussian_variance(self) -> Fraction:
        """See the class's attributes: the tail's own, for kinds that say nothing else."""
        return self.tail_variance

    @abstractmethod
    def log_size(self, w: float) -> float:
        """Return log F(w) for a real w in the domain, in float64: for searches, not for proofs."""

    def log_sizes(self, w: Floats) -> Floats:
        """Return log F at real w in the domain, in float64."""
        return np.array([self.log_size(float(one)) for one in w])

    def log_shapes(self, w: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log F, and mean and variance of L under the tilt, at real w, in float64."""
        found = np.array([self._log_shape(float(one)) for one in w]).reshape(-1, 3)
        return found[:, 0], found[:, 1], found[:, 2]

    def _log_shape(self, w: float) -> tuple[float, float, float]:
        """Return the same for one w, by differences."""
        low, high = self.domain
        step = _DIFFERENCE * min(1.0, w - low, high - w)
        for _ in range(60):
            before, at, after = self.log_size(w - step), self.log_size(w), self.log_size(w + step)
            variance = (before - 2 * at + after) / step**2
            # a step that is small beside 1/deviation, and not lost in rounding
            if variance > 0 and 1e-5 < variance * step * step < 0.3:
                break
            wanted = 0.1 / math.sqrt(variance) if variance > 0 else 4 * step
            step = min(max(wanted, step / 16), step * 16, 0.4 * (w - low), 0.4 * (high - w))
        return at, (after - before) / (2 * step), max(variance, 0.0)

    def plan(self, w: Fraction, log_error: float) -> Plan:
        """Return how to evaluate F on the line Re w with an error of about e^log_error·F(Re w)."""
        return NO_PLAN

    def bits_lost(self, plan: Plan) -> int:
        """Return how many bits the terms of a plan cancel, beyond the few that always may."""
        return 0

    def size(self, w: Fraction, log_error: float) -> arb:
        """Bound F(w) for a real w in the domain from above, by about e^log_error·F(w) more."""
        return self.values(self.plan(w, log_error), w, Fraction(1), 1)[0].real

    @abstractmethod
    def values(self, plan: Plan, w: Fraction, h: Fraction, count: int) -> list[acb]:
        """Enclose F(w + ikh) for k = 0, …, count - 1, all errors included.

        Args:
            plan: what :meth:`plan` returned for this w.
            w: a real number in the domain.
            h: the distance of the places, positive.
            count: how many of them.
        """

    def work(self, plan: Plan, h: Fraction, count: int) -> float:
        """Return what :meth:`values` takes with short numbers, in units of numeric/effort.py."""
        # the terms themselves take more than their products
        return (count + _EACH_TERM) * plan.terms

    def log_decay(self, w: float, y: float) -> float:
        """Return about log of what :meth:`beyond` will give, over F(w); 0 if it never falls."""
        return 0.0

    def beyond_plan(self, w: Fraction, y: Fraction) -> Plan:
        """Return how to bound |F(w + iy')| for all y' ≥ y."""
        return NO_PLAN

    def beyond(self, plan: Plan, w: Fraction, y: Fraction, size: arb) -> arb | None:
        """Bound |F(w + iy')| for all y' ≥ y from above, by ``size`` ≥ F(w); None for no better."""
        return None

    def largest(self) -> arb | None:
        """Return the largest finite loss of P against Q, None if there is none."""
        return None

    def least(self) -> arb | None:
        """Return the least finite loss of P against Q, None if there is none."""
        return None


def number_ball(value: Number) -> arb:
    """Enclose a number at the working precision."""
    return ball(value) if isinstance(value, Fraction) else value()


def short(value: float, *, up: bool = False) -> Fraction:
    """Return a positive float rounded to a few bits, downward or up: exact, and quick to use."""
    mantissa, exponent = math.frexp(value)
    scaled = mantissa * 2**SHORT_BITS
    whole, shift = math.ceil(scaled) if up else math.floor(scaled), exponent - SHORT_BITS
    return Fraction(whole << shift) if shift > 0 else Fraction(whole, 1 << -shift)


def phase(y: arb) -> acb:
    """Return iy."""
    return acb(0, y)


def exponential_sums(
    exponents: Sequence[acb], losses: Sequence[Any], h: Fraction, count: int
) -> list[acb]:
    """Enclose Σ_j exp(e_j + i·k·h·L_j) for k = 0, …, count - 1.

    With k = r·k₀ + k₁ the sums are the entries of a product of two tables of exponentials.
    """
    terms = [exponent.exp() for exponent in exponents]
    if count == 1:
        return [sum(terms, acb(0))]
    # fewer rows than columns or the other way round: exponentials are dearer than products
    row = math.isqrt(count - 1) + 1
    rows = -(-count // row)
    # a power k has 2·log₂ k roundings behind it, and is wider by k^1.5 at most
    with precision(working_precision() + 2 * row.bit_length()):
        step = ball(h)
        coarse, fine = phase(step * row), phase(step)
        total = acb_mat(rows, row)
        # so many terms at once that the tables stay small
        size = max(_TABLE // row, 1)
        for first in range(0, len(terms), size):
            some = losses[first : first + size]
            left = powers([(coarse * loss).exp() for loss in some], rows, terms[first:])
            right = powers([(fine * loss).exp() for loss in some], row)
            shape = rows, len(some)
            total += acb_mat(*shape, left) * acb_mat(row, len(some), right).transpose()
    return list(total.entries())[:count]


def powers(bases: Sequence[acb], count: int, factors: Sequence[acb] = ()) -> list[acb]:
    """Enclose f_j·b_j^k, j after j, for k = 0, …, count - 1; without factors, b_j^k.

    Each is a product of two that are half as high: a running product of complex balls would widen
    at every step.
    """
    one = acb(1)
    found = [[one] * len(bases), list(bases)]
    for k in range(2, count):
        low, high = found[k // 2], found[k - k // 2]
        found.append([x * y for x, y in zip(low, high, strict=True)])
    if factors:
        found = [[x * y for x, y in zip(line, factors, strict=False)] for line in found]
    return [value for line in found[:count] for value in line]


def require_noise(sigma: Fraction) -> None:
    """Refuse noise so small that the places which count of one run are too many to look at.

    Raises:
        InputError: for such noise.
    """
    if sigma < _LEAST_NOISE:
        told = Words("less than a thousandth of what a record moves")
        raise InputError("noise", told, "more than that for composition")
