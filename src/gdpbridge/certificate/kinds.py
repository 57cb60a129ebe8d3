"""The kinds of mechanisms that certificates are about: the only list of them.

What is light to load stands here; the formulas of each are in mechanisms.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

__all__ = ["KINDS", "Domain", "Kind"]

Domain = tuple[Callable[[Fraction], bool], str]
_POSITIVE: Domain = (lambda value: value > 0, "a number > 0")
_NON_NEGATIVE: Domain = (lambda value: value >= 0, "a number ≥ 0")
_COUNT: Domain = (lambda value: value >= 1 and value.denominator == 1, "a whole number ≥ 1")
_BUCKETS: Domain = (lambda value: value >= 2 and value.denominator == 1, "a whole number ≥ 2")
_SHARE: Domain = (lambda value: 0 < value <= 1, "a number in (0, 1]")
_PROBABILITY: Domain = (lambda value: 0 <= value < 1, "a number in [0, 1)")


@dataclass(frozen=True)
class Kind:
    """What a certificate may say of a mechanism.

    Attributes:
        parameters: their names, and which values are allowed; those of clip-rectify are read by
            rectified.py.
        nature: what δ is: the mechanism's own, the supremum over all mechanisms with a guarantee,
            or an upper bound.
        relation: the neighbouring relation that it must name; None for any or none.
        has_breakpoints: whether its formula changes at places that are not rational.
    """

    parameters: dict[str, Domain] = field(default_factory=dict)
    nature: Literal["own", "class", "bound"] = "own"
    relation: str | None = None
    has_breakpoints: bool = False


KINDS = {
    "approx-dp": Kind({"epsilon": _NON_NEGATIVE, "delta": _PROBABILITY}, "class"),
    "clip-rectify": Kind(nature="bound"),
    "gaussian": Kind({"sigma": _POSITIVE, "sensitivity": _POSITIVE}),
    "gdp": Kind({"mu": _NON_NEGATIVE}, "class"),
    "icea": Kind(
        {"messages": _COUNT, "users": _COUNT}, "bound", "replace-one", has_breakpoints=True
    ),
    "laplace": Kind({"scale": _POSITIVE, "sensitivity": _POSITIVE}),
    "pure-dp": Kind({"epsilon": _NON_NEGATIVE}, "class"),
    "randomized-response": Kind(
        {"noise_parameter": _SHARE, "buckets": _BUCKETS}, relation="replace-one"
    ),
    "sgd-family": Kind(
        {"A": _POSITIVE, "B": _POSITIVE, "sigma": _POSITIVE}, "bound", has_breakpoints=True
    ),
}
