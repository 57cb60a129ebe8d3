"""Formulas for δ(ε) as a curve: what they imply, how far they hold, and their tail."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import AssumedTail, CertainFailureTail, ConstantTail, PlateauTail
from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.expressions.evaluate import Evaluation, is_non_negative
from gdpbridge.expressions.tree import Call, Node, Number
from gdpbridge.guarantees.decay import proved_tail
from gdpbridge.guarantees.envelope import implied_pieces
from gdpbridge.guarantees.estimate import estimated_tail
from gdpbridge.guarantees.segments import BITS, TOP, Guarantees, Segment
from gdpbridge.guarantees.starts import start_of
from gdpbridge.numeric.decide import MorePrecisionError, certainly, is_below, with_enough_precision
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import (
    BALLS,
    Operations,
    Probability,
    ball,
    fraction_above,
    to_fraction,
)

__all__ = ["Followed", "follow", "segment_of"]

# the exponent of the least last value of a formula that is written out
_LEAST_VALUE = -4000


@dataclass(frozen=True)
class Followed:
    """A curve made of formulas.

    Attributes:
        curve: the curve.
        remarks: how far the formulas were followed, a sentence each.
        whole: what they say, as it was checked; None where δ(0) = 1.
    """

    curve: SmoothCurve
    remarks: tuple[str, ...] = ()
    whole: Guarantees | None = None

    def above_what_it_implies(self) -> float | None:
        """Return an ε at which δ is proved to be smaller than the formula, None if none is seen."""
        return None if self.whole is None else _first_above(self.whole, self.curve.pieces)


def follow(
    given: Guarantees, *, naive: bool = False, declared: AssumedTail | None = None
) -> Followed:
    """Check formulas, refine them unless asked not to, and look at their tail.

    Args:
        given: the formulas, with the field and the text that errors name.
        naive: take them as they stand, without what they imply for smaller ε.
        declared: the tail that is assumed where none is proved.

    Raises:
        InputError: for formulas that no δ(ε) can have.
        UndecidedError: if a question about them is undecided at the precision cap.
    """
    whole = given.checked()
    with precision(BITS):
        start, end = whole.start(), whole.end()
    if start is None and not naive:
        reach = f"{float(whole.reach):.6g}"
        allowed = f"a formula for delta that falls below 1 for some eps up to {reach}"
        raise InputError(whole.field, whole.text, allowed)
    if end == 0 and _is_negative_at_zero(whole):
        allowed = "a formula for delta that is not negative at eps = 0"
        raise InputError(whole.field, whole.text, allowed)
    if start is None or (naive and end != 0 and _starts_at_one(whole, start)):
        return Followed(SmoothCurve(_plain(whole, end), CertainFailureTail(), end))
    remarks: tuple[str, ...] = ()
    pieces = _plain(whole, end)
    if not naive and end != 0:
        try:
            pieces = implied_pieces(whole, start, end)
        except UndecidedError as error:
            if _starts_at_one(whole, start):
                raise
            remarks = (f"measured as it stands, not refined: {error}",)
    if end is None and whole.reach < TOP:
        return _cut(whole, pieces, remarks, declared)
    tail = _tail(whole, end, declared)
    if declared is not None and tail != declared:
        remarks += ("the declared tail is not used: what the formula's tail is, is proved",)
    return Followed(SmoothCurve(pieces, tail, end), remarks, whole)


def _cut(
    whole: Guarantees,
    pieces: tuple[Piece, ...],
    remarks: tuple[str, ...],
    declared: AssumedTail | None,
) -> Followed:
    """Use the formula as far as it is proved not to rise; δ is at most its last value then."""
    reach, last = whole.reach, whole.segments[-1]

    def log_rest() -> arb:
        return last.log(ball(reach), BALLS)

    def rest(eps: Any, ops: Operations) -> Probability:
        log = ops.constant(log_rest) + 0 * eps
        if ops is not BALLS:
            return Probability.from_log(ops, log)
        # anything from 0 on
        return Probability(arb.nan, lambda: ops.log1mexp(log).union(arb(0)))

    def last_value() -> Fraction:
        top = log_rest().exp()
        if not top.is_finite():
            raise MorePrecisionError
        # below that, the fraction itself would be out of reach
        least = top.max(arb(10) ** _LEAST_VALUE)
        return fraction_above(least, 20)

    value = with_enough_precision(BITS, last_value)
    at = f"{float(reach):.6g}"
    remark = f"that the formula does not rise is proved up to ε = {at}: it is not used beyond"
    tail = declared if declared and declared.start <= reach else PlateauTail(reach, value)
    curve = SmoothCurve((*pieces, Piece(reach, rest)), tail)
    return Followed(curve, (*remarks, remark), whole)


def _tail(whole: Guarantees, end: Constant | None, declared: AssumedTail | None) -> Tail:
    if end is not None:
        return ConstantTail(end, Fraction(0))
    last = whole.segments[-1]
    with precision(BITS):
        from_here = to_fraction(BALLS.constant(last.start).upper())
    if last.tree is not None:
        proved = proved_tail(last.tree, last.is_log, from_here)
        if proved is not None:
            return proved
    return declared or estimated_tail(last.tree, last.is_log)


def _first_above(whole: Guarantees, pieces: tuple[Piece, ...]) -> float | None:
    """Return an ε at which the formula is proved to be above the pieces, in the middle of one."""
    own = {segment.formula for segment in whole.segments}
    with precision(BITS):
        starts = [BALLS.constant(piece.start) for piece in pieces]
        for piece, low, high in zip(pieces, starts, starts[1:], strict=False):
            middle = ((low + high) / 2).mid()
            if piece.formula in own or not certainly(middle <= ball(whole.reach)):
                continue
            segment = whole.segment_at(middle)
            if certainly(segment.point(middle) >= segment.cap):
                return float(middle)
            if certainly(segment.log(middle, BALLS) > piece.formula(middle, BALLS).log()):
                return float(middle)
    return None


def _is_negative_at_zero(whole: Guarantees) -> bool:
    """Whether δ̂(0) < 0: a slip of a sign, and not perfect privacy."""
    first = whole.segments[0]
    if first.tree is None or first.is_log:
        return False
    tree = first.tree

    def at_zero() -> arb:
        return Evaluation(BALLS, {"eps": arb(0)}).value(tree)

    with precision(BITS):
        if at_zero().is_nan():
            return False  # it is undefined at that one point
    return with_enough_precision(
        BITS, lambda: is_below(at_zero()), "whether delta is negative at eps = 0 is undecided"
    )


def _plain(whole: Guarantees, end: Constant | None) -> tuple[Piece, ...]:
    # a part that begins where δ is 0 already has no range
    kept = [segment for segment in whole.segments if end is None or segment.start != end]
    return tuple(Piece(segment.start, segment.formula) for segment in kept or whole.segments[:1])


def _starts_at_one(whole: Guarantees, start: Constant) -> bool:
    """Whether δ̂(0) is 1 or more."""
    if callable(start):
        return True
    undecided = "whether delta is below 1 at eps = 0 is undecided"
    return with_enough_precision(BITS, lambda: not is_below(whole.above_one(arb(0))), undecided)


def segment_of(start: Node, node: Node, is_log: bool, *, is_point: bool = False) -> Segment:
    """Return a formula for δ or log δ as a segment.

    Args:
        start: where it begins to apply, without names.
        node: the formula, in eps alone.
        is_log: whether it gives log δ.
        is_point: whether it holds at its start alone.
    """

    def value(eps: Any, ops: Operations) -> Any:
        return Evaluation(ops, {"eps": eps}).value(node)

    def log(eps: Any, ops: Operations) -> Any:
        return Evaluation(ops, {"eps": eps}).log(node)

    log_complement = None
    match node:
        case Call("-", (Number(one), part)) if one == 1 and not is_log and is_non_negative(part):

            def log_complement(eps: Any, ops: Operations) -> Any:
                return Evaluation(ops, {"eps": eps}).log(part)

    return Segment(
        start_of(start),
        value,
        is_log,
        value if is_log else log,
        log_complement,
        node,
        is_point=is_point,
    )
