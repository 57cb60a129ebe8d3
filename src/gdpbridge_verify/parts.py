"""A formula of δ on a range, and what is known of it beyond all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval, Level
from gdpbridge_verify.profile import Tail


@dataclass(frozen=True)
class Part:
    """One formula of δ, and where it applies: from `low` to `high`, or for good.

    Where δ is convex in e^ε, it is below its chords; where it is concave, below its tangents:
    `over(c, ε)` is the one at c.
    """

    low: Fraction
    high: Fraction | None
    level: Callable[[Interval], Level]
    over: Callable[[Interval, Interval], Interval] | None = None


# about a place that is not rational
Bracket = tuple[Fraction, Fraction]
Formulas = tuple[tuple[Part, ...], Tail]
