"""(ε₀, δ₀)-differential privacy: the profile of the worst mechanism that has it.

δ(ε) = δ₀ + (1 - δ₀)(e^ε₀ - e^ε)⁺ / (1 + e^ε₀), the exact partial order of (ε, δ) pairs
(Liu, Sun, Jiang and Kong 2022). With δ₀ > 0 it is not GDP: δ never falls below δ₀.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from flint import arb

from gdpbridge.curves.binomial import binomial_curve
from gdpbridge.curves.constants import MAX_EPS, Constant, logarithm
from gdpbridge.curves.linear import DerivedLines, Line, Lines
from gdpbridge.curves.smooth import Curve, Formula, Piece, constant_piece
from gdpbridge.curves.tail import ConstantTail
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.pure_dp import pure_dp_curve
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.kinds import BALLS, Operations, Probability, ball

if TYPE_CHECKING:
    from gdpbridge.losses.step import Losses

__all__ = ["ApproxDP"]


@register
class ApproxDP(Profile):
    """Any mechanism known only to be (ε, δ)-differentially private."""

    kind: Literal["approx-dp"] = "approx-dp"
    epsilon: Real = parameter(
        "the ε of (ε, δ)-differential privacy",
        symbol="ε₀",
        allowed=f"a number in [0, {MAX_EPS:g}]",
        typical=(0.05, 10.0),
        effect="raises",
        ge=0,
        le=MAX_EPS,
    )
    delta0: Real = parameter(
        "the δ of (ε, δ)-differential privacy",
        symbol="δ₀",
        allowed="a number in [0, 1)",
        typical=(1e-12, 0.1),
        effect="raises",
        ge=0,
        lt=1,
        alias="delta",
    )

    def build_curve(self) -> Curve:
        """Return the piece on [0, ε₀] and the constant after it."""
        delta0 = self.exact("delta0")
        pure = pure_dp_curve(self.exact("epsilon"))
        return _failing(pure, delta0, logarithm(1 - delta0)) if delta0 else pure

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` randomized responses that may fail each time."""
        pure, delta0 = binomial_curve(self.exact("epsilon"), times), self.exact("delta0")
        if delta0 == 0:
            return pure
        if times <= _EXACT_TIMES:
            return _failing(pure, 1 - (1 - delta0) ** times, logarithm((1 - delta0) ** times))

        def log_kept() -> arb:
            return times * ball(1 - delta0).log()

        return _failing(pure, lambda: -log_kept().expm1(), log_kept)

    def privacy_losses(self) -> Losses:
        """Return the loss of randomized response that fails outright now and then."""
        from gdpbridge.losses.atoms import two_losses
        from gdpbridge.losses.step import LossPair

        return [LossPair(two_losses(self.exact("epsilon"), self.exact("delta0")), 1)]


# beyond it, the failure probability of all runs together has too many digits
_EXACT_TIMES = 8


def _failing(pure: Curve, failure: Constant, log_kept: Constant) -> Curve:
    """Return p + (1 - p)·δ for a curve that falls to 0, p > 0."""
    assert pure.end is not None

    def log_failure() -> arb:
        return BALLS.constant(failure).log()

    def head(formula: Formula) -> Formula:
        def delta(eps: Any, ops: Operations) -> Probability:
            value, kept = formula(eps, ops), ops.constant(log_kept)
            return Probability(
                lambda: ops.logaddexp(ops.constant(log_failure), kept + value.log()),
                lambda: kept + value.log_complement(),
            )

        return delta

    pieces = [Piece(piece.start, head(piece.formula)) for piece in pure.pieces if pure.end != 0]
    return Curve(
        (*pieces, constant_piece(pure.end, failure)),
        ConstantTail(pure.end, failure),
        lines=None if pure.lines is None else _FailingLines(pure.lines, failure),
    )


class _FailingLines(DerivedLines):
    """The lines of p + (1 - p)·δ."""

    def __init__(self, base: Lines, failure: Constant) -> None:
        super().__init__(base)
        self.failure = failure

    def line(self, index: int) -> Line:
        """Mix a line with the constant 1."""
        line, failed = self.base.line(index), BALLS.constant(self.failure)
        kept = 1 - failed
        return Line(
            failed + kept * line.a,
            kept * line.a_complement,
            kept * line.b,
            failed + kept * line.b_complement,
        )
