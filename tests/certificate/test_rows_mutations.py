"""Certificates of tables and trade-off functions: proved, small, and false ones are not accepted.

What is true is found by another way: a table allows the events (p, q) with p - e^ε·q ≤ δ in both
orders of the pair, a polygon whose corners are found by crossing all of its sides; a line of one
event is below the Gaussian curve if it is where both are as steep.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import mpmath
import pytest
from changes import beside, changes, documents_of, outcome, structural
from truth import DIGITS, best, gaussian_curve

import gdpbridge as gdp
from gdpbridge import InputError, profiles

Document = dict[str, Any]

mpf = mpmath.mpf
SLACK = mpf(10) ** -22

ROWS = [(0, 0.3), (0.5, 0.2), (1, 0.08), (2, 0.01), (3, 0.0)]
# with a row that says nothing, and one that says log δ
MORE = [(0.25, -1.0), (1, -2.5), (1.5, -2.6), (2, -5.0), (4, -12.5)]
POINTS = {"alpha": [0, 0.1, 0.3, 0.6], "beta": [1, 0.5, 0.3, 0.1]}
EXAMPLES = {
    "table": (profiles.Table(pairs=ROWS), {}),
    "table head": (profiles.Table(pairs=ROWS[:-1]), {"eps_h": 2.7}),
    "table approximate": (profiles.Table(pairs=ROWS), {"failure": 0.02}),
    "table to its level": (profiles.Table(pairs=ROWS[:-1]), {"failure": 0.01}),
    "table of logarithms": (profiles.Table(pairs=MORE, log=True), {"eps_h": 3.1}),
    "renyi": (profiles.Renyi(orders=[2, 4, 8], epsilons=[0.1, 0.2, 0.5]), {"eps_h": 0.5}),
    "renyi approximate": (profiles.Renyi(orders=[2], epsilons=[0.2]), {"failure": 0.001}),
    "renyi, three runs": (
        profiles.Renyi(orders=[2, 4], epsilons=[0.02, 0.05]).compose(3),
        {"eps_h": 0.5},
    ),
    "renyi beside zcdp and noise": (
        profiles.Sequence(
            parts=(
                profiles.Renyi(orders=[2, 4, 8], epsilons=[0.02, 0.05, 0.2]),
                profiles.ZCDP(rho=0.01),
                profiles.Gaussian(sigma=5),
            )
        ),
        {"failure": 0.001},
    ),
    "renyi, tuned": (
        profiles.Renyi(orders=[2, 4], epsilons=[0.02, 0.05]).tune(3, shape=0.5),
        {"eps_h": 0.5},
    ),
    "tradeoff": (profiles.TradeoffFunction(**POINTS), {}),
    "tradeoff head": (profiles.TradeoffFunction(**POINTS), {"eps_h": 0.6}),
    "tradeoff approximate": (
        profiles.TradeoffFunction(**{**POINTS, "beta": [0.99, 0.5, 0.3, 0.1]}),
        {"failure": 0.02},
    ),
    "tradeoff of steps": (profiles.TradeoffFunction(**POINTS, steps=True), {"eps_h": 0.6}),
    "tradeoff of steps, in both orders": (
        profiles.TradeoffFunction(
            alpha=[0.1, 0.2, 0.4, 0.7], beta=[0.7, 0.5, 0.25, 0.05], steps=True, symmetric=True
        ),
        {"eps_h": 0.5},
    ),
    "tradeoff in both orders, whose corners are no decimals": (
        profiles.TradeoffFunction(alpha=[0, 0.2, 0.7], beta=[1, 0.5, 0.1], symmetric=True),
        {},
    ),
}


SIMPLE = [name for name in EXAMPLES if not name.startswith("renyi")]


text_of, fresh = documents_of(EXAMPLES)


# --- what is true --------------------------------------------------------------------------------


def events_of(document: Document) -> list[tuple[mpf, mpf]]:
    """The corners (p, q) of what is possible."""
    columns, rows = document["table"]["columns"], document["table"]["rows"]
    if columns == ["alpha", "beta"]:
        points = [(mpf(a), mpf(b)) for a, b in rows]
        return [(1 - b, a) for a, b in points] + [(1 - a, b) for a, b in points]
    # sides u·p + v·q ≤ w
    sides = [(1, 0, 1), (-1, 0, 0), (0, 1, 1), (0, -1, 0)]
    for eps, written in rows:
        t, delta = mpmath.exp(mpf(eps)), mpf(written)
        delta = mpmath.exp(delta) if columns[1] == "log_delta" else delta
        sides += [(1, -t, delta), (t, -1, delta - 1 + t)]
    found = []
    for (a, b, c), (d, e, f) in itertools.combinations(sides, 2):
        if det := a * e - b * d:
            p, q = (c * e - b * f) / det, (a * f - c * d) / det
            if all(u * p + v * q <= w + mpf(10) ** -30 for u, v, w in sides):
                found.append((p, q))
    return found


def largest(bounds: list[tuple[Any, Any]], q: Any, steps: int) -> Any:
    """The largest p that bounds on D_α allow beside q, in both orders."""

    exp = mpmath.exp if isinstance(q, mpf) else math.exp
    tops = [exp((a - 1) * c) for a, c in bounds]

    def allowed(p: Any) -> bool:
        return all(
            x**a * y ** (1 - a) + (1 - x) ** a * (1 - y) ** (1 - a) <= top
            for (a, _), top in zip(bounds, tops, strict=True)
            for x, y in ((p, q), (q, p))
        )

    low, high = q, q / q
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def divergence_of(spec: dict[str, str], alpha: mpf) -> mpf:
    """D_α of what is run: the sum over the parts, with known orders those of rows."""

    def within(prefix: str) -> dict[str, str]:
        return {n.removeprefix(prefix): spec[n] for n in spec if n.startswith(prefix)}

    kind = spec["kind"]
    if kind == "composed":
        return int(spec["times"]) * divergence_of(within("base."), alpha)
    if kind == "sequence":
        numbers = {name.split(".")[1] for name in spec if name.startswith("parts.")}
        parts = [within(f"parts.{number}.") for number in numbers]
        return sum(int(part.get("count", "1")) * divergence_of(part, alpha) for part in parts)
    if kind == "zcdp":
        return mpf(spec["rho"]) * alpha
    if kind == "gaussian":
        return (mpf(spec["sensitivity"]) / mpf(spec["sigma"])) ** 2 * alpha / 2
    rows = [tuple(map(mpf, row.split(":"))) for row in spec["rows"].split()]
    return min((c for a, c in rows if a >= alpha), default=mpf(1000))


def bounds_on(document: Document) -> list[tuple[mpf, mpf]]:
    """Orders and what D_α is at most: of runs of which the best is released, by its theorem."""
    rows = [(mpf(a), mpf(c)) for a, c in document["table"]["rows"]]
    if document["mechanism"]["kind"] in ("composed", "sequence"):
        # what is run has no less
        return [(a, max(c, divergence_of(document["mechanism"], a))) for a, c in rows]
    if document["mechanism"]["kind"] != "tuned":
        return rows
    mean, eta = (mpf(document["mechanism"][name]) for name in ("mean", "shape"))

    def too_many(size: mpf) -> mpf:
        share = -mpmath.expm1(-eta * size) / eta if eta else size
        return mpmath.expm1(size) / share - mean

    size = mpmath.findroot(too_many, (mpf(10) ** -12, mpf(60)), solver="bisect") if mean > 1 else 0
    extra = min((1 + eta) * ((1 - 1 / v) * c + size / v) for v, c in rows)
    return [(a, c + extra + mpmath.log(mean) / (a - 1)) for a, c in rows]


def events_of_divergences(document: Document, end: mpf, p: mpf) -> list[tuple[mpf, mpf]]:
    """Events on the boundary of what is possible, those that tell the most among them."""
    rows = bounds_on(document)
    bounds, past, normal = [(float(a), float(c)) for a, c in rows], float(p), NormalDist()

    def told(at: float) -> float:
        q = math.exp(at)
        a = (largest(bounds, q, 48) - past) / (1 - past)
        return normal.inv_cdf(a) - normal.inv_cdf(q / (1 - past)) if 0 < a < 1 else -9.0

    def seen(eps: float) -> Callable[[float], float]:
        return lambda at: largest(bounds, math.exp(at), 48) - math.exp(eps + at)

    found = []
    for wanted in (told, seen(0.0), seen(min(float(end), 20.0))):
        grid = [-(i + 1) / 3 for i in range(36)]
        top = max(range(36), key=[wanted(at) for at in grid].__getitem__)
        at = best(wanted, grid[min(top + 1, 35)], grid[max(top - 1, 0)], 1e-12)
        q = mpmath.exp(mpf(float(at)))
        found.append((largest(rows, q, 70), q))
    return found


def gap(event: tuple[mpf, mpf], mu: mpf, end: mpf) -> mpf:
    """The least of δ_μ minus the event's line on [0, end], relative to δ_μ."""
    p, q = event
    place = end if q < 1 else mpf(0)
    if mu and 0 < q < 1:
        # where δ_μ is as steep: Φ(-y) = q
        y = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * q)
        place = min(max(mu * (y - mu / 2), mpf(0)), end)
    curve = gaussian_curve(place, mu) if mu else mpf(0)
    line = p - q * mpmath.exp(place)
    return 1 - line / curve if curve else -mpmath.sign(max(line - SLACK, 0))


def is_true(document: Document) -> bool:
    """Whether the claim is true, up to errors far below its digits."""
    claim = document["claim"]
    of_orders = document["table"]["columns"] == ["alpha", "epsilon"]
    with mpmath.workdps(25 if of_orders else DIGITS + 10):
        p = mpf(claim["failure_probability"])
        end = mpf(claim["eps_h"]) if claim["statement"] == "head" else mpf(60)
        if of_orders:
            set_aside = p if claim["statement"] == "approximate" else mpf(0)
            events = events_of_divergences(document, end, set_aside)
        else:
            events = events_of(document)
        floor = max((a for a, b in events if b < mpf(10) ** -28), default=mpf(0))
        verdict = "not-gdp" if floor > SLACK or of_orders else "gdp"
        tail = claim["mu_tail"]
        statement = claim["statement"]
        if claim["verdict"] == "unknown":
            if statement == "whole" or tail != {"low": "0", "high": "inf"}:
                return False
        elif claim["verdict"] != verdict or not (
            tail["low"] == "inf" if verdict == "not-gdp" else mpf(tail["low"]) == 0
        ):
            return False
        if statement == "whole" and (p != 0 or verdict != "gdp"):
            return False
        slack = mpf(10) ** -10 if of_orders else SLACK
        if statement == "head" and max(a - b * mpmath.exp(end) for a, b in events) > p + slack:
            return False
        if statement == "approximate":
            if floor > p + SLACK:
                return bool(claim["mu"]["high"] == "inf")
            events = [((a - p) / (1 - p), b / (1 - p)) for a, b in events]
        low, high = (mpf(claim["mu"][name]) for name in ("low", "high"))
        if high != mpmath.inf and any(gap(one, high, end) < -slack for one in events):
            return False
        return not low or any(gap(one, low, end) <= slack for one in events)


# --- tests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """Each is accepted, true by another way, and false when its interval is moved."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)
    for changed in beside(document, Fraction(1, 10**9)):
        assert not is_true(changed)
        assert outcome(changed) != "valid"


def every_change(name: str) -> Iterator[tuple[str, Document]]:
    """All changes of one field; a run over every one is made by hand now and then."""
    yield from changes(fresh(name))
    yield from structural(fresh(name))


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    tried = random.Random(name).sample(list(every_change(name)), 60 if name in SIMPLE else 12)
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


def test_a_table_in_its_file(tmp_path: Path) -> None:
    """Of many rows the file is named by its hash: it must be beside the document, and the same."""
    path = tmp_path / "pairs.csv"
    rows = [f"{e / 400},{0.4 * 2 ** -(e / 400 + (e / 400) ** 2)!r}" for e in range(1200)]
    path.write_text("epsilon;delta\n" + "\n".join(rows).replace(",", ";"), encoding="utf-8")
    document = gdp.measure(profiles.Table(str(path)), eps_h=2.9).certificate
    assert document is not None
    assert document.table is not None
    assert document.table.rows is None
    assert document.table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    where = tmp_path / "cert.json"
    document.save(where)
    assert gdp.verify(where).valid
    assert gdp.verify(document, folder=tmp_path).valid
    text = document.to_json()
    changes = (('"pairs.csv"', '"../pairs.csv"'), ('";"', '","'), (r'"header": 1', '"header": 0'))
    for old, new in changes:
        assert old in text
        with pytest.raises(InputError, match="table"):
            gdp.verify(text.replace(old, new).encode(), folder=tmp_path)
    path.write_bytes(path.read_bytes().replace(b"0.4", b"0.5", 1))
    with pytest.raises(InputError, match="the one whose SHA-256 is"):
        gdp.verify(where)
    path.unlink()
    with pytest.raises(InputError, match=r"pairs\.csv"):
        gdp.verify(where)


def of_one_tangent(name: str, order: str, high: str, **mechanism: str) -> Document:
    """A document that claims δ(4) ≤ high by one tangent, which touches at e^4 and e^{1/8}."""
    document = fresh(name)
    tangent = {"at": "0x1p+2", "order": order, "inside": "0x1p+2", "outside": "0x1p-3"}
    document["mechanism"] |= mechanism
    document["claim"] |= {"statement": "answers", "mu": {"low": "0", "high": "inf"}, "eps_h": None}
    document["claim"] |= {"failure_probability": "0"}
    document["claim"]["answers"] = [{"quantity": "delta", "at": "4", "low": "0", "high": high}]
    document["evidence"] |= {"cells": [], "witness": None, "event": None, "tangents": [tangent]}
    document["evidence"]["points"] = [{}]
    return document


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize(
    ("name", "mechanism"),
    [
        ("renyi", {}), ("renyi, tuned", {}), ("renyi, tuned", {"mean": "1"}),
        ("renyi, tuned", {"mean": "9", "shape": "0"}),
        ("renyi, tuned", {"mean": "9", "shape": "2.5"}),
    ],
)  # fmt: skip
def test_an_order_has_the_bound_of_the_next_row(
    name: str, mechanism: dict[str, str], order: int
) -> None:
    """p - T·q ≤ D by hand, D_α being at most what a row of no smaller order says."""
    document = of_one_tangent(name, f"0x{order}p+0", "1", **mechanism)
    a, b, u, exp = mpf(4), mpf(1) / 8, mpf(order - 1), mpmath.exp
    below = order * (exp(u * a) - exp(-u * b))
    assert u * (exp(order * a) - exp(-order * b)) / below <= exp(4)
    with mpmath.workdps(30):
        c = min(bound for alpha, bound in bounds_on(document) if alpha >= order)
        top = (exp(u * c) - order * exp(-u * b) + u * exp(-order * b)) / below
        ends = [mpmath.nstr(top * mpf(share), 30) for share in ("1.000000001", "0.999999999")]
    found = [outcome(of_one_tangent(name, f"0x{order}p+0", end, **mechanism)) for end in ends]
    assert found == ["valid", "refused"]


def test_beyond_the_last_order_nothing_is_known() -> None:
    """No tangent is of a larger order than all rows."""
    for name in ("renyi", "renyi, tuned"):
        found = gdp.verify(of_one_tangent(name, "0x9p+0", "0.999"))
        assert not found.valid
        assert "nothing is known" in found.reason


@pytest.mark.parametrize(
    "other",
    [
        {"base.kind": "zcdp", "base.rho": "0.0101"}, {"base.neighbours": "replace-one"},
        {"base.kind": "table"}, {"mean": "0.5"}, {"shape": "-0.5"}, {"distribution": "uniform"},
        {"base.rho": "0.001"},
        # of a hundredth that has no finite divergence, in either order
        {"base.kind": "tradeoff-function", "base.rows": "0:1 99/100:0"},
        {"base.kind": "tradeoff-function", "base.rows": "0:99/100 1:0"},
    ],
)  # fmt: skip
def test_the_best_of_runs_is_of_rows_for_its_own_neighbours(other: dict[str, str]) -> None:
    """What is selected from has the rows of the document, and no other parameters."""
    assert outcome(of_one_tangent("renyi, tuned", "0x2p+0", "0.9")) == "valid"
    changed = of_one_tangent("renyi, tuned", "0x2p+0", "0.9", **other)
    assert outcome(changed) in ("no certificate", "refused")
    # 2ρ and 4ρ are at most what the rows say
    for proved in (
        {"base.kind": "zcdp", "base.rho": "0.0099"},
        {"base.kind": "tradeoff-function", "base.rows": "0:1 1/2:49/100 1:0"},
    ):
        assert outcome(of_one_tangent("renyi, tuned", "0x2p+0", "0.9", **proved)) == "valid"
