"""What profiles given as text share: their fields, parameters and the way to a curve."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb
from pydantic import Field

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import CertainFailureTail, ConstantTail, PlateauTail
from gdpbridge.errors import Advice, InputError, UndecidedError
from gdpbridge.expressions.branches import ranges_of
from gdpbridge.expressions.evaluate import Evaluation, is_non_negative
from gdpbridge.expressions.parse import Equation, parse_equation
from gdpbridge.expressions.tree import (
    FUNCTIONS,
    Call,
    Node,
    Number,
    TooLargeError,
    names,
    substituted,
)
from gdpbridge.guarantees.assumed import TAILS, assumed_tail
from gdpbridge.guarantees.decay import proved_tail
from gdpbridge.guarantees.envelope import implied_pieces
from gdpbridge.guarantees.estimate import estimated_tail
from gdpbridge.guarantees.segments import BITS, TOP, Guarantees, Segment
from gdpbridge.guarantees.starts import start_of
from gdpbridge.mechanisms.base import Profile, Real
from gdpbridge.numeric.decide import MorePrecisionError, certainly, is_below, with_enough_precision
from gdpbridge.numeric.exact import decimal_ceiling, exact
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Operations, Probability, ball, to_fraction

__all__ = ["Written", "segment_of"]

_LEAST_VALUE = -4000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Written(Profile):
    """A profile given as text.

    Raises:
        InputError: for a text that is not what it should be, with the column.
    """

    text: str = Field(
        description="the equation",
        json_schema_extra={"allowed": "an equation as text"},
    )
    values: dict[str, Real] = Field(
        default_factory=dict,
        alias="set",
        description="the values of the names in the equation",
        json_schema_extra={
            "allowed": "names with finite numbers",
        },
    )
    tail_declared: str | None = Field(
        None,
        alias="tail",
        description="what is taken for granted of δ beyond ε = 100, without proof",
        json_schema_extra={"allowed": TAILS, "symbol": "TAIL"},
    )
    naive: bool = Field(
        False,
        description="take the formula as it stands, without what it implies for smaller ε",
        json_schema_extra={"allowed": "true or false"},
    )

    def __init__(self, text: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if text is None else {"text": text, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Read the text, so that errors in it come at once."""
        self._check_names()
        assumed_tail(self.tail_declared)
        self.equations()

    def _check_names(self) -> None:
        for name, value in self.values.items():
            if not _NAME.fullmatch(name) or name in {"eps", "delta", *FUNCTIONS, "piecewise"}:
                raise InputError("set", name, "a name that is not eps, delta or a function")
            try:
                exact(value)
            except ValueError:
                raise InputError(f"set {name}", value, "a finite number") from None

    def equations(self) -> list[tuple[Node, Equation]]:
        """Return the equation on each range of eps, with the range's start and values filled in."""
        equation = parse_equation(self.text, "text")
        both = Call("-", (equation.left, equation.right))
        known = {name: Number(exact(value)) for name, value in self.values.items()}
        self._check_known(names(both) - {"eps", "delta"}, known)
        try:
            filled = Call("-", tuple(substituted(side, known) for side in both.arguments))
            ranges = ranges_of(filled, "text", self.text)
        except TooLargeError as error:
            raise InputError("text", self.text, str(error)) from None
        result = []
        for part in ranges:
            assert isinstance(part.node, Call | Number)
            sides = part.node.arguments if isinstance(part.node, Call) else (part.node,)
            result.append((part.start, Equation(sides[0], sides[-1])))
        return result

    def _check_known(self, used: set[str], known: Mapping[str, Node]) -> None:
        own = self.own_names()
        for name in sorted(used - set(known) - own):
            raise InputError("text", self.text, Advice(f"{name} has no value: set {name}=..."))
        for name in sorted(set(known) - used):
            raise InputError("set", name, "a name that stands in the equation")

    @staticmethod
    def own_names() -> set[str]:
        """Return the names that the equation may use besides eps, delta and parameters."""
        return set()

    @abstractmethod
    def segments(self) -> list[Segment]:
        """Return the formula for δ on each range of eps."""

    def build_curve(self) -> SmoothCurve:
        """Check the formula, refine it unless asked not to, and look at its tail."""
        return self._checked.curve

    def above_what_it_implies(self) -> float | None:
        """Return an ε at which δ is proved to be smaller than the formula, None if none is seen."""
        checked = self._checked
        return None if checked.whole is None else _first_above(checked.whole, checked.curve.pieces)

    @property
    def remarks(self) -> tuple[str, ...]:
        """How far the formula was followed."""
        return self._checked.remarks

    @cached_property
    def _checked(self) -> _Checked:
        whole = Guarantees(tuple(self.segments()), "text", self.text).checked()
        with precision(BITS):
            start, end = whole.start(), whole.end()
        if start is None and not self.naive:
            allowed = f"a formula for delta that falls below 1 for some eps up to {whole.reach}"
            raise InputError("text", self.text, allowed)
        if end == 0 and _is_negative_at_zero(whole):
            raise InputError(
                "text", self.text, "a formula for delta that is not negative at eps = 0"
            )
        if start is None or (self.naive and end != 0 and _starts_at_one(whole, start)):
            return _Checked(SmoothCurve(_plain(whole, end), CertainFailureTail(), end))
        remarks: tuple[str, ...] = ()
        pieces = _plain(whole, end)
        if not self.naive and end != 0:
            try:
                pieces = implied_pieces(whole, start, end)
            except UndecidedError as error:
                if _starts_at_one(whole, start):
                    raise
                remarks = (f"measured as it stands, not refined: {error}",)
        if end is None and whole.reach < TOP:
            return self._cut(whole, pieces, remarks)
        tail = self._tail(whole, end)
        if self.tail_declared is not None and tail != assumed_tail(self.tail_declared):
            remarks += ("the declared tail is not used: what the formula's tail is, is proved",)
        return _Checked(SmoothCurve(pieces, tail, end), remarks, whole)

    def _cut(
        self, whole: Guarantees, pieces: tuple[Piece, ...], remarks: tuple[str, ...]
    ) -> _Checked:
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
            top = top.upper().max(arb(10) ** _LEAST_VALUE)
            return Fraction(decimal_ceiling(to_fraction(top.upper()), 20))

        value = with_enough_precision(BITS, last_value)
        at = f"{float(reach):.6g}"
        remark = f"that the formula does not rise is proved up to ε = {at}: it is not used beyond"
        declared = assumed_tail(self.tail_declared)
        tail = declared if declared and declared.start <= reach else PlateauTail(reach, value)
        curve = SmoothCurve((*pieces, Piece(reach, rest)), tail)
        return _Checked(curve, (*remarks, remark), whole)

    def _tail(self, whole: Guarantees, end: Constant | None) -> Tail:
        if end is not None:
            return ConstantTail(end, Fraction(0))
        last = whole.segments[-1]
        with precision(BITS):
            from_here = to_fraction(BALLS.constant(last.start).upper())
        if last.tree is not None:
            proved = proved_tail(last.tree, last.is_log, from_here)
            if proved is not None:
                return proved
        return assumed_tail(self.tail_declared) or estimated_tail(last.tree, last.is_log)


@dataclass(frozen=True)
class _Checked:
    """A curve, and what should be said of it."""

    curve: SmoothCurve
    remarks: tuple[str, ...] = ()
    whole: Guarantees | None = None


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


def segment_of(start: Node, node: Node, is_log: bool) -> Segment:
    """Return a formula for δ or log δ as a segment.

    Args:
        start: where it begins to apply, without names.
        node: the formula, in eps alone.
        is_log: whether it gives log δ.
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

    return Segment(start_of(start), value, is_log, value if is_log else log, log_complement, node)
