"""A privacy profile given as text: δ(ε), or its logarithm, as a formula of eps.

What the formula says is a guarantee for every ε; together these imply more, and that is what is
measured (see envelope.py). For the profile of an actual mechanism this changes nothing: it already
contains all that it implies (Liu, Sun, Jiang and Kong 2022, theorem on the partial order).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import Advice, InputError
from gdpbridge.expressions.logarithms import logarithm_of
from gdpbridge.expressions.tree import Call, Name, has_name
from gdpbridge.guarantees.segments import Segment
from gdpbridge.mechanisms.registry import register
from gdpbridge.mechanisms.written import Written, segment_of

__all__ = ["Formula"]

_DELTA, _LOG_DELTA = Name("delta"), Name("log_delta")


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
        above = self.above_what_it_implies() if self.is_exact else None
        if above is not None:
            raise InputError(
                "exact",
                True,
                Advice(
                    "leave it out: the formula is no mechanism's own δ(ε), as what it says of "
                    f"larger eps implies a smaller δ at eps = {above:.6g}"
                ),
            )
        return curve

    @staticmethod
    def own_names() -> set[str]:
        """The left side may be log_delta."""
        return {"log_delta"}

    def segments(self) -> list[Segment]:
        """Return the right side on each range of eps."""
        found = []
        for start, equation in self.equations():
            left, right = equation.left, equation.right
            is_log = left in (_LOG_DELTA, Call("log", (_DELTA,)))
            solved = not (has_name(right, "delta") or has_name(right, "log_delta"))
            if not (solved and (is_log or left == _DELTA)):
                raise InputError(
                    "text", self.text, "delta = ... or log_delta = ..., with a formula of eps alone"
                )
            log = None if is_log else logarithm_of(right)
            solution = (right, is_log) if log is None else (log, True)
            found.append(segment_of(start, *solution))
        return found

    def model_post_init(self, context: object) -> None:
        """Check the sides of the equation too."""
        super().model_post_init(context)
        self.segments()
