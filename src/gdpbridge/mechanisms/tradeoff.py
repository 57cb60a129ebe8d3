"""A trade-off given as text: noise = g(ε, δ), solved for δ at a fixed noise, then refined.

A mechanism that needs the noise g(ε, δ) to be (ε, δ)-DP is, at a fixed noise, (ε, δ)-DP for every
solution of noise = g(ε, δ) at once (Liu, Sun, Jiang and Kong 2022, section 3 and its examples).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from gdpbridge.curves.nature import Nature
from gdpbridge.errors import InputError
from gdpbridge.expressions.isolate import isolated
from gdpbridge.expressions.tree import Call, TooLargeError, has_name
from gdpbridge.guarantees.formulas import segment_of
from gdpbridge.guarantees.implicit import solved_segment
from gdpbridge.guarantees.segments import Segment
from gdpbridge.mechanisms.formula import Written
from gdpbridge.mechanisms.registry import register

__all__ = ["Tradeoff"]


@register
class Tradeoff(Written):
    """Any mechanism whose noise is a formula of ε and δ, such as "sigma = -2*log(delta)/eps"."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["tradeoff"] = "tradeoff"

    def __init__(self, text: str | None = None, **parameters: Any) -> None:
        # again, as type checkers make up one for each class of fields
        super().__init__(text, **parameters)

    def segments(self) -> list[Segment]:
        """Return δ on each range of eps: by undoing the formula, else by solving it."""
        found = []
        for part, equation in self.equations():
            if part.is_point:
                allowed = "an equation whose conditions hold on ranges of eps, not at one alone"
                raise InputError("text", self.text, allowed)
            try:
                solution = isolated(equation.left, equation.right)
            except TooLargeError as error:
                raise InputError("text", self.text, str(error)) from None
            if solution is not None:
                found.append(segment_of(part.start, *solution))
            else:
                difference = Call("-", (equation.right, equation.left))
                found.append(solved_segment(part.start, difference))
        return found

    def model_post_init(self, context: object) -> None:
        """Check that there is something to solve for."""
        super().model_post_init(context)
        for _, equation in self.equations():
            if not has_name(Call("-", (equation.left, equation.right)), "delta"):
                raise InputError("text", self.text, "an equation with delta in it")

    def _read_by_checker(self) -> tuple[Any, bool]:
        from gdpbridge_verify.arithmetic import Arithmetic
        from gdpbridge_verify.ranges import formulas_of
        from gdpbridge_verify.trees import Node, isolated, sides_of

        sides = Node("=", sides_of(self.text, self._exact_values()))
        found = [isolated(self.text, *node.parts) for _, node in formulas_of(sides, Arithmetic(96))]
        return found[-1]
