"""A privacy profile given as text: δ(ε), or its logarithm, as a formula of eps.

What the formula says is a guarantee for every ε; together these imply more, and that is what is
measured: 1 - δ(ε) = (1 + e^ε)·sup (1 - δ̂(s))/(1 + e^s) over s ≥ ε (see envelope.py). For the
profile of an actual mechanism this changes nothing: it already contains all that it implies (Liu,
Sun, Jiang and Kong 2022, theorem on the partial order).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import Advice, InputError
from gdpbridge.expressions.branches import Range, ranges_of
from gdpbridge.expressions.logarithms import logarithm_of
from gdpbridge.expressions.parse import Equation, parse_equation
from gdpbridge.expressions.tree import (
    FUNCTIONS,
    Call,
    Name,
    Node,
    Number,
    TooLargeError,
    has_name,
    names,
    substituted,
)
from gdpbridge.guarantees.assumed import TAILS, assumed_tail
from gdpbridge.guarantees.formulas import Followed, follow, segment_of
from gdpbridge.guarantees.segments import Guarantees, Segment
from gdpbridge.mechanisms.base import Profile, Real
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact

__all__ = ["Formula", "Written"]

_DELTA, _LOG_DELTA = Name("delta"), Name("log_delta")
MAX_CERTIFIED = 400
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

    def equations(self) -> list[tuple[Range, Equation]]:
        """Return each range of eps with its equation, values filled in."""
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
            result.append((part, Equation(sides[0], sides[-1])))
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
        return self.followed.curve

    @property
    def remarks(self) -> tuple[str, ...]:
        """How far the formula was followed."""
        return self.followed.remarks

    @property
    def beyond_certificates(self) -> str:
        """They are of a formula that the checker can read, and of all that it implies."""
        if self.naive or len(self.text) > MAX_CERTIFIED:
            what = "taken as it stands" if self.naive else f"of over {MAX_CERTIFIED} characters"
            return f"there is no certificate for a formula {what}"
        if any(part.is_point for part, _ in self.equations()):
            return "there is no certificate for a formula that says something of one eps alone"
        if self.followed.remarks:
            return "there is no certificate for a formula that is not refined, or ends unproved"
        return self._unread()

    def _unread(self) -> str:
        """Return why the checker cannot read the text; empty if it can."""
        from gdpbridge_verify.refusal import Malformed

        try:
            self._read_by_checker()
        except Malformed as error:
            return f"there is no certificate yet for a text that is not {error.allowed}"
        return ""

    def _read_by_checker(self) -> tuple[Any, bool]:
        """Read the text as the checker of certificates does."""
        from gdpbridge_verify.trees import parsed

        return parsed(self.text, self._exact_values())

    def _exact_values(self) -> dict[str, Fraction]:
        return {name: exact(value) for name, value in self.values.items()}

    @cached_property
    def followed(self) -> Followed:
        """The formula as a curve."""
        given = Guarantees(tuple(self.segments()), "text", self.text)
        return follow(given, naive=self.naive, declared=assumed_tail(self.tail_declared))


@register
class Formula(Written):
    """Any mechanism with δ(ε) given by a formula, such as "delta = exp(-eps**2)"."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["formula"] = "formula"

    is_exact: bool = Field(
        False,
        alias="exact",
        description="say that the formula is the mechanism's own δ(ε), not only an upper bound",
        json_schema_extra={"allowed": "true or false"},
    )

    def __init__(self, text: str | None = None, **parameters: Any) -> None:
        # again, as type checkers make up one for each class of fields
        super().__init__(text, **parameters)

    @property
    def profile_is(self) -> Nature:
        """The mechanism's own where the user says so."""
        return Nature.OWN if self.is_exact else self.nature

    @property
    def remarks(self) -> tuple[str, ...]:
        """How far the formula was followed, and what is taken from the user."""
        said = ("that the formula is the mechanism's own δ(ε) is the user's word (exact)",)
        return (*super().remarks, *(said if self.is_exact else ()))

    def build_curve(self) -> SmoothCurve:
        """Build the curve, and refuse to call a formula exact that no mechanism's profile is.

        Raises:
            InputError: where what an exact formula says of larger ε implies a smaller δ.
        """
        curve = super().build_curve()
        above = self._impossible_at() if self.is_exact else None
        if above is not None:
            raise InputError(
                "exact",
                True,
                Advice(
                    "leave it out: the formula is no mechanism's own δ(ε), as what it says of "
                    f"other eps implies a smaller δ near eps = {above:.6g}"
                ),
            )
        return curve

    @cached_property
    def possible(self) -> bool | Fraction:
        """Whether the formula is proved to be some mechanism's δ, or an ε that shows it is not."""
        if self._unread():
            return False
        from gdpbridge_verify.arithmetic import Arithmetic
        from gdpbridge_verify.convexity import BITS, can_be_own

        if len(self.equations()) > 1:
            return False
        node, is_log = self._read_by_checker()
        return can_be_own(node, Arithmetic(BITS), is_log=is_log)

    def _impossible_at(self) -> float | None:
        """Return an ε that shows that the formula is no mechanism's δ, None if none is seen."""
        above = self.followed.above_what_it_implies()
        if above is not None or isinstance(self.possible, bool):
            return above
        return float(self.possible)

    @staticmethod
    def own_names() -> set[str]:
        """The left side may be log_delta."""
        return {"log_delta"}

    def segments(self) -> list[Segment]:
        """Return the right side on each range of eps."""
        found = []
        for part, equation in self.equations():
            left, right = equation.left, equation.right
            is_log = left in (_LOG_DELTA, Call("log", (_DELTA,)))
            solved = not (has_name(right, "delta") or has_name(right, "log_delta"))
            if not (solved and (is_log or left == _DELTA)):
                raise InputError(
                    "text", self.text, "delta = ... or log_delta = ..., with a formula of eps alone"
                )
            log = None if is_log else logarithm_of(right)
            solution = (right, is_log) if log is None else (log, True)
            found.append(segment_of(part.start, *solution, is_point=part.is_point))
        return found

    def model_post_init(self, context: object) -> None:
        """Check the sides of the equation too."""
        super().model_post_init(context)
        self.segments()
