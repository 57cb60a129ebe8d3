"""A privacy loss distribution: losses with their probabilities, in one direction or in both.

In each direction δ(ε) = δ_∞ + Σ_{y > ε} P(L = y)·(1 - e^{ε - y}), which is linear in e^ε between
losses: line j, from loss y_{j-1} to y_j, is a_j - b_j·e^ε with a_j = P(L ≥ y_j) and
b_j = Σ_{y ≥ y_j} P(L = y)·e^{-y}. Where both directions are given, δ is the larger one.

How numbers that are not quite probabilities are read, always so that δ is not made smaller:

- A loss stands for the decimal that it prints as, a probability for the float itself.
- Masses between -1e-9 and 0 are 0; smaller ones are refused.
- What is missing from a total of 1 counts as an infinite loss, unless it is at most 1e-12 and no
  infinite loss is given: then as the largest loss. A total above 1 + 1e-9 is refused; one between
  is left as it is.
- Where every loss is the float nearest to a multiple of one number, losses are read as these
  multiples, and their composition is exact; else none is moved, and a composition is bounded.
- A mass at infinity of at most 1e-12 is read as cut off by the tool that wrote it: whether the
  mechanism is GDP is then not known.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray
from pydantic import Field, PlainSerializer, PrivateAttr

from gdpbridge.curves.base import Curve
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.curves.linear import linear_curve
from gdpbridge.curves.lines import ArrayLines, Line, Segments
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import constant_piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import ConstantTail, PlateauTail
from gdpbridge.errors import Advice, InputError, UndecidedError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.decide import is_above, with_enough_precision
from gdpbridge.numeric.exact import exact
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import FLOATS, ball, float_above
from gdpbridge.reading.loss_files import losses_of_file

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["PLD", "Direction"]

Floats = NDArray[np.float64]

_TINY_MASS = 1e-9
_ROUNDING = 1e-12
# more than what two roundings move a float by, relative to it
_NEAR = 1e-15
_BITS = 256
# two curves that agree in 300 digits are taken to be the same: where both directions have the same
# losses they are, and no precision would ever tell
_TIE_BITS = 1024
# losses whose greatest common divisor is worth looking for
_FEW = 1000
# lattice points from 0 to the largest loss
_LONGEST = 1e9
# sums of masses that are kept as balls
_MOST_SUMS = 200_000
# lattice points for which composition is exact
_MOST_POINTS = 20_000


@dataclass(eq=False)
class Direction:
    """One direction's privacy loss distribution, repaired.

    Attributes:
        losses: the finite losses, growing.
        masses: the probability of each under the distribution whose loss it is, positive.
        failure: δ_∞, the probability of an infinite loss.
        spacing: a number that every loss is a whole multiple of; None if there is none.
        remarks: what was repaired, a sentence each.
    """

    losses: Floats
    masses: Floats
    failure: Fraction
    spacing: Fraction | None
    remarks: tuple[str, ...]

    @cached_property
    def exact_losses(self) -> Sequence[Fraction]:
        """The losses as rational numbers."""
        if self.spacing is None:
            return [exact(loss) for loss in self.losses.tolist()]
        spacing = self.spacing
        return [spacing * k for k in self.index.tolist()]

    @property
    def index(self) -> NDArray[np.int64]:
        """The losses in spacings."""
        assert self.spacing is not None
        return np.rint(self.losses / float(self.spacing)).astype(np.int64)

    def exact_mass(self, number: int) -> arb:
        """Enclose a probability, at the working precision."""
        return arb(float(self.masses[number]))


class ComposedDirection(Direction):
    """Losses on a lattice, composed exactly: the coefficients of a power of a polynomial.

    Args:
        one: the losses of one run.
        times: how many runs.
    """

    def __init__(self, one: Direction, times: int) -> None:
        assert one.spacing is not None
        self._first, self._one, self._times = int(one.index[0]), one, times
        self._powers: dict[int, arb_poly] = {}
        with precision(_BITS):
            failure = Fraction(max(float_above(-(times * (-ball(one.failure)).log1p()).expm1()), 0))
            power = self._power()
            masses = np.array([float(mass) for mass in power.coeffs()])
        self._numbers = numbers = np.flatnonzero(masses > 0)
        super().__init__(
            losses=np.asarray((numbers + times * self._first) * float(one.spacing), np.float64),
            masses=masses[numbers],
            failure=failure,
            spacing=one.spacing,
            remarks=one.remarks,
        )

    def _power(self) -> arb_poly:
        bits = working_precision()
        if bits not in self._powers:
            coefficients = [arb(0)] * int(self._one.index[-1] - self._first + 1)
            for number, at in enumerate((self._one.index - self._first).tolist()):
                coefficients[at] = self._one.exact_mass(number)
            self._powers[bits] = arb_poly(coefficients) ** self._times
        return self._powers[bits]

    def exact_mass(self, number: int) -> arb:
        """Enclose a coefficient."""
        return self._power()[int(self._numbers[number])]


def direction(losses: Any, masses: Any, name: str) -> Direction:
    """Check and repair losses and their probabilities.

    Args:
        losses: numbers, inf among them.
        masses: as many probabilities.
        name: the direction, for errors.

    Raises:
        InputError: for what is no distribution, naming the number.
    """
    at = _numbers(losses, f"{name}.losses", "numbers, or inf")
    mass = _numbers(masses, f"{name}.probabilities", "numbers in [0, 1]")
    if at.size != mass.size or not at.size:
        raise InputError(
            name,
            Words(f"{at.size} losses and {mass.size} probabilities"),
            Advice(f"give as many losses as probabilities, not {at.size} and {mass.size}"),
        )
    for bad, field, values, allowed in (
        (
            np.isnan(at) | (at == -np.inf) | ((at > MAX_EPS) & (at < np.inf)),
            "losses",
            at,
            f"a number of at most {MAX_EPS:g}, or inf",
        ),
        (at < -MAX_EPS, "losses", at, f"at least {-MAX_EPS:g}"),
        (
            ~((mass >= -_TINY_MASS) & (mass <= 1 + _TINY_MASS)),
            "probabilities",
            mass,
            "a number in [0, 1]",
        ),
    ):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(f"{name}.{field}[{row}]", float(values[row]), allowed)
    remarks = []
    if (mass < 0).any():
        taken = -math.fsum(mass[mass < 0])
        count = int((mass < 0).sum())
        remarks.append(
            f"{name}: {count:,} negative {'mass' if count == 1 else 'masses'}, {taken:.3g} in all, "
            "taken as 0"
        )
        mass = np.maximum(mass, 0.0)
    infinite = math.fsum(mass[at == np.inf])
    kept = np.isfinite(at) & (mass > 0)
    order = np.argsort(at[kept], kind="stable")
    at, mass = at[kept][order], mass[kept][order]
    if at.size and (np.diff(at) == 0).any():
        at, first = np.unique(at, return_index=True)
        mass = np.add.reduceat(mass, first)
    missing = 1.0 - math.fsum([*mass, infinite])
    if missing < -_TINY_MASS:
        raise InputError(
            name,
            Words(f"probabilities that add up to {1 - missing:.12g}"),
            Advice(f"its probabilities add up to {1 - missing:.12g}, more than 1"),
        )
    if missing > _ROUNDING or (missing > 0 and (infinite or not at.size)):
        if missing > _ROUNDING:
            remarks.append(f"{name}: the {missing:.3g} missing from 1 count as an infinite loss")
        infinite = math.nextafter(infinite + missing, 2.0)
    elif missing > 0:
        mass[-1] = math.nextafter(mass[-1] + missing, 2.0)
    other = math.fsum(mass * np.exp(np.minimum(-at, 700.0))) if at.size else 0.0
    if other > 1 + _TINY_MASS:
        allowed = "at most 1 in all under the other distribution too, Σ P(L = y)·e^-y"
        raise InputError(name, f"probabilities that make {other:.12g} of it", allowed)
    return Direction(at, mass, exact(infinite), _lattice(at), tuple(remarks))


def _numbers(values: Any, field: str, allowed: str) -> Floats:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(field, values, allowed) from None
    if found.ndim != 1:
        raise InputError(field, Words(f"an array of {found.ndim} dimensions"), "a list of numbers")
    return found


def _lattice(losses: Floats) -> Fraction | None:
    """Return a number of whose multiples the losses are the nearest floats, if there is one."""
    if not losses.size:
        return None
    first = exact(float(f"{losses[0]:.9g}"))
    candidates = [abs(first)]
    if losses.size > 1:
        gaps = np.diff(losses)
        steps = np.rint(gaps / gaps.min())
        # the mean over the whole range is the best estimate of one that is not a short decimal
        short = exact(float(f"{gaps.min():.9g}"))
        candidates = [short, exact((losses[-1] - losses[0]) / steps.sum()), _divisor(first, short)]
    if losses.size <= _FEW:
        decimals = [exact(float(f"{loss:.9g}")) for loss in losses.tolist()]
        candidates.append(functools.reduce(_divisor, decimals))
    for spacing in candidates:
        if not spacing or np.abs(losses).max() > _LONGEST * spacing:
            continue
        index = np.rint(losses / float(spacing))
        off = np.abs(losses - index * float(spacing))
        if (off > _NEAR * np.abs(losses)).any():
            continue
        # a loss beside its multiple is not moved to it: downwards, δ would become smaller
        multiples = (float(spacing * int(k)) for k in index.tolist())
        if all(map(operator.eq, multiples, losses.tolist())):
            return spacing
    return None


def _divisor(one: Fraction, other: Fraction) -> Fraction:
    """Return the greatest number that both are whole multiples of."""
    one, other = abs(one), abs(other)
    while other:
        one, other = other, one % other
    return one


def _plain(pairs: Any) -> Any:
    return None if pairs is None else [[_shown(loss), _shown(mass)] for loss, mass in pairs]


def _shown(value: Any) -> float | str:
    number = float(value)
    return "inf" if number == math.inf else number


_PAIRS: dict[str, Any] = {"untyped": True, "allowed": "pairs of a loss and its probability"}


@register
class PLD(Profile):
    """A privacy loss distribution, from a file or as numbers."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["pld"] = "pld"
    file: str | None = Field(
        default=None,
        description="the losses and their probabilities, and the direction if there are two",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "allowed": "a CSV, TSV or JSON file, or - for standard input",
        },
    )
    remove: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="pairs of a loss and its probability, where a record is removed",
        json_schema_extra=_PAIRS,
    )
    add: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the same where a record is added; as for removal if left out",
        json_schema_extra=_PAIRS,
    )
    _directions: tuple[Direction, ...] = PrivateAttr()

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if file is None else {"file": file, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Read the distributions, so that errors in them come at once."""
        if (self.file is None) == (self.remove is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and remove", Words(given), Advice("give one of them"))
        if self.file is not None:
            columns = losses_of_file(self.file)
        else:
            columns = {"remove": _columns(self.remove, "remove")}
            if self.add is not None:
                columns["add"] = _columns(self.add, "add")
        found = [direction(*columns[name], name) for name in ("remove", "add") if name in columns]
        self._directions = tuple(found)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The distributions: for removal, and for addition if that was given."""
        return self._directions

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was repaired, and what one direction means."""
        found = [text for one in self._directions for text in one.remarks]
        if len(self._directions) == 1:
            found.append("one direction is given: the other one is taken to be the same")
        return tuple(found)

    def build_curve(self) -> Curve:
        """Return the lines of the larger direction, ε by ε."""
        return _curve(self._directions)

    def composed_curve(self, times: int) -> Curve:
        """Return the exact curve of losses on a short lattice, else one between bounds."""
        if all(self._points(one, times) <= _MOST_POINTS for one in self._directions):
            return _curve([ComposedDirection(one, times) for one in self._directions])
        return super().composed_curve(times)

    @staticmethod
    def _points(one: Direction, times: int) -> float:
        """Return how many lattice points the losses of all runs span."""
        if one.spacing is None or not one.losses.size:
            return math.inf
        return times * int(one.index[-1] - one.index[0])

    def privacy_losses(self) -> Losses:
        """Return the loss in each direction.

        Raises:
            InputError: for more losses than can be composed.
        """
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import MAX_LOOSE, FiniteTransform

        steps = []
        for one in self._directions:
            if one.spacing is None and one.losses.size > MAX_LOOSE:
                allowed = f"at most {MAX_LOOSE:,} to be composed, unless they are on a lattice"
                raise InputError("losses", one.losses.size, allowed)
            if not one.losses.size:
                raise InputError(
                    "pld", Words("without finite losses"), Advice("give at least one finite loss")
                )
            masses = [Fraction(mass) for mass in one.masses.tolist()]
            steps.append(
                FiniteTransform(
                    one.exact_losses,
                    masses,
                    spacing=one.spacing,
                    failure=one.failure,
                    symmetric=len(self._directions) == 1,
                )
            )
        return [Part(steps[0], 1, steps[1] if len(steps) == 2 else None)]


def _columns(pairs: Any, name: str) -> tuple[Any, Any]:
    try:
        losses, masses = zip(*pairs, strict=True)
        return [float(loss) for loss in losses], [float(mass) for mass in masses]
    except (TypeError, ValueError):
        raise InputError(name, pairs, "pairs of a loss and its probability") from None


def _curve(directions: Sequence[Direction]) -> Curve:
    """Return the curve of the larger direction."""
    failure = max(one.failure for one in directions)
    found = [_DirectionLines(one) for one in directions if one.losses.max(initial=0) > 0]
    end = max((one.last for one in found), default=Fraction(0))
    cut_off = 0 < failure <= _ROUNDING
    tail = PlateauTail(end, failure) if cut_off else ConstantTail(end, failure)
    if not found:
        if not failure:
            return zero_curve()
        if failure >= 1:
            raise InputError(
                "pld", Words("without finite losses"), Advice("give at least one finite loss")
            )
        return SmoothCurve((constant_piece(end, failure),), tail)
    lines = found[0] if len(found) == 1 else _Larger(found[0], found[1], failure)
    stop = end if not failure else None
    return linear_curve(lines, tail, stop)


class _DirectionLines(ArrayLines):
    """The lines of one direction on ε ≥ 0, one for each positive loss."""

    def __init__(self, one: Direction) -> None:
        self.one, self.beyond = one, one.failure
        self.first = int(np.searchsorted(one.losses, 0.0, side="right"))
        self.last = one.exact_losses[-1]
        self.log_beyond = float(np.log(float(one.failure))) if one.failure else -math.inf
        log_mass = np.log(one.masses)
        end = one.losses[self.first :]
        log_b = np.logaddexp.accumulate((log_mass - one.losses)[::-1])[::-1][self.first :]
        log_below = np.append(-np.inf, np.logaddexp.accumulate(log_mass))
        start = np.append(0.0, end[:-1])
        # both grow by positive amounts only, and nothing cancels
        log_complement = np.logaddexp(log_below[self.first : -1], log_b + start)
        fall = log_b[1:] + end[1:] + FLOATS.log1mexp(end[:-1] - end[1:])
        log_at_end = np.logaddexp.accumulate(np.append(self.log_beyond, fall[::-1]))[::-1]
        super().__init__(Segments(start, end, log_b, log_at_end, log_complement))
        # sums are kept for every loss, or for every so many of very many
        self._stride = max(1, one.losses.size // _MOST_SUMS)
        self._sums: dict[int, list[tuple[arb, arb]]] = {}

    def line(self, index: int) -> Line:
        """Sum from the next checkpoint above."""
        start = self.first + index
        block = -(-start // self._stride)
        p, q = self._checkpoints()[block]
        for number in range(start, min(block * self._stride, self.one.losses.size)):
            one_p, one_q = self._masses(number)
            p, q = p + one_p, q + one_q
        a = p + ball(self.one.failure)
        return Line(a, 1 - a, q, 1 - q)

    def _masses(self, number: int) -> tuple[arb, arb]:
        p = self.one.exact_mass(number)
        return p, p * (-ball(self.one.exact_losses[number])).exp()

    def _checkpoints(self) -> list[tuple[arb, arb]]:
        """The sums of masses under both distributions from every so many losses on."""
        bits = working_precision()
        if bits not in self._sums:
            size = self.one.losses.size
            p, q = arb(0), arb(0)
            found = [(p, q)]
            for number in range(size - 1, -1, -1):
                one_p, one_q = self._masses(number)
                p, q = p + one_p, q + one_q
                if number % self._stride == 0:
                    found.append((p, q))
            self._sums[bits] = found[::-1]
        return self._sums[bits]

    def end(self, index: int) -> arb:
        """Return a loss."""
        return ball(self.one.exact_losses[self.first + index])


class _Larger(ArrayLines):
    """The lines of the larger one of two curves."""

    def __init__(self, one: _DirectionLines, other: _DirectionLines, failure: Fraction) -> None:
        self.sides, self.beyond = (one, other), failure
        self.log_beyond = float(np.log(float(failure))) if failure else -math.inf
        ends = np.union1d(one.floats.end, other.floats.end)
        starts = np.append(0.0, ends[:-1])
        owner = [self._larger_at(np.asarray(at, dtype=np.float64)) for at in (starts, ends)]
        middles = (starts + ends) / 2
        index = [side.locate(middles) for side in self.sides]
        self._parts: list[tuple[int, int]] = []
        self._crossings: list[bool] = []
        stops: list[float] = []
        for cell in range(ends.size):
            first, last = int(owner[0][cell]), int(owner[1][cell])
            if first != last:
                self._add(first, int(index[first][cell]), math.nan, True, stops)
            self._add(last, int(index[last][cell]), float(ends[cell]), False, stops)
        self.count = len(self._parts)
        with precision(_BITS):
            stop = [
                float(self.end(number)) if math.isnan(value) else value
                for number, value in enumerate(stops)
            ]
        super().__init__(self._segments(np.array(stop)))

    def _add(self, side: int, index: int, stop: float, crossing: bool, stops: list[float]) -> None:
        if self._parts and self._parts[-1] == (side, index) and not self._crossings[-1]:
            stops[-1], self._crossings[-1] = stop, crossing
            return
        self._parts.append((side, index))
        self._crossings.append(crossing)
        stops.append(stop)

    def _larger_at(self, eps: Floats) -> NDArray[np.int64]:
        """Return which side is larger, settled in balls where floats cannot tell."""
        logs = [side.formula(eps, FLOATS).log() for side in self.sides]
        found = (logs[1] > logs[0]).astype(np.int64)
        with np.errstate(invalid="ignore"):
            close = np.flatnonzero(~(np.abs(logs[0] - logs[1]) > 1e-9))
        for number in close.tolist():
            found[number] = self._larger_in_balls(exact(float(eps[number])))
        return found

    def _larger_in_balls(self, eps: Fraction) -> int:
        """Return which side is larger; the first one at a tie, as where both are the same."""

        def second() -> bool:
            values = [side._ball_value(ball(eps)) for side in self.sides]
            return is_above(values[1].log(), values[0].log())

        try:
            return int(with_enough_precision(_BITS, second, most=_TIE_BITS))
        except UndecidedError:
            return 0

    def _segments(self, end: Floats) -> Segments:
        start = np.append(0.0, end[:-1])
        log_b, log_at_end, log_complement = (np.empty(end.size) for _ in range(3))
        for side, lines in enumerate(self.sides):
            mine = np.array([part[0] == side for part in self._parts])
            at = lines.formula(end[mine], FLOATS)
            log_at_end[mine] = at.log()
            log_complement[mine] = lines.formula(start[mine], FLOATS).log_complement()
            index = np.array([part[1] for part in self._parts])[mine]
            known = np.minimum(index, lines.floats.end.size - 1)
            log_b[mine] = np.where(
                index < lines.floats.end.size, lines.floats.log_b[known], -np.inf
            )
        return Segments(start, end, log_b, log_at_end, log_complement)

    def line(self, index: int) -> Line:
        """Take a line from its side."""
        side, number = self._parts[index]
        lines = self.sides[side]
        if number == lines.count:
            failure = ball(lines.one.failure)
            return Line(failure, 1 - failure, arb(0), arb(1))
        return lines.line(number)

    def end(self, index: int) -> arb:
        """Return a loss, or where two lines cross."""
        if self._crossings[index]:
            before, after = self.line(index), self.line(index + 1)
            return ((before.a - after.a) / (before.b - after.b)).log()
        side, number = self._parts[index]
        following = self._parts[index + 1] if index + 1 < len(self._parts) else None
        if following is not None and following[0] != side:
            # the sides change at a loss of the other one
            other = self.sides[following[0]]
            return other.end(following[1] - 1) if following[1] else arb(0)
        lines = self.sides[side]
        return lines.end(min(number, lines.floats.end.size - 1))
