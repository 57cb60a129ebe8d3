"""The composed privacy loss of a list of mechanisms: δ(ε) between two bounds, for every ε.

For a spacing of the lattice, tilts are added one after the other, each good for some standard
deviations about its mean, until the range asked for is covered. Between lattice points the laws'
curves are linear in t = e^ε. The gap between the bounds falls with the square of the spacing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.errors import UndecidedError
from gdpbridge.losses.laws import (
    UNIT,
    Kept,
    Law,
    LostDigitsError,
    TooCoarseError,
    dominated_law,
    dominating_law,
)
from gdpbridge.losses.placing import TooManyKnotsError, upper_lattice
from gdpbridge.losses.step import Loss
from gdpbridge.losses.tilted import (
    LOG_SHARE,
    MAX_POINTS,
    Part,
    Stretch,
    WindowError,
    compose_tilted,
    log_chernoff,
    log_moment,
)
from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, float_below

__all__ = ["Bounds", "ComposedLoss", "Resolution"]

# standard deviations between the point to cover next and the mean of the tilt that covers it
_AIMS = (3.5, 2.5, 1.5, 0.5)
_MAX_STRETCHES = 200
# knots of a rough law
_MAX_ROUGH = 10_000
# where all finite losses are the same
_LEAST_DEVIATION = 1e-12
_BITS = 128
# beside the deviation under P
_NARROWEST = 1e-3
# logarithms of failure probabilities that large losses may be cut off for
_NEGLIGIBLE = 14.0
_CAPS = (-40.0, -70.0, -150.0, -400.0)
# widths are this one, halved or doubled
_WIDTH = 6e-5
# how often a lattice is made finer, and the coarsest one in cells to a standard deviation
_REFINEMENTS = 5
_COARSEST = 20
# so many evaluations of a step for one tilt are worth avoiding
_COSTLY = 20_000
# bounds that far the wrong way round are no matter of rounding
_CONTRADICTION = 1e-9
# how much worse than good a point between two good ones may be
_DIP = 100.0
# where the interval for μ is looked at
_LOOKS = 17
# Chernoff's bound is made tight at some quantiles of the ε asked for, and at shares of the least;
# those that are nearer to each other than a step in their logarithm count as one
_TARGET_STEP = 0.02
_BEFORE = np.array([0.5, 0.8, 0.95])
_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
_HALVINGS = 40
_LARGEST_THETA = 1e4
# a tilt must not change much from one lattice point to the next
_TILT_PER_CELL = 0.25
# rough laws have a spacing that adds this little to the deviation
_ROUGH = 4
# how many of them there are to a fourfold tilt, or by how many deviations they lie apart
_LAWS = 4
_MOVES = 5.0
# mantissas of spacings have so many bits, so that multiples of them are exact floats
_SPACING_BITS = 6
_FEW_UNITS = 16 * UNIT


@dataclass(frozen=True)
class Bounds:
    """Bounds of δ(ε) as logarithms, and of 1 - δ(ε), arrays of one shape.

    Attributes:
        log_low: log of a lower bound of δ.
        log_rest_at_low: log of one minus that bound.
        log_high: log of an upper bound of δ.
        log_rest_at_high: log of one minus that bound.
    """

    log_low: Floats
    log_rest_at_low: Floats
    log_high: Floats
    log_rest_at_high: Floats

    def larger(self, other: Bounds) -> Bounds:
        """Return the bounds of the larger one of two δ."""
        return Bounds(
            np.maximum(self.log_low, other.log_low),
            np.minimum(self.log_rest_at_low, other.log_rest_at_low),
            np.maximum(self.log_high, other.log_high),
            np.minimum(self.log_rest_at_high, other.log_rest_at_high),
        )

    def narrowed(self, where: NDArray[np.bool_], closer: Bounds) -> Bounds:
        """Return these bounds, closer where other bounds of the same δ are."""
        result = Bounds(*(getattr(self, name).copy() for name in self.__dataclass_fields__))
        for name, choose in (
            ("log_low", np.maximum),
            ("log_rest_at_low", np.minimum),
            ("log_high", np.minimum),
            ("log_rest_at_high", np.maximum),
        ):
            values = getattr(result, name)
            values[where] = choose(values[where], getattr(closer, name))
        return result


@dataclass(frozen=True)
class _Covered:
    """Two stretches of one tilt, and where both are good.

    Attributes:
        upper: of the dominating laws.
        lower: of the dominated laws.
        start: the least ε.
        stop: the largest ε.
    """

    upper: Stretch
    lower: Stretch
    start: float
    stop: float


class ComposedLoss:
    """The privacy loss, in one direction, of mechanisms run one after the other, also adaptively.

    Args:
        losses: the mechanisms' losses and how often each is composed, at least one.
    """

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.losses = tuple(losses)
        self.evaluations = 0
        self._resolutions: dict[float, Resolution] = {}
        self._rough_spacing = Fraction(1)
        self._rough_laws: dict[tuple[int, int, int], Law] = {}
        self._capped: dict[float, ComposedLoss | None] = {}

    @property
    def times(self) -> int:
        """How many losses there are in all."""
        return sum(loss.times for loss in self.losses)

    @cached_property
    def failure(self) -> Fraction:
        """The probability of an infinite loss, rounded up."""
        return self._failures[1]

    @property
    def sure_failure(self) -> Fraction:
        """The same, rounded down, without losses that only count as infinite."""
        return self._failures[0]

    @cached_property
    def _failures(self) -> tuple[Fraction, Fraction]:
        with precision(_BITS):
            sure, every = arb(0), arb(0)
            for loss in self.losses:
                step = loss.step
                share = ball(step.reverse_failure if loss.mirrored else step.failure)
                log_kept = loss.times * (-share).log1p()
                every += log_kept
                if not step.cut:
                    sure += log_kept
            low, high = -sure.expm1(), -every.expm1()
            return Fraction(max(float_below(low), 0.0)), Fraction(max(float_above(high), 0.0))

    def capped(self, log_failure: float) -> ComposedLoss | None:
        """Return the loss where its largest values count as infinite.

        Where rare large losses govern the tilted law, no tilt has its mean between those and the
        usual ones. Without them there is one, at the price of a failure probability.

        Args:
            log_failure: logarithm of the failure probability.
        """
        if log_failure not in self._capped:
            losses = []
            for loss in self.losses:
                share = log_failure - math.log(self.times)
                step = None if loss.mirrored or loss.step.cut else loss.step.capped(share)
                losses.append(loss if step is None else replace(loss, step=step))
            changed = any(a is not b for a, b in zip(losses, self.losses, strict=True))
            self._capped[log_failure] = ComposedLoss(losses) if changed else None
        return self._capped[log_failure]

    @cached_property
    def common_spacing(self) -> Fraction | None:
        """A number that every loss is a whole multiple of, if there is one worth using."""
        found = Fraction(0)
        for loss in self.losses:
            if loss.step.spacing is None:
                return None
            # the greatest common divisor of two fractions
            one, other = found, loss.step.spacing
            while other:
                one, other = other, one % other
            found = one
        longest = max(loss.step.top - loss.step.bottom for loss in self.losses)
        return found if longest / found <= MAX_POINTS else None

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the loss under P, roughly: about the size of μ.

        Raises:
            UndecidedError: for a loss that is too extreme to be put on a lattice.
        """
        try:
            with np.errstate(all="ignore"):
                found = self._deviation()
            if not math.isfinite(found):
                raise OverflowError
            return found
        except (ArithmeticError, LostDigitsError, TooManyKnotsError, ValueError):
            raise UndecidedError(
                "the privacy loss of these parameters is too extreme to be composed in float64"
            ) from None

    def _deviation(self) -> float:
        widths = [
            np.subtract(*loss.step.reach(loss.tilt(1.0), LOG_SHARE)[::-1]) for loss in self.losses
        ]
        deviation = max(float(max(widths)), _LEAST_DEVIATION) * math.sqrt(self.times)
        for _ in range(_HALVINGS):
            self._rough_spacing = _rounded(deviation / (_ROUGH * math.sqrt(self.times)))
            self._rough_laws.clear()
            before, deviation = deviation, max(self.moments(1.0)[1], _LEAST_DEVIATION)
            if deviation > before / 2:
                break
        return deviation

    def moments(self, theta: float) -> tuple[float, float]:
        """Return mean and standard deviation of the loss under the tilted law, roughly."""
        mean = variance = 0.0
        for number, loss in enumerate(self.losses):
            tilt = loss.tilt(theta)
            law = self._rough_law(number, tilt)
            at = law.lattice.losses(law.index)
            weight = law.log_mass + tilt * at
            nu = np.exp(weight - np.logaddexp.reduce(weight))
            one = float(nu @ at)
            mean += loss.times * (-one if loss.mirrored else one)
            variance += loss.times * float(nu @ (at - one) ** 2)
        return mean, math.sqrt(variance)

    def _rough_law(self, number: int, tilt: float) -> Law:
        """Return a coarse law that is good for tilts about this one."""
        step = self.losses[number].step
        # on either side of 1/2: a law serves tilts that move its mean by a few of its deviations
        sign, size = (1, tilt) if tilt >= 0.5 else (-1, 1 - tilt)
        broadest = math.sqrt(step.tail_variance) or max(step.top - step.bottom, _LEAST_DEVIATION)
        key = number, sign, round(_LAWS / 2 * math.log2(size))
        middle = 2 ** (key[2] * 2 / _LAWS)
        if middle > (apart := _MOVES / broadest) * _LAWS:
            middle = round(size / apart) * apart
            key = number, sign, -round(size / apart)
        if key not in self._rough_laws:
            spacing = min(float(self._rough_spacing), _TILT_PER_CELL / middle)
            lattice = upper_lattice(step, _rounded(spacing))
            rough_tilt = middle if sign > 0 else 1 - middle
            law = None if step.spacing is None else step.exact_law(step.spacing)
            if law is None:
                knots = step.upper_knots(lattice, rough_tilt, 3 * LOG_SHARE)
                if knots.size > _MAX_ROUGH:
                    raise TooManyKnotsError
                law = dominating_law(step, lattice, knots)
            self.evaluations += law.index.size
            self._rough_laws[key] = law
        return self._rough_laws[key]

    def log_moment(self, theta: float) -> float:
        """Return an upper bound of log E[e^{θS}], from rough laws."""
        parts = [
            Part(self._rough_law(number, loss.tilt(theta)), loss)
            for number, loss in enumerate(self.losses)
        ]
        return log_moment(parts, theta)

    @cached_property
    def largest(self) -> float:
        """A loss that is not exceeded by finite ones, rounded up."""
        total = sum(
            loss.times * (-loss.step.bottom if loss.mirrored else loss.step.top)
            for loss in self.losses
        )
        return total * (1 + 8 * len(self.losses) * UNIT)

    def within(self, width: float) -> Resolution:
        """Return bounds that aim at intervals for μ of this width; they are kept.

        Widths are taken down to one of a few, so that like requests share their work.
        """
        width = _WIDTH * 2.0 ** math.floor(math.log2(width / _WIDTH) + UNIT)
        if width not in self._resolutions:
            self._resolutions[width] = Resolution(self, width)
        return self._resolutions[width]


def _rounded(spacing: float) -> Fraction:
    """Return a number below a spacing that has few binary digits."""
    mantissa, exponent = math.frexp(spacing)
    return Fraction(math.floor(mantissa * 2**_SPACING_BITS)) * Fraction(2) ** (
        exponent - _SPACING_BITS
    )


class Resolution:
    """Bounds of a composed loss that are close enough to tell μ to some width.

    Args:
        loss: the composed loss.
        width: the width of the interval for μ(ε, δ(ε)) to aim at, for every ε.
    """

    def __init__(self, loss: ComposedLoss, width: float) -> None:
        self.loss, self.width = loss, width
        # of log δ, what errors of rounding and of what is left out may take
        self._slack = width / 50
        self._covered: list[_Covered] = []
        # where the ε begin that no tilt reaches
        self._unreached = math.inf
        # a moment and its θ, by the step on a scale of ε that they suit
        self._moments: dict[float, tuple[float, float] | None] = {}

    @property
    def stretches(self) -> int:
        """How many tilts have been computed."""
        return len(self._covered)

    def bounds(self, eps: Floats) -> Bounds:
        """Bound δ(ε).

        Where no tilt reaches, the lower bound is that of infinite losses and the upper one is
        Chernoff's.

        Args:
            eps: ε ≥ 0, one-dimensional.
        """
        owner = self._owners(eps)
        result = Bounds(*(np.empty(eps.shape) for _ in range(4)))
        failure, sure = self.loss.failure, self.loss.sure_failure
        for number, piece in enumerate(self._covered):
            mine = owner == number
            if mine.any():
                low, low_rest = _values(piece.lower, eps[mine], sure, high=False)
                high, high_rest = _values(piece.upper, eps[mine], failure, high=True)
                result.log_low[mine], result.log_rest_at_low[mine] = low, low_rest
                result.log_high[mine], result.log_rest_at_high[mine] = high, high_rest
        beyond = owner < 0
        if beyond.any():
            past = eps[beyond] >= self.loss.largest
            low, high = np.full(past.size, -np.inf), np.where(past, -np.inf, 0.0)
            result.log_low[beyond], result.log_rest_at_low[beyond] = _with_failure(
                low, sure, is_call=True
            )
            result.log_high[beyond], result.log_rest_at_high[beyond] = _with_failure(
                high, failure, is_call=True
            )
            result = self._without_large_losses(eps, result)
            still = beyond & (result.log_low == -np.inf) & (result.log_high > -np.inf)
            if still.any():
                result = result.narrowed(still, self.rough_bounds(eps[still]))
                result = result.narrowed(still, self._not_above_before(eps[still]))
        if (result.log_low > result.log_high + _CONTRADICTION).any():
            raise ArithmeticError("the lower bound of a composed loss is above the upper one")
        return result

    def rough_bounds(self, eps: Floats) -> Bounds:
        """Bound δ(ε) from above by moments alone, which is quick.

        Args:
            eps: as for :meth:`bounds`.
        """
        high, rest = _with_failure(self._chernoff(eps), self.loss.failure, is_call=True)
        return Bounds(np.full(high.shape, -np.inf), np.zeros(high.shape), high, rest)

    def _not_above_before(self, eps: Floats) -> Bounds:
        """Bound δ(ε) from above by its bounds at the ends of the stretches before: it falls."""
        log, rest = np.zeros(eps.shape), np.full(eps.shape, -np.inf)
        for piece in self._covered:
            at_end = _values(piece.upper, np.array([piece.stop]), self.loss.failure, high=True)
            after = eps >= piece.stop
            log = np.where(after, np.minimum(log, at_end[0][0]), log)
            rest = np.where(after, np.maximum(rest, at_end[1][0]), rest)
        return Bounds(np.full(eps.shape, -np.inf), np.zeros(eps.shape), log, rest)

    def _without_large_losses(self, eps: Floats, found: Bounds) -> Bounds:
        """Narrow bounds that are far apart by those of the loss without its largest values."""
        wanted = (found.log_low == -np.inf) & (found.log_high > -np.inf)
        for log_failure in _CAPS:
            other = self.loss.capped(log_failure) if wanted.any() else None
            if other is not None:
                found = found.narrowed(wanted, other.within(self.width).bounds(eps[wanted]))
                # where what was cut off is not small beside δ, less of it is cut off
                wanted = wanted & ~(found.log_low > log_failure + _NEGLIGIBLE)
        return found

    def _owners(self, eps: Floats) -> Indices:
        """Return which stretches the ε are on, -1 where none reaches; make those that lack."""
        pieces = self._covered
        owner = np.full(eps.shape, -1, dtype=np.int64)
        for number, piece in enumerate(pieces):
            owner[(owner < 0) & (eps >= piece.start) & (eps <= piece.stop)] = number
        end = min(self.loss.largest, self._unreached)
        while (lacking := (owner < 0) & (eps < end)).any():
            first = float(eps[lacking].min())
            found = None
            if len(pieces) < _MAX_STRETCHES:
                found = self._next(first)
            if found is None:
                self._unreached = end = first
                break
            owner[(owner < 0) & (eps >= found.start) & (eps <= found.stop)] = len(pieces)
            pieces.append(found)
        return owner

    def _chernoff(self, eps: Floats) -> Floats:
        """Bound the call of the finite losses by their moments."""
        end = self.loss.largest
        bound = np.where(eps >= end, -np.inf, 0.0)
        inside = eps[eps < end]
        if not inside.size:
            return bound
        # near the end of a bounded loss no θ has its mean; one that has it before does well
        targets = np.array([*np.quantile(inside, _SHARES), *(_BEFORE * inside.min())])
        with np.errstate(divide="ignore"):
            steps = np.floor(np.log(targets) / _TARGET_STEP)
        for step in np.unique(steps):
            found = self._moment_near(float(step))
            if found is not None:
                bound = np.minimum(bound, log_chernoff(*found, eps))
        return bound

    def _moment_near(self, step: float) -> tuple[float, float] | None:
        """Return a bound of log E[e^{θS}], and the θ that suits an ε on a coarse scale."""
        if step not in self._moments:
            theta = self._aim(math.exp(step * _TARGET_STEP), 0.0)
            known = None if theta is None or theta < 1 else (self.loss.log_moment(theta), theta)
            self._moments[step] = known
        return self._moments[step]

    def _next(self, covered: float) -> _Covered | None:
        """Return stretches that go on from ε = ``covered``, None if none is found."""
        # a mean nearer by makes a narrower window; a coarser lattice is the last resort
        too_wide: list[float] = []
        loose: list[_Covered] = []
        tried: set[float] = set()
        for aim in _AIMS:
            theta = self._aim(covered, aim)
            if theta is None or theta in tried:
                continue
            tried.add(theta)
            try:
                found = self._refined(theta, covered, loose)
            except WindowError:
                too_wide.append(theta)
                continue
            if found is not None:
                return found
        if self._may_cut_off:
            return None
        for theta in too_wide:
            found = self._refined(theta, covered, loose, coarser=True)
            if found is not None:
                return found
        # less close than asked, as the steps cannot be looked at more finely
        return loose[0] if loose else None

    @property
    def _may_cut_off(self) -> bool:
        """Whether the loss without its largest values may do better."""
        return self.loss.capped(_CAPS[0]) is not None

    def _refined(
        self, theta: float, covered: float, loose: list[_Covered], *, coarser: bool = False
    ) -> _Covered | None:
        """Return stretches of one tilt, on a lattice fine enough for the width aimed at.

        None if they do not reach, or cannot be that fine; the latter are added to ``loose``.

        Raises:
            WindowError: if the lattice would be too long, unless it may be coarser.
        """
        deviation = max(self.loss.moments(theta)[1], _NARROWEST * self.loss.deviation)
        # the gap of the variances is about T·h², that of μ about T·h²/8μ; a first look at a lattice
        # four times coarser shows whether the tilt reaches, and what the gap really is
        spacing = min(
            4 * math.sqrt(6 * deviation * self.width / self.loss.times),
            deviation / _COARSEST,
            _TILT_PER_CELL / max(theta, 1.0),
        )
        found = None
        common = self.loss.common_spacing
        for _ in range(_REFINEMENTS):
            before = self.loss.evaluations
            try:
                found = self._pair(theta, _rounded(spacing) if common is None else common)
            except WindowError:
                if not coarser:
                    raise
                if common is not None:
                    # the lattice of all losses is too fine for what they sum to
                    common = None
                    continue
                if found is not None or spacing > deviation / 2:
                    break
                spacing *= 2
                continue
            except TooCoarseError:
                spacing /= 4
                continue
            except TooManyKnotsError:
                if found is not None:
                    loose.append(found)
                return None
            except (ArithmeticError, LostDigitsError):
                return None
            if not found.start <= covered < found.stop:
                return None
            eps, gaps = _gaps(found, covered)
            gap = float(gaps.max()) / self.width
            if gap <= 1 or common is not None:
                break
            finer = max(0.05, math.sqrt(0.8 / gap))
            close = int(np.argmax(gaps > self.width))
            if (self.loss.evaluations - before) / finer > _COSTLY and close > _LOOKS // 4:
                # the first part is close enough, and another tilt does better for the rest
                return replace(found, stop=float(eps[close - 1]))
            spacing *= finer
        return found

    def _pair(self, theta: float, spacing: Fraction) -> _Covered:
        upper, lower = (self._stretch(theta, spacing, upper=side) for side in (True, False))
        ranges = [_good(stretch, self._slack) for stretch in (upper, lower)]
        upper, lower = (
            stretch.cut(*ends) for stretch, ends in zip((upper, lower), ranges, strict=True)
        )
        return _Covered(upper, lower, max(upper.start, lower.start), min(upper.stop, lower.stop))

    def _aim(self, covered: float, deviations: float) -> float | None:
        """Return a θ whose law's mean is so many standard deviations above an ε."""

        def excess(theta: float) -> float:
            mean, deviation = self.loss.moments(theta)
            return mean - deviations * deviation - covered

        try:
            if excess(1.0) <= 0:
                low, high = 1.0, 2.0
                while excess(high) < 0:
                    low, high = high, 2 * high
                    if high > _LARGEST_THETA * (1 + 1 / self.loss.deviation):
                        return None
            else:
                low, high = 0.0, 1.0
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if excess(middle) < 0 else (low, middle)
                if high - low < 0.02 * high:
                    break
        except (ArithmeticError, LostDigitsError, TooManyKnotsError):
            return None
        return high

    def _stretch(self, theta: float, spacing: Fraction, *, upper: bool) -> Stretch:
        make = self._upper_law if upper else self._lower_law
        parts = [Part(make(loss, theta, spacing), loss) for loss in self.loss.losses]
        self.loss.evaluations += sum(part.law.index.size for part in parts)
        return compose_tilted(parts, theta)

    @staticmethod
    def _upper_law(loss: Loss, theta: float, spacing: Fraction) -> Law:
        if (exact := loss.step.exact_law(spacing)) is not None:
            return exact
        lattice = upper_lattice(loss.step, spacing)
        share = LOG_SHARE - math.log(loss.times)
        knots = loss.step.upper_knots(lattice, loss.tilt(theta), share)
        return dominating_law(loss.step, lattice, knots)

    @staticmethod
    def _lower_law(loss: Loss, theta: float, spacing: Fraction) -> Law:
        if (exact := loss.step.exact_law(spacing)) is not None:
            return exact
        lattice = loss.step.lower_lattice(spacing)
        share = LOG_SHARE - math.log(loss.times)
        knots, touching = loss.step.lower_knots(lattice, loss.tilt(theta), share)
        one_sided = Kept.PUTS if loss.mirrored else Kept.CALLS
        kept = Kept.BOTH if theta < 1 else one_sided
        return dominated_law(loss.step, lattice, knots, touching, kept)


def _good(stretch: Stretch, slack: float) -> tuple[int, int]:
    """Return the first and the last lattice point where a stretch's own errors are small.

    They are compared with δ and with 1 - δ, whichever is smaller.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.abs(np.expm1(np.minimum(stretch.log_high, 0.0)))
        off = (stretch.log_high - stretch.log_low) * np.maximum(1.0, 1.0 / rest - 1.0)
    off = np.nan_to_num(off, nan=np.inf)
    best = int(np.argmin(off))
    slack = max(slack, 2 * float(off[best]))
    # between two parts of a law there may be points that are a little worse
    bad = off > _DIP * slack
    first = best - int(np.argmax(np.append(bad[best::-1], True))) + 1
    last = best + int(np.argmax(np.append(bad[best:], True)))
    good = first + np.flatnonzero(off[first:last] <= slack)
    return int(good[0]), int(good[-1])


def _gaps(found: _Covered, covered: float) -> tuple[Floats, Floats]:
    """Return a few ε from one on, and the widths of the intervals for μ(ε, δ) there."""
    from gdpbridge.gaussian.kernels import mu_from_logs

    eps = np.linspace(max(covered, found.start), found.stop, _LOOKS)
    low = mu_from_logs(eps, *_values(found.lower, eps, Fraction(0), high=False))
    high = mu_from_logs(eps, *_values(found.upper, eps, Fraction(0), high=True))
    return eps, np.nan_to_num(high - low, nan=np.inf)


def _values(
    stretch: Stretch, eps: Floats, failure: Fraction, *, high: bool
) -> tuple[Floats, Floats]:
    """Return log δ and log(1 - δ) on the line in t between two lattice points."""
    logs = stretch.log_high if high == stretch.is_call else stretch.log_low
    index = np.clip(((eps - stretch.start) / stretch.spacing).astype(np.int64), 0, logs.size - 2)
    left = stretch.start + index * stretch.spacing
    share = np.clip(np.expm1(eps - left) / math.expm1(stretch.spacing), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        value = np.logaddexp(logs[index] + np.log1p(-share), logs[index + 1] + np.log(share))
    # the point on the line is off by rounding of ε, and its logarithm changes θ times as fast
    largest = max(abs(stretch.start), abs(stretch.stop))
    off = _FEW_UNITS * (2 + np.abs(value) + (1 + stretch.theta) * largest)
    value = value + off if high == stretch.is_call else value - off
    return _with_failure(value, failure, is_call=stretch.is_call)


def _with_failure(value: Floats, failure: Fraction, *, is_call: bool) -> tuple[Floats, Floats]:
    """Add the infinite losses; ``value`` is the log of the finite ones' call or of the rest."""
    log_kept = math.log1p(-float(failure))
    if is_call:
        value = np.minimum(value, log_kept)
        log_delta = np.logaddexp(value, math.log(failure)) if failure else value
        with np.errstate(divide="ignore"):
            return log_delta, log_kept + np.log1p(-np.exp(value - log_kept))
    rest = np.minimum(value, log_kept)
    with np.errstate(divide="ignore"):
        return np.log1p(-np.exp(rest)), rest
