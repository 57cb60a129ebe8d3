"""Randomized response over k buckets.

With probability p (the noise parameter) the answer is uniform over the k buckets, else the truth.
δ(ε) = (p/k)(e^ε₀ - e^ε)⁺ with e^ε₀ = 1 + k(1 - p)/p (Kairouz, Oh and Viswanath 2016). Given ε₀
instead, p/k is 1/(e^ε₀ - 1 + k), exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb
from pydantic import model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import Constant, logarithm
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve, zero_curve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Neighbours, Profile, Real, Whole, parameter
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import BALLS, Operations, Probability, ball
from gdpbridge.reading.parameters import MAX_WHOLE

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["RandomizedResponse"]

# beyond it no float holds p
_MOST = 600.0


@register
class RandomizedResponse(Profile):
    """One person's answer out of k, replaced by a random one with a given probability."""

    nature: ClassVar[Nature] = Nature.OWN
    straight: ClassVar[bool] = True
    kind: Literal["randomized-response"] = "randomized-response"
    neighbours: Neighbours = "replace-one"
    noise_parameter: Real = parameter(
        "probability p that the answer is drawn at random from all buckets",
        symbol="p",
        allowed="a number in (0, 1]",
        typical=(0.05, 1.0),
        effect="lowers",
        instead="epsilon",
        gt=0,
        le=1,
    )
    epsilon: Real | None = parameter(
        "the ε₀ that it is exactly, instead of p",
        symbol="ε₀",
        allowed=f"a number ≥ 0, at most {_MOST:g}",
        typical=(0.1, 5.0),
        default=None,
        alternative=True,
        ge=0,
        le=_MOST,
    )
    buckets: Whole = parameter(
        "number k of possible answers",
        symbol="k",
        allowed="a whole number ≥ 2, at most 10^12",
        typical=(2, 50),
        effect="raises",
        default=2,
        ge=2,
        le=MAX_WHOLE,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Say p too where ε₀ is given."""
        epsilon, buckets = given.get("epsilon"), given.get("buckets", 2)
        if not (isinstance(epsilon, int | float) and isinstance(buckets, int | float)):
            return given
        number = float(epsilon)
        if not 0 <= number <= _MOST:
            return given
        noise = buckets / (math.expm1(epsilon) + buckets)
        if given.get("noise_parameter", noise) != noise:
            raise InputError("noise_parameter", given["noise_parameter"], "left out beside epsilon")
        return {**given, "noise_parameter": noise}

    def specification(self) -> dict[str, str | None]:
        """Return ε₀ alone where it is given."""
        found = super().specification()
        left_out = "epsilon" if self.epsilon is None else "noise_parameter"
        return {name: text for name, text in found.items() if name != left_out}

    @property
    def certified_as(self) -> Profile:
        """Of two answers with a given ε₀, the worst mechanism that is ε₀-DP."""
        if self.epsilon is None or self.buckets > 2:
            return self
        return PureDP(epsilon=self.epsilon, neighbours=self.neighbours)

    def _ratio(self) -> Fraction | None:
        """Return e^ε₀, where it is rational."""
        noise = self.exact("noise_parameter")
        return 1 + self.buckets * (1 - noise) / noise if self.epsilon is None else None

    def _top(self) -> Constant:
        """Return ε₀."""
        ratio = self._ratio()
        if ratio is None:
            return self.exact("epsilon")
        return Fraction(0) if ratio == 1 else logarithm(ratio)

    def _share(self) -> arb:
        """Enclose p/k, the chance of each answer but the true one."""
        ratio = self._ratio()
        top = ball(self.exact("epsilon")).exp() if ratio is None else ball(ratio)
        return 1 / (top + self.buckets - 1)

    def build_curve(self) -> SmoothCurve:
        """Return the single piece on [0, ε₀]."""
        buckets, eps0 = self.buckets, self._top()
        if eps0 == 0:
            return zero_curve()

        def log_share() -> arb:
            return self._share().log()

        others = logarithm(Fraction(buckets - 1))

        def delta(eps: Any, ops: Operations) -> Probability:
            top, share = ops.constant(eps0), ops.constant(log_share)
            return Probability(
                lambda: share + top + ops.log1mexp(eps - top),
                # e^ε may be beyond floats
                lambda: share + ops.logaddexp(ops.constant(others), eps),
            )

        return smooth_curve(delta, ConstantTail(eps0, Fraction(0)), eps0)

    def composed_curve(self, times: int) -> Curve:
        """Return the binomial curve for two possible answers, else that of three losses."""
        if self.buckets > 2 and self._top() != 0:
            return super().composed_curve(times)
        return binomial_curve(self._top(), times)

    def privacy_losses(self) -> Losses:
        """Return the loss: ±ε₀, or 0 for the answers that are neither record's."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.base import Number
        from gdpbridge.losses.transforms.finite import FiniteTransform

        eps0, buckets = self._top(), self.buckets
        if eps0 == 0:
            return []

        def top() -> arb:
            return BALLS.constant(eps0)

        found: list[tuple[int, Number, Number]] = [(-1, lambda: -top(), self._share)]
        if buckets > 2:
            found.append((0, Fraction(0), lambda: (buckets - 2) * self._share()))
        found.append((1, top, lambda: top().exp() * self._share()))
        places, losses, masses = zip(*found, strict=True)
        law = FiniteTransform(losses, masses, symmetric=True, spacing=eps0, places=places)
        return [Part(law, 1)]
