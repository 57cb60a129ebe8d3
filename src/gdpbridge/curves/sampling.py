"""The scale of ε before and after sampling: e^ε' = 1 + γ(e^ε - 1), where δ'(ε') = γ·δ(ε)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.numeric.kinds import BALLS, Operations, ball

__all__ = ["eps_after", "eps_before"]


def eps_before(eps: Any, gamma: Fraction, ops: Operations) -> Any:
    """Return the ε before sampling: e^ε = 1 + (e^ε' - 1)/γ, without cancellation or overflow."""
    return eps + ops.log1p(ops.constant((1 - gamma) / gamma) * -ops.expm1(-eps))


def eps_after(eps: Constant, gamma: Fraction) -> Constant:
    """Return the ε' after sampling."""
    if eps == 0:
        return Fraction(0)

    def mapped() -> arb:
        return (ball(gamma) * BALLS.constant(eps).expm1()).log1p()

    return mapped
