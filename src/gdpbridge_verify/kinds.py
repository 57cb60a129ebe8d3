"""The kinds of mechanisms that certificates are about: the only list of them.

What is light to load stands here, with how their parameters are read.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from gdpbridge_verify.document import DECIMAL_PATTERN
from gdpbridge_verify.refusal import Malformed

# what δ is: the mechanism's own, the supremum over all with a guarantee, or an upper bound
Nature = Literal["own", "class", "bound"]

# what neighbours may be
RELATIONS = (None, "add-remove", "replace-one", "zero-out")

Spec = dict[str, str | None]
Values = dict[str, Fraction]
Domain = tuple[Callable[[Fraction], bool], str]
_POSITIVE: Domain = (lambda value: value > 0, "a number > 0")
_NON_NEGATIVE: Domain = (lambda value: value >= 0, "a number ≥ 0")
_COUNT: Domain = (lambda value: value >= 1 and value.denominator == 1, "a whole number ≥ 1")
_BUCKETS: Domain = (lambda value: value >= 2 and value.denominator == 1, "a whole number ≥ 2")
_STEPS: Domain = (lambda value: value in range(1, 20_001), "a whole number from 1 to 20000")
_RUNS: Domain = (lambda value: value in range(1, 201), "a whole number from 1 to 200")
_RATIOS = ("sample_rate", "scale")
_GROUPS: Domain = (lambda value: value in range(1, 51), "a whole number from 1 to 50")
_VARIANCE: Domain = (lambda value: 0 < value <= 10_000, "a number > 0, at most 10000")
_SHIFT: Domain = (lambda value: value in range(1, 1001), "a whole number from 1 to 1000")
_NOISE: Domain = (lambda value: Fraction(3, 10) <= value <= 100, "a number from 0.3 to 100")
_CHOICES: Domain = (lambda value: value in range(2, 10_001), "a whole number from 2 to 10000")
_EPOCHS: Domain = (lambda value: value in range(1, 33), "a whole number from 1 to 32")
_MEAN: Domain = (lambda value: 1 <= value <= 10**9, "a number from 1 to 10^9")
_CHANCE: Domain = (lambda value: 0 < 2 * value < 1, "a number in (0, 1/2)")
_SHARE: Domain = (lambda value: 0 < value <= 1, "a number in (0, 1]")
_PROBABILITY: Domain = (lambda value: 0 <= value < 1, "a number in [0, 1)")


@dataclass(frozen=True)
class Kind:
    """What a certificate may say of a mechanism."""

    # their names, and which values are allowed; some kinds read theirs on their own
    parameters: dict[str, Domain] = field(default_factory=dict)
    nature: Nature = "own"
    # of which it must name one; () for any or none
    relations: tuple[str, ...] = ()
    # parameters that are one of some words; their value is its place; None: may be left out
    words: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    # parameters in whose place another one may be given, a number ≥ 0
    instead: dict[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()  # parameters that are read elsewhere
    has_breakpoints: bool = False  # its formula changes at places that are not rational
    composes: bool = False  # it may be run among others, or several times
    of_others: bool = False  # it is made of other mechanisms
    alone: bool = False  # nothing else may be made of it
    discrete: bool = False  # δ is had from the law of its losses alone
    has_rows: bool = False  # rows of numbers are what is known of it
    per_record: str = ""  # the parameter that is k times as large for groups of k records


def _positive(*names: str) -> dict[str, Domain]:
    return dict.fromkeys(names, _POSITIVE)


def _counts(*names: str) -> dict[str, Domain]:
    return dict.fromkeys(names, _COUNT)


_ADDED, _REPLACED, _FLAG = "add-remove", "replace-one", (None, "true")
_DISCRETE = {"sensitivity": _COUNT}
_DPSGD = {**_positive("noise_multiplier"), "sample_rate": _SHARE, "steps": _COUNT}
_MATRIX = {**_positive("sigma"), "steps": _STEPS, **_counts("participations", "separation")}
_SGD = _positive("A", "B", "sigma")
_SHUFFLED = {**_positive("noise_multiplier"), **_counts("steps", "epochs")}
_SPARSE = {**_positive("threshold_scale", "answer_scale", "sensitivity"), "count": _COUNT}
_THRESHOLDED = {**_positive("scale", "threshold", "contribution"), "groups": _GROUPS}
_ALLOCATED = {"noise_multiplier": _NOISE, "steps": _CHOICES, "epochs": _EPOCHS}
_RESPONSE = {"noise_parameter": _SHARE, "buckets": _BUCKETS}

KINDS = {
    "approx-dp": Kind({"epsilon": _NON_NEGATIVE, "delta": _PROBABILITY}, "class", composes=True),
    "bounded-range": Kind({"range": _NON_NEGATIVE, "runs": _RUNS}, "class", per_record="range"),
    "clip-rectify": Kind(nature="bound", of_others=True),
    "composed": Kind({"times": _COUNT}, of_others=True),
    "densities": Kind(alone=True),
    "discrete-gaussian": Kind(_positive("sigma") | _DISCRETE, composes=True, discrete=True),
    "discrete-laplace": Kind(_positive("scale") | _DISCRETE, composes=True, discrete=True),
    "dpsgd": Kind(_DPSGD, relations=(_ADDED, _REPLACED), composes=True),
    "formula": Kind(nature="bound", alone=True),
    "gaussian": Kind(_positive("sigma", "sensitivity"), composes=True, per_record="sensitivity"),
    "gdp": Kind({"mu": _NON_NEGATIVE}, "class", composes=True, per_record="mu"),
    "grouped": Kind({"size": _COUNT}, of_others=True, alone=True),
    "icea": Kind(_counts("messages", "users"), "bound", (_REPLACED,), has_breakpoints=True),
    "laplace": Kind(_positive("scale", "sensitivity"), composes=True, per_record="sensitivity"),
    "matrix": Kind(_MATRIX, words={"fixed": _FLAG}, texts=("entries",), composes=True),
    "permute-and-flip": Kind({"epsilon": _NON_NEGATIVE}, "class", per_record="epsilon"),
    "pld": Kind(composes=True, discrete=True),
    "pure-dp": Kind({"epsilon": _NON_NEGATIVE}, "class", composes=True, per_record="epsilon"),
    "random-allocation": Kind(_ALLOCATED, "bound", (_ADDED, "zero-out"), alone=True, discrete=True),
    "randomized-response": Kind(
        _RESPONSE, relations=(_REPLACED,), composes=True, instead={"noise_parameter": "epsilon"}
    ),
    "renyi": Kind(nature="class", alone=True, has_rows=True),
    "sequence": Kind(of_others=True),
    "sgd-family": Kind(_SGD, "bound", has_breakpoints=True),
    "shuffled-epochs": Kind(_SHUFFLED, "bound", ("zero-out",), composes=True),
    "skellam": Kind({"variance": _VARIANCE, "sensitivity": _SHIFT}, alone=True),
    "sparse-vector": Kind(
        _SPARSE, "bound", words={"monotonic": _FLAG}, per_record="sensitivity", composes=True
    ),
    "subsampled": Kind({"rate": _SHARE}, relations=(_ADDED,), of_others=True),
    "table": Kind(nature="class", alone=True, has_rows=True),
    "thresholded-release": Kind(
        _THRESHOLDED, relations=(_ADDED,), words={"noise": ("gaussian", "laplace")}, alone=True
    ),
    "tradeoff": Kind(nature="bound", alone=True),
    "tradeoff-function": Kind(nature="class", alone=True, has_rows=True),
    "truncated-laplace": Kind(_positive("scale", "sensitivity") | {"delta": _CHANCE}),
    "tuned": Kind(
        {"mean": _MEAN, "shape": _NON_NEGATIVE},
        "bound",
        words={"distribution": ("truncated-negative-binomial", "poisson")},
        of_others=True,
        alone=True,
        has_rows=True,
    ),
    "zcdp": Kind(_positive("rho"), "class", alone=True, per_record="rho"),
}
# those whose formulas the checker knows as composed losses alone
ONLY_COMPOSED = frozenset({"composed", "dpsgd", "sequence", "subsampled"})
# those known on a sample, once: another mechanism with a class's δ attains what δ is then
SAMPLED = ("gaussian", "gdp", "laplace", "pure-dp")
_MOST_RECORDS = 1_000_000
_QUOTIENT = "^[0-9]+/[1-9][0-9]*$"
# beyond it a parameter is refused before any arithmetic: a proof of it would be of no use
_MOST = Fraction(10) ** 400
MAX_DIGITS = 400


def apart(spec: Spec, prefix: str = "base.") -> tuple[Spec, Spec]:
    """Return what is said of a mechanism, and of what it is made of, by names without a prefix."""
    own = {name: text for name, text in spec.items() if not name.startswith(prefix)}
    return own, {name.removeprefix(prefix): spec[name] for name in spec if name not in own}


def rate_of_poisson(own: Spec) -> Fraction:
    """Return the rate of a Poisson sample, which says all of how it is drawn."""
    how = {name: own.get(name) for name in ("scheme", "sample", "population")}
    if how != {"scheme": "poisson", "sample": None, "population": None}:
        raise Malformed("mechanism.scheme", how["scheme"], "poisson, at a rate")
    return parameters_of({name: own[name] for name in own if name not in how})["rate"]


def parameters_of(spec: Spec) -> Values:
    """Return the parameters of a kind, each in its range."""
    given = dict(spec)
    kind, neighbours = given.pop("kind", None), given.pop("neighbours", None)
    if kind is None or kind not in KINDS:
        raise Malformed("mechanism.kind", kind, f"one of {', '.join(KINDS)}")
    names, relations = dict(KINDS[kind].parameters), KINDS[kind].relations
    for one, other in KINDS[kind].instead.items():
        if other in given and one not in given:
            del names[one]
            names[other] = _NON_NEGATIVE
    values = {
        name: _place(name, given.pop(name, None), words)
        for name, words in KINDS[kind].words.items()
    }
    require_relation(neighbours, relations or RELATIONS)
    if set(given) != {*names, *KINDS[kind].texts}:
        raise Malformed("mechanism", ", ".join(sorted(given)), f"the parameters {', '.join(names)}")
    return values | {name: _parameter(name, given[name], *names[name]) for name in names}


def require_relation(neighbours: str | None, relations: tuple[str | None, ...] = RELATIONS) -> None:
    """Refuse a relation that is none of these."""
    if neighbours not in relations:
        allowed = " or ".join(one or "null" for one in relations)
        raise Malformed("mechanism.neighbours", neighbours, allowed)


def _place(name: str, word: str | None, words: tuple[str | None, ...]) -> Fraction:
    if word not in words:
        raise Malformed(f"mechanism.{name}", word, " or ".join(filter(None, words)))
    return Fraction(words.index(word))


def ungrouped(spec: Spec) -> Spec:
    """Return the mechanism that protects a record as a grouped one does a group.

    k records move an answer by k times the sensitivity, and a chain of k pairs of neighbours
    multiplies a range of losses, or a μ by k; of an ε it gives the largest loss
    (Dong, Roth and Su 2022, theorem 2.14).
    """
    own, base = apart(spec)
    size = parameters_of(own)["size"]
    known = KINDS.get(base.get("kind") or "")
    if known is None or not known.per_record or size > _MOST_RECORDS:
        raise Malformed("mechanism.base.kind", base.get("kind"), "one that is known for groups")
    if base.get("neighbours") != own.get("neighbours"):
        raise Malformed("mechanism.base.neighbours", base.get("neighbours"), "those of the group")
    values = parameters_of(base)
    if base["kind"] == "pure-dp" and size > 1 and values["epsilon"]:
        # the trade-off function of such a chain is that of noise which the answer moves in by k
        return {
            "kind": "discrete-laplace",
            "neighbours": base.get("neighbours"),
            "scale": str(1 / values["epsilon"]),
            "sensitivity": str(size),
        }
    with decimal.localcontext(prec=1000):
        # ρ-zCDP for a record is k²ρ-zCDP for k (Bun and Steinke 2016, proposition 27)
        times = int(size) ** (2 if known.per_record == "rho" else 1)
        product = decimal.Decimal(base[known.per_record] or "") * times
    return {**base, known.per_record: str(product)}


def epsilon_of_sparse_vector(values: Values) -> Fraction:
    """Return Δ/b₁ + c·2Δ/b₂, or Δ/b₁ + c·Δ/b₂ (Lyu, Su and Li 2017, theorems 4 and 5)."""
    each = values["count"] * (1 if values["monotonic"] else 2) / values["answer_scale"]
    return values["sensitivity"] * (1 / values["threshold_scale"] + each)


def decimal_parameter(name: str, text: str | None) -> Fraction:
    """Return a number of either sign that a formula has a name for."""
    sign, rest = (-1, text[1:]) if text and text.startswith("-") else (1, text)
    return sign * _parameter(name, rest, lambda _: True, "a number")


def _parameter(
    name: str, text: str | None, holds: Callable[[Fraction], bool], allowed: str
) -> Fraction:
    # a rate is often a batch size over a number of records, and a scale 1/ε
    written = f"{DECIMAL_PATTERN}|{_QUOTIENT}" if name in _RATIOS else DECIMAL_PATTERN
    if not re.fullmatch(written, text or "") or len(text or "") > MAX_DIGITS:
        raise Malformed(f"mechanism.{name}", text, f"{allowed}, as a decimal")
    value = Fraction(str(text))
    if not holds(value) or value > _MOST or (value and 1 / value > _MOST):
        raise Malformed(f"mechanism.{name}", text, allowed)
    return value
