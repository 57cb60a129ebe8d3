"""Sequences whose δ is a formula: Gaussian noise, or one step on a sample, and what only fails.

A failure with probability p and a mechanism with δ are together p + (1 - p)·δ. Of one step on a
sample of rate q in which a record is added or removed, or of a fixed size, δ(ε) = q·δ_μ(ε') with
e^ε' = 1 + (e^ε - 1)/q, in both directions (Balle, Barthe and Gaboardi 2018). Of one in which a
record is replaced, the loss grows with the noise u (see losses/transforms/replace_one.py), and
is ε at u = σ·(ε + log(w + √(w² + e^{-ε}))), w = e^{1/(2σ²)}·(1 - q)(1 - e^{-ε})/(2q), so that with
a normal U

    P(U > u) = (1 - q)·Φ(-u) + q·Φ(1/σ - u),   Q(U > u) = (1 - q)·Φ(-u) + q·Φ(-1/σ - u)

are all that δ(ε) = P(U > u) - e^ε·Q(U > u) needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from gdpbridge.curves.base import failure_above
from gdpbridge.curves.constants import logarithm, square_root
from gdpbridge.curves.exponential_loss import exponential_loss_curve
from gdpbridge.curves.gaussian import gaussian_curve
from gdpbridge.curves.pieces import Formula, Piece, failing
from gdpbridge.curves.smooth import SmoothCurve, smooth_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import FloorTail
from gdpbridge.numeric.kinds import Operations, Probability, ball

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Part

__all__ = ["closed_curve"]


def closed_curve(losses: Sequence[Part], tail: Tail) -> SmoothCurve | None:
    """Return the curve of losses that have a formula, None for others.

    Args:
        losses: privacy losses and how often each is composed.
        tail: what is known of all of them.
    """
    from gdpbridge.losses.lattices import failure_of

    failures = [part for part in losses if _failure_alone(part) is not None]
    found = _formula([part for part in losses if part not in failures], tail)
    if found is None or not failures:
        return found
    if found.end is not None:
        return None
    chances = [(_failure_alone(part) or Fraction(0), part.times) for part in failures]

    def log_kept() -> arb:
        return sum((times * (-ball(chance)).log1p() for chance, times in chances), arb(0))

    failure = failure_of([part.factor(backward=False) for part in failures])
    pieces = [Piece(Fraction(0), failing(found.pieces[0].formula, failure, log_kept))]
    assert isinstance(tail, FloorTail)
    return _FailingCurve(pieces, replace(tail, beneath=found.tail.gaussian_mu))


class _FailingCurve(SmoothCurve):
    """A formula that falls to a failure probability without end."""

    @property
    def default_failure(self) -> Fraction:
        """Hardly above it."""
        floor = self.tail
        assert isinstance(floor, FloorTail)
        return failure_above(floor.value)


def _failure_alone(part: Part) -> Fraction | None:
    """Return the probability with which a part fails, if it tells nothing else."""
    from gdpbridge.losses.transforms.finite import FiniteTransform

    one = part.transform
    known = isinstance(one, FiniteTransform) and list(one.losses) == [Fraction(0)]
    return one.failure if known and part.symmetric and isinstance(one.failure, Fraction) else None


def _formula(losses: Sequence[Part], tail: Tail) -> SmoothCurve | None:
    from gdpbridge.losses.transforms.exponential import ExponentialTransform
    from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
    from gdpbridge.losses.transforms.gaussian import GaussianTransform
    from gdpbridge.losses.transforms.replace_one import ReplaceOneTransform
    from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform

    variance = Fraction(0)
    for part in losses:
        if isinstance(part.transform, GaussianTransform):
            variance += part.times * part.transform.variance
    if losses and all(isinstance(part.transform, GaussianTransform) for part in losses):
        return gaussian_curve(square_root(variance))
    if len(losses) != 1 or losses[0].times != 1:
        return None
    one = losses[0].transform
    if isinstance(one, ExponentialTransform):
        return exponential_loss_curve(one.loss)
    if isinstance(one, ReplaceOneTransform):
        return smooth_curve(_replaced(one.sigma, one.rate), tail)
    if isinstance(one, SampledGaussianTransform):
        return gaussian_curve(1 / one.sigma).sampled(one.rate)
    if isinstance(one, FixedSizeTransform):
        return gaussian_curve(one.shift).sampled(one.rate)
    return None


def _replaced(sigma: Fraction, rate: Fraction) -> Formula:
    """Return δ of a step in which a record is replaced."""

    def log_k() -> arb:
        return ball(1 / (2 * sigma**2)) + ball((1 / rate - 1) / 2).log()

    def delta(eps: Any, ops: Operations) -> Probability:
        width, apart, root = (
            ops.constant(one) for one in (sigma, 1 / sigma, lambda: arb(2).sqrt())
        )
        rise = -ops.expm1(-eps)
        w = ops.exp(ops.constant(log_k)) * rise
        u = width * (eps + ops.log(w + ops.sqrt(w * w + ops.exp(-eps))))
        log_half = ops.constant(logarithm(rate / 2))
        log_other = ops.constant(logarithm((1 - rate) / 2))

        def log_tail(x: Any) -> Any:
            return ops.log_erfc(x / root)

        def log() -> Any:
            most = log_half + log_tail(u - apart)
            less = ops.exp(log_half + eps + log_tail(u + apart) - most)
            both = rise * ops.exp(log_other + eps + log_tail(u) - most)
            return most + ops.log(1 - less - both)

        def log_complement() -> Any:
            p = ops.logaddexp(log_other + log_tail(-u), log_half + log_tail(apart - u))
            q = ops.logaddexp(log_other + log_tail(u), log_half + log_tail(u + apart))
            return ops.logaddexp(p, eps + q)

        return Probability(log, log_complement)

    return delta
