"""The curve of a loss with a density of e^{-x/2} and atoms at both ends.

With u = e^{(ε-r)/2} and v = e^{-(ε+r)/2}, δ = f + (1 - u)(m(1 + u) + D(1 - u)) up to ε = r, and
1 - δ = m(e^{-r} + u²) + D·u((1 - u) + (1 - v)); from r on δ = f.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gdpbridge.curves.pieces import Piece, constant_piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tails import ConstantTail
from gdpbridge.losses.transforms.exponential import ExponentialLoss
from gdpbridge.numeric.kinds import Operations, Probability

__all__ = ["exponential_loss_curve"]


def exponential_loss_curve(loss: ExponentialLoss) -> SmoothCurve:
    """Return the curve of one run."""

    def delta(eps: Any, ops: Operations) -> Probability:
        r, m, d = (ops.constant(one) for one in (loss.width, loss.atom, loss.density))
        x, y = (eps - r) / 2, -(eps + r) / 2

        def log() -> Any:
            rest = m * (1 + ops.exp(x)) - d * ops.expm1(x)
            if loss.failure:
                return ops.log(ops.constant(loss.failure) - ops.expm1(x) * rest)
            return ops.log1mexp(x) + ops.log(rest)

        def log_complement() -> Any:
            atoms = m * (ops.exp(x + y) + ops.exp(2 * x)) if loss.atom else 0
            return ops.log(atoms - d * ops.exp(x) * (ops.expm1(x) + ops.expm1(y)))

        return Probability(log, log_complement)

    pieces = [Piece(Fraction(0), delta)]
    tail = ConstantTail(loss.width, loss.failure)
    if not loss.failure:
        return SmoothCurve(pieces, tail, loss.width)
    return SmoothCurve([*pieces, constant_piece(loss.width, loss.failure)], tail)
