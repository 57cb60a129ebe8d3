"""Lower bounds of δ at every ε from bounds at some places: in t = e^ε it is convex, and falls.

From a place on δ is above the line through it and the place before, up to the next one above the
line through that and the place after it. Its mirror image, for the other order of a pair of
neighbours, is δ(1/t) = 1 - (1 - δ(t))/t, and δ = 1 at t = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.evidence import Place, Point
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Refused, Undecided
from gdpbridge_verify.statement import MAX_EPS, Check

# microseconds: of what is proved at a place, and from there to the next one
_COST_OF_PLACE = 120.0


@dataclass(frozen=True)
class _Place:
    """A t = e^ε, and bounds of δ there."""

    t: Interval
    low: Interval
    high: Interval

    def mirrored(self) -> _Place:
        return _Place(1 / self.t, 1 - (1 - self.low) / self.t, 1 - (1 - self.high) / self.t)


def require_above(
    check: Check,
    line: str,
    places: Sequence[Place] | None,
    below: Callable[[Interval], Interval],
    *,
    everywhere: bool,
) -> None:
    """Prove that δ is nowhere below a function of t.

    Args:
        check: at one precision.
        line: the line of the document.
        places: where δ is proved, in order.
        below: the function, convex in t, and falling after the last place.
        everywhere: for every t ≥ 0; else for t ≥ 1, for which a place is needed.
    """
    if not check.is_convex:
        raise Refused(line, "δ as it is stated need not be convex")
    if not places:
        raise Refused(f"evidence.points: places of {line}", "there are none")
    last, known = Fraction(-1), []
    for one in places:
        at = binary(one.at)
        if not last < at <= MAX_EPS:
            raise Malformed(f"evidence.points: places of {line}", one.at, "in order of their ε")
        last = at
        known.append(_proved(check, line, one, at))
    first = binary(places[0].at)
    if not everywhere and first:
        raise Malformed(f"evidence.points: places of {line}", places[0].at, "from 0 on")
    exactly = check.arithmetic.exactly
    # at a place with no bound it is only said that nothing is of interest after it
    mirrored = [place.mirrored() for place in known if place.t > 1 and place.high < 1][::-1]
    known = [_Place(exactly(0), exactly(1), exactly(1)), *mirrored, *known]
    check.hold(line, -below(known[-1].t))
    for number in range(0 if everywhere else len(mirrored) + 1, len(known) - 1):
        _cell(check, line, known, number, below)


def _proved(check: Check, line: str, place: Place, at: Fraction) -> _Place:
    """Prove δ at a place."""
    check.arithmetic.charge(_COST_OF_PLACE)
    low, high = Fraction(place.low), Fraction(place.high)
    if not low <= high <= 1:
        raise Malformed(f"evidence.points: places of {line}", place.low, "at most its high, and 1")
    if high < 1:
        check.at_most(line, at, high)
    if low > 0:
        point = Point(event=place.event, witness_line=place.witness_line)
        require_at_least(check, line, at, low, point)
    exactly = check.arithmetic.exactly
    return _Place(exactly(at).exp(), exactly(low), exactly(high))


def _cell(
    check: Check,
    line: str,
    known: Sequence[_Place],
    number: int,
    below: Callable[[Interval], Interval],
) -> None:
    """Prove δ ≥ g from a place to the next one; g is below its chord."""
    left, right = known[number : number + 2]
    width, ends = right.t - left.t, (below(left.t), below(right.t))
    # by how much the two lines are above the chord: each at its own place, and at the other
    own, other = left.low - ends[0], right.low - ends[1]
    check.hold(line, own)
    check.hold(line, other)
    falls = check.arithmetic.exactly(0)
    if number + 2 < len(known):
        after = known[number + 2]
        falls = (right.low - after.high) / (after.t - right.t)
    over_left = right.low + falls * width - ends[0]
    if over_left >= 0:
        return
    if not number:
        raise Refused(line, "δ is not shown to be so large")
    before = known[number - 1]
    over_right = left.low - (before.high - left.low) / (left.t - before.t) * width - ends[1]
    if not over_right >= 0:
        # they meet above the chord
        check.hold(line, own * other - over_left * over_right)


def require_at_least(check: Check, line: str, at: Fraction, value: Fraction, point: Point) -> None:
    """Prove that δ(ε) is at least a number."""
    if not check.tail.floor >= value:
        check.reaches(line, at, Level.of(check.enclosed(value)), point)


def require_above_at(check: Check, line: str, at: Fraction, value: Fraction, point: Point) -> None:
    """Prove that δ(ε) is above a number."""
    if check.tail.floor > value:
        return
    if not check.reaches(line, at, Level.of(check.enclosed(value)), point) > 0:
        raise Undecided(line)
