"""The kinds of mechanisms that certificates are about: the only list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

# what δ is: the mechanism's own, the supremum over all with a guarantee, or an upper bound
Nature = Literal["own", "class", "bound"]

Domain = tuple[Callable[[Fraction], bool], str]


def _number(holds: Callable[[Fraction], bool], allowed: str) -> Domain:
    return holds, f"a number {allowed}"


def _whole(least: int, most: int | None = None) -> Domain:
    allowed = f"a whole number {f'from {least} to {most}' if most else f'≥ {least}'}"
    return lambda value: value.denominator == 1 and least <= value <= (most or value), allowed


_POSITIVE = _number(lambda value: value > 0, "> 0")
NON_NEGATIVE = _number(lambda value: value >= 0, "≥ 0")
_SHARE = _number(lambda value: 0 < value <= 1, "in (0, 1]")


def _positive(*names: str) -> dict[str, Domain]:
    return dict.fromkeys(names, _POSITIVE)


@dataclass(frozen=True)
class Kind:
    """What a certificate may say of a mechanism."""

    # their names, and which values are allowed; some kinds read theirs on their own
    parameters: dict[str, Domain] = field(default_factory=dict)
    nature: Nature = "own"
    relations: tuple[str, ...] = ()  # of which it must name one; () for any or none
    # parameters that are one of some words; their value is its place; None: may be left out
    words: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    instead: dict[str, str] = field(default_factory=dict)  # in whose place another may be given
    texts: tuple[str, ...] = ()  # parameters that are read elsewhere
    has_breakpoints: bool = False  # its formula changes at places that are not rational
    composes: bool = False  # it may be run among others, or several times
    of_others: bool = False  # it is made of other mechanisms
    alone: bool = False  # nothing else may be made of it, but runs of what composes
    discrete: bool = False  # δ is had from the law of its losses alone
    has_rows: bool = False  # rows of numbers are what is known of it
    # its module, and the class of what checks it there
    check: str = "mechanisms.FormulasCheck"
    per_record: str = ""  # the parameter that is k times as large for groups of k records


_ADDED, _REPLACED, _FLAG = "add-remove", "replace-one", (None, "true")

KINDS = {
    "approx-dp": Kind(
        {"epsilon": NON_NEGATIVE, "delta": _number(lambda value: 0 <= value < 1, "in [0, 1)")},
        "class",
        composes=True,
    ),
    "bounded-range": Kind(
        {"range": NON_NEGATIVE, "runs": _whole(1, 200)},
        "class",
        per_record="range",
        composes=True,
    ),
    "clip-rectify": Kind(nature="bound", of_others=True, check="rectified.RectifiedCheck"),
    "composed": Kind({"times": _whole(1)}, of_others=True, check="added.check_of_sum"),
    "densities": Kind(alone=True, check="densities.DensitiesCheck"),
    "discrete-gaussian": Kind(
        {"sigma": _POSITIVE, "sensitivity": _whole(1)}, composes=True, discrete=True
    ),
    "discrete-laplace": Kind(
        {"scale": _POSITIVE, "sensitivity": _whole(1)}, composes=True, discrete=True
    ),
    "dpsgd": Kind(
        {"noise_multiplier": _POSITIVE, "sample_rate": _SHARE, "steps": _whole(1)},
        relations=(_ADDED, _REPLACED),
        composes=True,
    ),
    "formula": Kind(nature="bound", alone=True, check="formulas.FormulaCheck"),
    "gaussian": Kind(_positive("sigma", "sensitivity"), composes=True, per_record="sensitivity"),
    "gdp": Kind({"mu": NON_NEGATIVE}, "class", composes=True, per_record="mu"),
    "grouped": Kind({"size": _whole(1)}, of_others=True, alone=True),
    "icea": Kind(
        {"messages": _whole(1), "users": _whole(1)}, "bound", (_REPLACED,), has_breakpoints=True
    ),
    "laplace": Kind(_positive("scale", "sensitivity"), composes=True, per_record="sensitivity"),
    "matrix": Kind(
        {
            "sigma": _POSITIVE,
            "steps": _whole(1, 20_000),
            "participations": _whole(1),
            "separation": _whole(1),
        },
        words={"fixed": _FLAG},
        texts=("entries",),
        composes=True,
    ),
    "permute-and-flip": Kind(
        {"epsilon": NON_NEGATIVE}, "class", per_record="epsilon", composes=True
    ),
    "pld": Kind(composes=True, discrete=True),
    "pure-dp": Kind({"epsilon": NON_NEGATIVE}, "class", composes=True, per_record="epsilon"),
    "random-allocation": Kind(
        {
            "noise_multiplier": _number(
                lambda value: Fraction(3, 10) <= value <= 100, "from 0.3 to 100"
            ),
            "steps": _whole(2, 10_000),
            "epochs": _whole(1, 32),
        },
        "bound",
        (_ADDED, "zero-out"),
        alone=True,
        discrete=True,
    ),
    "randomized-response": Kind(
        {"noise_parameter": _SHARE, "buckets": _whole(2)},
        relations=(_REPLACED,),
        composes=True,
        instead={"noise_parameter": "epsilon"},
    ),
    "renyi": Kind(nature="class", alone=True, has_rows=True, check="zcdp.RenyiCheck"),
    "sequence": Kind(of_others=True, check="added.check_of_sum"),
    "sgd-family": Kind(_positive("A", "B", "sigma"), "bound", has_breakpoints=True),
    "shuffled-epochs": Kind(
        {"noise_multiplier": _POSITIVE, "steps": _whole(1), "epochs": _whole(1)},
        "bound",
        ("zero-out",),
        composes=True,
    ),
    "skellam": Kind(
        {
            "variance": _number(lambda value: 0 < value <= 10_000, "> 0, at most 10000"),
            "sensitivity": _whole(1, 1000),
        },
        alone=True,
        composes=True,
    ),
    "sparse-vector": Kind(
        _positive("threshold_scale", "answer_scale", "sensitivity") | {"count": _whole(1)},
        "bound",
        words={"monotonic": _FLAG},
        per_record="sensitivity",
        composes=True,
    ),
    "subsampled": Kind(
        {"rate": _SHARE},
        relations=(_ADDED, _REPLACED),
        of_others=True,
        check="sampled.SampledCheck",
    ),
    "table": Kind(nature="class", alone=True, has_rows=True, check="tables.TableCheck"),
    "thresholded-release": Kind(
        _positive("scale", "threshold", "contribution") | {"groups": _whole(1, 50)},
        relations=(_ADDED,),
        words={"noise": ("gaussian", "laplace")},
        alone=True,
        composes=True,
        check="thresholded.ThresholdedCheck",
    ),
    "tradeoff": Kind(nature="bound", alone=True, check="formulas.FormulaCheck"),
    "tradeoff-function": Kind(
        nature="class",
        words={"bound": _FLAG},
        alone=True,
        has_rows=True,
        check="tables.TradeoffCheck",
    ),
    "truncated-laplace": Kind(
        _positive("scale", "sensitivity")
        | {"delta": _number(lambda value: 0 < 2 * value < 1, "in (0, 1/2)")},
        composes=True,
    ),
    "tuned": Kind(
        {
            "mean": _number(lambda value: 1 <= value <= 10**9, "from 1 to 10^9"),
            "shape": NON_NEGATIVE,
        },
        "bound",
        words={"distribution": ("truncated-negative-binomial", "poisson")},
        of_others=True,
        alone=True,
        has_rows=True,
        check="tuned.TunedCheck",
    ),
    "zcdp": Kind({"rho": _POSITIVE}, "class", alone=True, per_record="rho", check="zcdp.ZcdpCheck"),
}
