"""The curve of mechanisms run one after the other: exact, by lines, or between two exact ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from gdpbridge.curves.base import Curve, failure_above
from gdpbridge.curves.closed_forms import closed_curve
from gdpbridge.curves.constants import square_root, upper_bound
from gdpbridge.curves.discrete_gaussian import discrete_gaussian_curve, gaussian_above
from gdpbridge.curves.gaussian import gaussian_curve
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.curves.smooth import zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import (
    ConstantTail,
    CutOffTail,
    FloorTail,
    GaussianBoundTail,
    NearGaussianTail,
    PlateauTail,
    SettledTail,
)
from gdpbridge.errors import InputError, Words
from gdpbridge.gaussian.enclosures import variance_of_pure_dp
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses, Moments, Part

__all__ = ["composed_loss_curve", "cut_off", "cut_off_curve"]

# log of what atoms may leave of a line's terms far out, and how far that is, in deviations
_LOG_FAINT = -60.0
_FAR = 20_000.0
# a share of μ, up to which one that covers every ε is closer than laws on a lattice
_CLOSER = Fraction(1, 100_000)


def composed_loss_curve(losses: Losses) -> Curve:
    """Return the curve of mechanisms run one after the other, also adaptively.

    Args:
        losses: privacy losses and how often each is composed.
    """
    from gdpbridge.curves.between import BetweenCurve
    from gdpbridge.curves.composed import ComposedCurve
    from gdpbridge.curves.loss_distribution import loss_curve
    from gdpbridge.curves.spline import spline_curve
    from gdpbridge.losses.lattices import exactly
    from gdpbridge.losses.moments import Moments
    from gdpbridge.losses.splines import spline_of
    from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
    from gdpbridge.losses.transforms.finite import FiniteTransform

    if not losses:
        return zero_curve()
    one = losses[0].transform
    if len(losses) == 1 and isinstance(one, DiscreteGaussianTransform):
        return discrete_gaussian_curve(one, losses[0].times)
    if any(isinstance(one := p.transform, FiniteTransform) and one.cut_from for p in losses):
        return _sampled_far_out(losses)
    tail = _tail(losses)
    if (closed := closed_curve(losses, tail)) is not None:
        return closed
    end = tail.level.start if tail.level is not None and tail.level.value == 0 else None
    composed = ComposedCurve(tuple(losses), tail, end)
    decaying = [
        part
        for part in losses
        if part.transform.tail_variance
        and not isinstance(part.transform, DiscreteGaussianTransform)
    ]
    if decaying:
        return composed
    symmetric = all(part.symmetric for part in losses)
    directions = [
        [part.factor(backward=backward) for part in losses]
        for backward in ((False,) if symmetric else (False, True))
    ]
    # what is read from a file may have been cut off by what wrote it
    from_file = any(part.reverse is not None for part in losses)
    if all(isinstance(part.transform, FiniteTransform) for part in losses):
        laws = [exactly(factors) for factors in directions]
        known = [law for law in laws if law is not None]
        if len(known) == len(laws):
            return loss_curve(known, cut_off=from_file)
    splines = [spline for one in directions if (spline := spline_of(one)) is not None]
    if len(splines) == len(directions):
        return spline_curve(splines)
    if all(_decays(Moments(factors)) for factors in directions):
        return composed
    if any(part.transform.tail_variance for part in losses):
        return _cut_off_far_out(losses, tail)
    return BetweenCurve(directions, tail, end)


def _cut_off_far_out(losses: Losses, bound: Tail) -> Curve:
    """Return the curve where nothing decays: of discrete Gaussian noise, what is far out fails."""
    from gdpbridge.curves.between import BetweenCurve
    from gdpbridge.curves.near_gaussian import NearGaussianCurve
    from gdpbridge.curves.spline import SplineCurve
    from gdpbridge.losses.moments import Part
    from gdpbridge.losses.near_gaussian import nearness
    from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform

    parts = [
        Part(one.cut_off(part.times), 1)
        if isinstance(one := part.transform, DiscreteGaussianTransform)
        else part
        for part in losses
    ]
    found = composed_loss_curve(parts)
    level = found.tail.level
    both = (False,) if all(part.symmetric for part in parts) else (False, True)
    laws = [[part.factor(backward=backward) for part in parts] for backward in both]
    if level is None or not isinstance(bound, GaussianBoundTail):
        # what fails anyway is most of it
        return BetweenCurve(laws, found.tail) if isinstance(found, SplineCurve) else found

    def close() -> Fraction | None:
        near = nearness(losses)
        return None if near is None else near.close()

    cut = level.start, upper_bound(level.value)
    tail = CutOffTail(bound.mu, bound.mu_t, *cut, close=close)
    if isinstance(found, BetweenCurve):
        near = nearness(losses)
        if near is not None and (largest := near.close(_CLOSER)) is not None:
            return NearGaussianCurve(near, NearGaussianTail(largest, square_root(near.variance)))
        return BetweenCurve(found.directions, tail)
    if isinstance(found, SplineCurve):
        # sums with a density are not added up where masses are so many, and so small
        return BetweenCurve(laws, tail)
    assert isinstance(found, LinearCurve)
    return _CutOff(found.lines, found.pieces, tail)


def _sampled_far_out(losses: Losses) -> Curve:
    """Return the curve of samples of what was cut off, which are no worse than without sampling.

    Raises:
        InputError: beside losses that have a density.
    """
    from gdpbridge.curves.between import BetweenCurve
    from gdpbridge.losses.moments import Part
    from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform
    from gdpbridge.losses.transforms.finite import FiniteTransform

    whole, plain = [], []
    for part in losses:
        one = part.transform
        if isinstance(one, DiscreteGaussianTransform):
            plain.append(Part(one.cut_off(part.times), 1))
            whole.append(part)
            continue
        if not isinstance(one, FiniteTransform):
            allowed = "beside discrete losses alone"
            raise InputError("mechanism", Words("discrete Gaussian noise on samples"), allowed)
        own = copy(one)
        own.cut_from = None
        plain.append(replace(part, transform=own))
        whole.append(replace(part, transform=one.cut_from or one))
    found, bound = composed_loss_curve(plain), _tail(whole)
    level = found.tail.level
    if level is None or not isinstance(bound, GaussianBoundTail):
        # what fails anyway is most of it
        return found
    # the limit is that of the run without sampling: all may be in all samples
    tail = CutOffTail(bound.mu, bound.mu_t, level.start, upper_bound(level.value))
    if isinstance(found, LinearCurve):
        return _CutOff(found.lines, found.pieces, tail)
    assert isinstance(found, BetweenCurve)
    return BetweenCurve(found.directions, tail)


def cut_off_curve(
    part: Part,
    settled: Callable[[PlateauTail, Callable[[arb], arb]], Tail] | None = None,
    covering: Callable[[], Fraction] | None = None,
) -> Curve:
    """Return the curve of losses on a lattice, of which some that are cut off count as failures.

    Args:
        part: the runs.
        settled: as for :func:`cut_off`.
        covering: gives a μ of all runs that is proved to cover every ε: the Gaussian curve of it
            bounds so many runs that 1 - δ(0) is not seen beside the masses that are cut off.

    Raises:
        InputError: for more runs than can be added up.
    """
    from gdpbridge.curves.loss_distribution import loss_curve
    from gdpbridge.losses.runs import laws_above

    both = (False,) if part.symmetric else (False, True)
    directions = [part.factor(backward=backward) for backward in both]
    laws = laws_above(directions)
    if laws is None and covering is not None:
        return gaussian_curve(covering())
    laws = laws or laws_above(directions, sees_zero=False)
    if laws is None:
        raise InputError("times", part.times, "fewer runs: their losses take too many values")
    return cut_off(loss_curve(laws), settled)


def cut_off(
    found: Curve,
    settled: Callable[[PlateauTail, Callable[[arb], arb]], Tail] | None = None,
) -> Curve:
    """Return a curve whose failures are at most as likely as it says.

    Args:
        found: the curve.
        settled: adds to the tail what else is known of it, from δ.
    """
    level = found.tail.level
    if not isinstance(found, LinearCurve) or level is None or level.value == 0:
        return found
    plateau = PlateauTail(level.start, upper_bound(level.value))
    if settled is None:
        return _CutOff(found.lines, found.pieces, plateau)
    tail = settled(plateau, lambda eps: 1 - found.enclose(eps).log_complement().exp())
    beyond = tail.beyond if isinstance(tail, SettledTail) else None
    end = beyond.start if isinstance(beyond, ConstantTail) else None
    return _CutOff(found.lines, found.pieces, tail, end)


class _CutOff(LinearCurve):
    """Lines of losses that were cut off."""

    @property
    def default_failure(self) -> Fraction:
        """Above what is beyond, which is known to be small."""
        level = self.tail.level
        return failure_above(Fraction(0) if level is None else upper_bound(level.value))


def _decays(moments: Moments) -> bool:
    """Whether so little is left of M far out that a line needs few nodes."""
    _, deviation = moments.shape(-0.5)
    return moments.log_decay(0.0, _FAR / deviation) < _LOG_FAINT


def _tail(losses: Losses) -> Tail:
    from gdpbridge.losses.near_gaussian import nearness
    from gdpbridge.losses.transforms.discrete_gaussian import DiscreteGaussianTransform

    failure = _failure(losses)

    def mu_t() -> arb:
        return _variance(losses).sqrt()

    def mu() -> arb:
        # what has losses up to B is B-DP
        total = arb(0)
        for part in losses:
            one = part.transform
            if isinstance(one, DiscreteGaussianTransform):
                variance = ball(gaussian_above(one) ** 2)
            elif one.tail_variance:
                variance = ball(one.gaussian_variance)
            else:
                variance = variance_of_pure_dp(_largest(part))
            total += part.times * variance
        near = nearness(losses)
        largest = None if near is None else near.largest()
        return total.sqrt() if largest is None else total.sqrt().min(ball(largest))

    def largest() -> arb:
        return sum((part.times * _largest(part) for part in losses), arb(0))

    if all(not part.transform.tail_variance for part in losses):
        return ConstantTail(largest, failure)
    if failure:
        return FloorTail(failure)
    if all(0 < one.tail_variance == one.gaussian_variance for one in (p.transform for p in losses)):
        return GaussianBoundTail(mu_t)
    return GaussianBoundTail(mu, mu_t)


def _failure(losses: Losses) -> Fraction:
    """Return the probability of an infinite loss, of the direction where it is larger."""
    from gdpbridge.losses.moments import Moments

    with precision(128):
        found = [
            Moments([part.factor(backward=backward) for part in losses]).failure()
            for backward in (False, True)
        ]
        return Fraction(max(0.0, *(float_above(one) for one in found)))


def _variance(losses: Losses) -> arb:
    return ball(sum((part.times * part.transform.tail_variance for part in losses), Fraction(0)))


def _largest(part: Part) -> arb:
    """Return the greatest finite loss of either direction."""
    ends = [part.factor(backward=backward).largest() for backward in (False, True)]
    first, other = (end if end is not None else arb.pos_inf() for end in ends)
    return first.max(other)
