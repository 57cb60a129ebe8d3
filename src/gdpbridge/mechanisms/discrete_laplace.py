"""The discrete Laplace (two-sided geometric) mechanism: P(x) ∝ e^{-|x|/b} on the whole numbers.

For two answers Δ apart the loss at x is (|x - Δ| - |x|)/b. With r = e^{-1/b} the line between
losses is A - B·e^ε with A = P(x ≤ c) = 1 - r^{c+1}/(1 + r) and B = P(x ≤ c - Δ) = r^{Δ-c}/(1 + r),
c the largest x whose loss is above ε (Ghosh, Roughgarden and Sundararajan 2012).

Clamped to a range of answers, as the geometric mechanism with bounds is, the worst two answers in a
range of Δ or more have the same profile: the event x ≤ c lies between them, and clamping keeps it.

A vector of whole numbers, each with such noise, is no worse if Δ is its L1 sensitivity. A path of Δ
steps or fewer, each of which moves one number by 1, joins two answers. The ends of a step have the
trade-off function f of noise that moves by 1, in either order; those of the path then have at least
1 - (1 - f)^{∘Δ} (Dong, Roth and Su 2022, theorem 2.14). One number that moves by Δ attains it, so
that it is the worst case: its noise is log-concave, the best tests are X ≥ c, and 1 - f takes
P(X ≥ c) to P(X ≥ c - 1) and is linear in between. No more than symmetry and log-concavity is used.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from flint import arb

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.linear import LinearCurve, linear_curve
from gdpbridge.curves.lines import ArrayLines, Line, segments_from
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile, Real, Whole, positive, whole_sensitivity
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import ball

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["DiscreteLaplace", "discrete_laplace_curve", "discrete_laplace_losses"]

MAX_SENSITIVITY = 1_000_000


@register
class DiscreteLaplace(Profile):
    """Discrete Laplace (geometric) noise added to whole numbers, with L1 sensitivity."""

    nature: ClassVar[Nature] = Nature.OWN
    additive_noise: ClassVar[bool] = True
    kind: Literal["discrete-laplace"] = "discrete-laplace"
    scale: Real = positive(
        "scale b of the noise: P(x) is proportional to e^(-|x|/b)",
        symbol="b",
        typical=(0.2, 20.0),
        effect="lowers",
    )
    sensitivity: Whole = whole_sensitivity(MAX_SENSITIVITY, typical=(1, 10))

    def model_post_init(self, _: Any) -> None:
        """Check the largest loss."""
        self.require("sensitivity/scale", self._largest() <= MAX_EPS, f"at most {MAX_EPS:g}")

    def _largest(self) -> Fraction:
        return self.sensitivity / self.exact("scale")

    def of_group(self, size: int) -> DiscreteLaplace:
        """Return that of ``size`` times the sensitivity."""
        return DiscreteLaplace(**{**self.model_dump(), "sensitivity": size * self.sensitivity})

    def build_curve(self) -> Curve:
        """Return the lines between the losses."""
        return discrete_laplace_curve(1 / self.exact("scale"), self.sensitivity)

    def composed_curve(self, times: int) -> Curve:
        """Return the binomial curve where the losses are ±1/b, else that of a lattice."""
        if self.sensitivity != 1:
            return super().composed_curve(times)
        return binomial_curve(self._largest(), times)

    def privacy_losses(self) -> Losses:
        """Return the loss: Δ/b - 2x/b for x from 0 to Δ, of which the ends hold all beyond.

        Raises:
            InputError: for a sensitivity with more losses than can be composed.
        """
        return discrete_laplace_losses(1 / self.exact("scale"), self.sensitivity)


def discrete_laplace_curve(rate: Fraction, steps: int) -> LinearCurve:
    """Return the curve of noise of scale 1/rate whose answer moves by so many whole numbers."""
    end = steps * rate
    return linear_curve(_Lines(rate, steps), ConstantTail(end, Fraction(0)), end)


def discrete_laplace_losses(rate: Fraction, steps: int) -> Losses:
    """Return the loss of such noise: steps·rate - 2x·rate for x from 0 on, the ends hold all else.

    Raises:
        InputError: for more losses than can be composed.
    """
    from gdpbridge.losses.moments import Part
    from gdpbridge.losses.transforms.finite import MAX_LOOSE, FiniteTransform

    if steps >= MAX_LOOSE:
        raise InputError("sensitivity", steps, f"below {MAX_LOOSE} for composition")

    def mass(x: int) -> arb:
        # P(x) = r^x(1 - r)/(1 + r), and P(X ≤ 0) = 1/(1 + r), P(X ≥ Δ) = r^Δ/(1 + r)
        fall = ball(-rate).exp()
        share = ball(-rate * x).exp() / (1 + fall)
        return share if x in (0, steps) else share * (1 - fall)

    order = range(steps, -1, -1)
    law = FiniteTransform(
        [(steps - 2 * x) * rate for x in order],
        [partial(mass, x) for x in order],
        symmetric=True,
        spacing=rate if steps % 2 else 2 * rate,
    )
    return [Part(law, 1)]


class _Lines(ArrayLines):
    """The lines of discrete Laplace noise."""

    def __init__(self, rate: Fraction, sensitivity: int) -> None:
        self.rate, self.sensitivity = rate, sensitivity
        # the largest x with a positive loss belongs to the first line
        self.first = (sensitivity + 1) // 2 - 1
        c = np.arange(self.first, -1, -1)
        size = float(rate)
        log_norm = np.logaddexp(0.0, -size)
        super().__init__(
            segments_from(
                end=(sensitivity - 2.0 * c) * size,
                log_b=-(sensitivity - c) * size - log_norm,
                log_a_complement=-(c + 1) * size - log_norm,
            )
        )

    def line(self, index: int) -> Line:
        """Return the line for c = first - index."""
        c = self.first - index
        norm = 1 + ball(-self.rate).exp()
        missing = ball(-(c + 1) * self.rate).exp() / norm
        b = ball(-(self.sensitivity - c) * self.rate).exp() / norm
        return Line(1 - missing, missing, b, 1 - b)

    def end(self, index: int) -> Any:
        """Return the loss of c."""
        return ball((self.sensitivity - 2 * (self.first - index)) * self.rate)
