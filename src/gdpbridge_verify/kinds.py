"""The kinds of mechanisms that certificates are about: the only list of them.

What is light to load stands here; the formulas of each are in mechanisms.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

__all__ = ["KINDS", "ONLY_COMPOSED", "Domain", "Kind", "Nature"]

Nature = Literal["own", "class", "bound"]

Domain = tuple[Callable[[Fraction], bool], str]
_POSITIVE: Domain = (lambda value: value > 0, "a number > 0")
_NON_NEGATIVE: Domain = (lambda value: value >= 0, "a number ≥ 0")
_COUNT: Domain = (lambda value: value >= 1 and value.denominator == 1, "a whole number ≥ 1")
_BUCKETS: Domain = (lambda value: value >= 2 and value.denominator == 1, "a whole number ≥ 2")
_STEPS: Domain = (
    lambda value: 1 <= value <= 20_000 and value.denominator == 1,
    "a whole number from 1 to 20000",
)
_ONE: Domain = (lambda value: value == 1, "1")
_SHARE: Domain = (lambda value: 0 < value <= 1, "a number in (0, 1]")
_PROBABILITY: Domain = (lambda value: 0 <= value < 1, "a number in [0, 1)")


@dataclass(frozen=True)
class Kind:
    """What a certificate may say of a mechanism.

    Attributes:
        parameters: their names, and which values are allowed; those of clip-rectify are read by
            rectified.py.
        words: parameters that are one of some words, whose value is its place among them; those
            with None among them may be left out.
        texts: parameters that are read elsewhere.
        nature: what δ is: the mechanism's own, the supremum over all mechanisms with a guarantee,
            or an upper bound.
        relations: the neighbouring relations of which it must name one; () for any or none.
        has_breakpoints: whether its formula changes at places that are not rational.
        composes: whether it may be run among others, or several times.
        of_others: whether it is made of other mechanisms.
        alone: whether nothing else may be made of it.
        discrete: whether δ is had from the law of its losses alone.
        has_rows: whether rows of numbers are what is known of it.
        per_record: the parameter that is k times as large for groups of k records.
    """

    parameters: dict[str, Domain] = field(default_factory=dict)
    nature: Nature = "own"
    relations: tuple[str, ...] = ()
    words: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    has_breakpoints: bool = False
    composes: bool = False
    of_others: bool = False
    alone: bool = False
    discrete: bool = False
    has_rows: bool = False
    per_record: str = ""


_SENSITIVITY = "sensitivity"
KINDS = {
    "approx-dp": Kind({"epsilon": _NON_NEGATIVE, "delta": _PROBABILITY}, "class", composes=True),
    "bounded-range": Kind({"range": _NON_NEGATIVE, "runs": _ONE}, "class", per_record="range"),
    "clip-rectify": Kind(nature="bound", of_others=True),
    "composed": Kind({"times": _COUNT}, of_others=True),
    "discrete-gaussian": Kind(
        {"sigma": _POSITIVE, "sensitivity": _COUNT}, composes=True, discrete=True
    ),
    "discrete-laplace": Kind(
        {"scale": _POSITIVE, "sensitivity": _COUNT}, composes=True, discrete=True
    ),
    "dpsgd": Kind(
        {"noise_multiplier": _POSITIVE, "sample_rate": _SHARE, "steps": _COUNT},
        relations=("add-remove", "replace-one"),
        composes=True,
    ),
    "formula": Kind(nature="bound", alone=True),
    "gaussian": Kind(
        {"sigma": _POSITIVE, "sensitivity": _POSITIVE}, composes=True, per_record=_SENSITIVITY
    ),
    "gdp": Kind({"mu": _NON_NEGATIVE}, "class", composes=True, per_record="mu"),
    "grouped": Kind({"size": _COUNT}, of_others=True, alone=True),
    "icea": Kind(
        {"messages": _COUNT, "users": _COUNT}, "bound", ("replace-one",), has_breakpoints=True
    ),
    "laplace": Kind(
        {"scale": _POSITIVE, "sensitivity": _POSITIVE}, composes=True, per_record=_SENSITIVITY
    ),
    "matrix": Kind(
        {
            "sigma": _POSITIVE,
            "steps": _STEPS,
            "participations": _COUNT,
            "separation": _COUNT,
        },
        words={"fixed": (None, "true")},
        texts=("entries",),
        alone=True,
    ),
    "permute-and-flip": Kind({"epsilon": _NON_NEGATIVE}, "class", per_record="epsilon"),
    "pld": Kind(composes=True, discrete=True),
    "pure-dp": Kind({"epsilon": _NON_NEGATIVE}, "class", composes=True, per_record="epsilon"),
    "randomized-response": Kind(
        {"noise_parameter": _SHARE, "buckets": _BUCKETS},
        relations=("replace-one",),
        composes=True,
    ),
    "sgd-family": Kind(
        {"A": _POSITIVE, "B": _POSITIVE, "sigma": _POSITIVE}, "bound", has_breakpoints=True
    ),
    "sequence": Kind(of_others=True),
    "shuffled-epochs": Kind(
        {"noise_multiplier": _POSITIVE, "steps": _COUNT, "epochs": _COUNT}, "bound"
    ),
    "sparse-vector": Kind(
        {
            "threshold_scale": _POSITIVE,
            "answer_scale": _POSITIVE,
            "count": _COUNT,
            "sensitivity": _POSITIVE,
        },
        "bound",
        words={"monotonic": (None, "true")},
        per_record=_SENSITIVITY,
    ),
    "renyi": Kind(nature="class", alone=True, has_rows=True),
    "table": Kind(nature="class", alone=True, has_rows=True),
    "tradeoff-function": Kind(nature="class", alone=True, has_rows=True),
    "subsampled": Kind({"rate": _SHARE}, relations=("add-remove",), of_others=True),
    "zcdp": Kind({"rho": _POSITIVE}, "class", alone=True),
}
# those whose formulas the checker knows as composed losses alone
ONLY_COMPOSED = frozenset({"composed", "dpsgd", "sequence", "subsampled"})
