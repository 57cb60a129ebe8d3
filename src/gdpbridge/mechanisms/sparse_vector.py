"""Sparse vector: for each question only whether the answer is above a threshold, until c were.

Laplace noise of scale b₁ is added to the threshold, once, and of scale b₂ to each answer. It is
ε-DP with ε = Δ/b₁ + c·2Δ/b₂, and Δ/b₁ + c·Δ/b₂ if a record moves all answers the same way
(monotonic), however many questions there are (Lyu, Su and Li 2017, theorems 4 and 5). What is
known of it is that it is ε-DP: δ(ε) is an upper bound.

Of a budget ε = ε₁ + ε₂ with b₁ = Δ/ε₁ and b₂ = 2cΔ/ε₂, the answers are best for ε₂/ε₁ = (2c)^{2/3},
or c^{2/3} of monotonic ones: where ε is given, it is split like that. Numbers that are released
beside cost their own budget, and variants that add no noise to the answers, or do not stop, are not
private at all (ibid., section 3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from gdpbridge.curves.base import Curve
from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import (
    Profile,
    Real,
    Whole,
    parameter,
    positive,
    sensitivity_parameter,
)
from gdpbridge.mechanisms.exponential import monotonic_parameter
from gdpbridge.mechanisms.pure_dp import PureDP, pure_dp_curve
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact, written_above

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["SparseVector"]

MAX_COUNT = 1_000_000
# of scales that follow from an ε
_LEAST, _MOST = Fraction(1, 10**290), Fraction(10**290)


@register
class SparseVector(Profile):
    """Sparse vector, or above threshold: which answers are above a noisy threshold."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["sparse-vector"] = "sparse-vector"
    threshold_scale: Real = positive(
        "scale b₁ of the Laplace noise on the threshold",
        symbol="b₁",
        typical=(0.5, 50.0),
        effect="lowers",
        instead="epsilon",
    )
    answer_scale: Real = positive(
        "scale b₂ of the Laplace noise on each answer",
        symbol="b₂",
        typical=(0.5, 50.0),
        effect="lowers",
        instead="epsilon",
    )
    epsilon: Real | None = parameter(
        "the budget ε, split between threshold and answers, instead of b₁ and b₂",
        symbol="ε",
        allowed=f"a number > 0, at most {MAX_EPS:g}",
        typical=(0.1, 5.0),
        default=None,
        alternative=True,
        gt=0,
        le=MAX_EPS,
    )
    count: Whole = parameter(
        "number c of answers above the threshold after which it stops",
        symbol="c",
        allowed=f"a whole number from 1 to {MAX_COUNT}",
        typical=(1, 5),
        effect="raises",
        default=1,
        ge=1,
        le=MAX_COUNT,
    )
    sensitivity: Real = sensitivity_parameter(
        "how much a record may change one answer, in its unit",
        effect="raises",
    )
    monotonic: bool = monotonic_parameter()

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Say both scales too where ε is given."""
        scales = _split(given)
        for name, scale in scales.items():
            if given.get(name, scale) != scale:
                raise InputError(name, given[name], "left out beside epsilon")
        return {**given, **scales}

    def specification(self) -> dict[str, str | None]:
        """Return ε alone where it is given."""
        left_out = ["epsilon"] if self.epsilon is None else ["threshold_scale", "answer_scale"]
        found = super().specification()
        return {name: text for name, text in found.items() if name not in left_out}

    @property
    def certified_as(self) -> Profile:
        """The worst mechanism that is ε-DP, of a given ε."""
        if self.epsilon is None:
            return self
        return PureDP(epsilon=self.epsilon, neighbours=self.neighbours)

    def model_post_init(self, _: Any) -> None:
        """Check the one thing the curve depends on."""
        allowed = f"so large that ε = Δ/b₁ + c·2Δ/b₂ is at most {MAX_EPS:g}"
        self.require("answer_scale", self._epsilon() <= MAX_EPS, allowed)

    def _epsilon(self) -> Fraction:
        if self.epsilon is not None:
            return self.exact("epsilon")
        sensitivity, each = self.exact("sensitivity"), 1 if self.monotonic else 2
        share = self.count * each * sensitivity / self.exact("answer_scale")
        return sensitivity / self.exact("threshold_scale") + share

    def build_curve(self) -> SmoothCurve:
        """Return the curve of ε-DP."""
        return pure_dp_curve(self._epsilon())

    def composed_curve(self, times: int) -> Curve:
        """Return the binomial curve of ``times`` randomized responses."""
        return binomial_curve(self._epsilon(), times)

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve of (size·ε)-DP."""
        return pure_dp_curve(size * self._epsilon())

    def privacy_losses(self) -> Losses:
        """Return the loss of randomized response, the worst ε-DP mechanism."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import two_valued

        return [Part(two_valued(self._epsilon()), 1)]


def _split(given: dict[str, Any]) -> dict[str, float]:
    """Return the scales of a budget, each rounded up; none where there is no budget."""
    defaults = {"epsilon": None, "sensitivity": 1, "count": 1}
    found: list[Any] = [given.get(name, default) for name, default in defaults.items()]
    if not all(type(one) in (int, float) and 0 < one < math.inf for one in found):
        return {}
    epsilon, sensitivity, count = map(exact, found)
    each = count if given.get("monotonic") else 2 * count
    share = 1 / (1 + Fraction(float(each) ** (2 / 3)))
    scale = sensitivity / (share * epsilon)
    if not _LEAST < scale < _MOST:
        raise InputError("epsilon", float(epsilon), "one whose noise is between 1e-290 and 1e290")
    threshold = written_above(scale)
    rest = epsilon - sensitivity / exact(threshold)
    return {"threshold_scale": threshold, "answer_scale": written_above(each * sensitivity / rest)}
