"""No change to the certificate of discrete losses that makes its claim false is accepted.

What is true is found by mpmath: all losses are added up one by one, each line a - b·e^ε between
two of them touches the Gaussian curve of μ = Φ⁻¹(a) - Φ⁻¹(b), and the largest of these that touch
within their range, or of what is seen at the two ends of the range, is the supremum.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from changes import changes, decimal, documents_of, outcome, put

import gdpbridge
from gdpbridge import profiles
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.finite import (
    DiscreteGaussian,
    discrete_laplace,
    randomized_response,
    two_valued,
)
from gdpbridge_verify.law import DiscreteCheck, Law
from gdpbridge_verify.listed import listed, of_rows
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.slopes import of_tradeoff

Document = dict[str, Any]

DIGITS = 50
SLACK = mpmath.mpf(10) ** -30
# so far out the atoms of discrete Gaussian noise are below all that matters
FAR = 30

RESPONSE = profiles.RandomizedResponse(noise_parameter=0.5, buckets=4)
EXAMPLES = {
    "response": (RESPONSE.compose(3), {}),
    "failing": (
        profiles.Sequence(parts=(profiles.ApproxDP(epsilon=0.3, delta=0.01).compose(2), RESPONSE)),
        {"failure": 0.03},
    ),
    "laplace": (profiles.DiscreteLaplace(scale=2, sensitivity=3).compose(2), {"eps_h": 1}),
    "on samples": (profiles.PureDP(epsilon=1).subsample(0.3).compose(3), {}),
    "on samples, failing": (
        profiles.ApproxDP(epsilon=0.5, delta=0.01).subsample(0.25).compose(2),
        {"failure": 0.03},
    ),
    "one sample": (profiles.DiscreteGaussian(sigma=0.75).subsample(0.3), {"failure": 0.001}),
    "one sample, failing": (
        profiles.ApproxDP(epsilon=0.5, delta=0.01).subsample(0.25),
        {"failure": 0.005},
    ),
    "table": (
        profiles.Table(pairs=[(0, 0.45), (0.5, 0.25), (1, 0.05)]).compose(2),
        {"failure": 0.12},
    ),
    "table with a tiny row": (
        profiles.Table(pairs=[(0, 0.3), (1, 1e-10), (2, 0)]).compose(2),
        {},
    ),
    "tradeoff": (
        profiles.TradeoffFunction(alpha=[0, 0.1, 0.5, 0.9], beta=[0.99, 0.6, 0.2, 0]).compose(2),
        {"failure": 0.25},
    ),
    "tradeoff, in both orders": (
        profiles.TradeoffFunction(alpha=[0.1], beta=[0.6], symmetric=True).compose(2),
        {},
    ),
    "gaussian": (profiles.DiscreteGaussian(sigma=0.75), {}),
    "gaussian, head": (profiles.DiscreteGaussian(sigma=1.5, sensitivity=2), {"eps_h": 1}),
    "skellam": (profiles.Skellam(variance=2, sensitivity=2), {"failure": 0.001}),
    "skellam, head": (profiles.Skellam(variance=4), {"eps_h": 1}),
    "skellam, runs": (profiles.Skellam(variance=1).compose(2), {"failure": 0.001}),
    "listed, whole": (
        profiles.PLD(
            remove=[(-1, 0.1), (0, 0.5), (1, 0.4)], add=[(-1.5, 0.05), (0, 0.6), (0.9, 0.35)]
        ),
        {},
    ),
    "listed": (
        profiles.PLD(
            remove=[(-1, 0.1), (0, 0.5), (1, 0.39), ("inf", 0.01)],
            add=[(-1.5, 0.05), (0, 0.6), (0.9, 0.35)],
        ).compose(2),
        {"failure": 0.05},
    ),
}


text_of, fresh = documents_of(EXAMPLES)


# --- what is true ------------------------------------------------------------------------------


def runs_of(spec: dict[str, str], times: int = 1) -> list[tuple[dict[str, str], int]]:
    """What is run in the end, and how often."""

    def inner(prefix: str) -> dict[str, str]:
        return {k.removeprefix(prefix): v for k, v in spec.items() if k.startswith(prefix)}

    if spec["kind"] == "composed":
        return runs_of(inner("base."), times * int(Fraction(spec["times"])))
    if spec["kind"] != "sequence":
        return [(spec, times)]
    found = []
    for number in range(len({name.split(".")[1] for name in spec if "." in name})):
        part = inner(f"parts.{number}.")
        found += runs_of(part, times * int(part.pop("count", "1")))
    return found


def without_sample(part: tuple[dict[str, str], int]) -> tuple[dict[str, str], int]:
    """What is run: on samples too all records may be in all of them."""
    run, times = part
    if run["kind"] != "subsampled":
        return part
    return {k.removeprefix("base."): v for k, v in run.items() if k.startswith("base.")}, times


def atoms_of(spec: dict[str, str], backward: bool) -> tuple[dict[Any, Any], Any]:
    """The finite losses of one run with their probabilities, and the probability of others."""
    if spec["kind"] == "subsampled":
        base = {k.removeprefix("base."): v for k, v in spec.items() if k.startswith("base.")}
        return on_samples(base, mpmath.mpf(spec["rate"]), backward)
    if spec["kind"] == "table":
        return worst_of_rows(spec["rows"])
    if spec["kind"] == "tradeoff-function":
        return slopes_of(spec["rows"], backward)
    exact = {k: mpmath.mpf(v) for k, v in spec.items() if k not in ("kind", "neighbours", *LISTED)}
    if spec["kind"] in ("approx-dp", "pure-dp"):
        eps, failure = exact["epsilon"], exact.get("delta", mpmath.mpf(0))
        return {y: (1 - failure) / (1 + mpmath.exp(-y)) for y in (eps, -eps)}, failure
    if spec["kind"] == "randomized-response":
        share, k = exact["noise_parameter"] / exact["buckets"], exact["buckets"]
        top = share + 1 - exact["noise_parameter"]
        eps = mpmath.log(top / share)
        return {eps: top, mpmath.mpf(0): (k - 2) * share, -eps: share}, mpmath.mpf(0)
    if spec["kind"] == "pld":
        name = "add" if backward and "add" in spec else "remove"
        head, *pairs = spec[name].split()
        ratios = [Fraction(one) for one in (spec[f"{name}_unit"], head.split(":")[1])]
        unit, failure = (mpmath.mpf(one.numerator) / one.denominator for one in ratios)
        found = {}
        for pair in pairs:
            place, mass = pair.split(":")
            top, power = mass.split("p")
            found[int(place) * unit] = mpmath.ldexp(int(top, 16), int(power))
        return found, failure
    delta = exact["sensitivity"]
    if spec["kind"] == "discrete-laplace":
        weigh, loss = (
            lambda x: mpmath.exp(-abs(x) / exact["scale"]),
            lambda x: (abs(x - delta) - abs(x)) / exact["scale"],
        )
        far = 250
    elif spec["kind"] == "skellam":
        weigh = cache(lambda x: mpmath.besseli(abs(x), exact["variance"]))
        loss = lambda x: mpmath.log(weigh(x) / weigh(x - delta))  # noqa: E731
        far = FAR if exact["variance"] > 1 else FAR // 2
    else:
        twice = 2 * exact["sigma"] ** 2
        weigh = lambda x: mpmath.exp(-(x**2) / twice)  # noqa: E731
        loss = lambda x: delta * (delta - 2 * x) / twice  # noqa: E731
        far = FAR
    atoms: dict[Any, Any] = defaultdict(mpmath.mpf)
    norm = mpmath.fsum(weigh(x) for x in range(-far, far + 1))
    for x in range(-far, far + 1):
        atoms[loss(mpmath.mpf(x))] += weigh(x) / norm
    return atoms, mpmath.mpf(0)


def worst_of_rows(text: str) -> tuple[dict[Any, Any], Any]:
    """Those of the pair whose δ is linear in e^ε between rows: what a slope changes by is Q's."""
    rows = [tuple(map(mpmath.mpf, row.split(":"))) for row in text.split()]
    corners = [(mpmath.mpf(-1), mpmath.mpf(1)), *((mpmath.exp(e), d) for e, d in rows)]
    slopes = [(y - v) / (u - x) for (x, y), (u, v) in itertools.pairwise(corners)]
    found: dict[Any, Any] = defaultdict(mpmath.mpf)
    for (eps, _), one, other in zip(rows, slopes, [*slopes[1:], mpmath.mpf(0)], strict=True):
        # P and Q change places at -ε
        found[eps] += (one - other) * mpmath.exp(eps)
        found[-eps] += one - other
    return found, rows[-1][1]


def slopes_of(text: str, backward: bool) -> tuple[dict[Any, Any], Any]:
    """Those of the test that rejects where p/q is large: each edge is how much it gains at once."""
    rows = [[Fraction(one) for one in row.split(":")] for row in text.split()]
    if backward:
        rows = [row[::-1] for row in reversed(rows)]
    found: dict[Any, Any] = defaultdict(mpmath.mpf)
    for one, other in itertools.pairwise(rows):
        p, q = (real(end) for end in (one[1] - other[1], other[0] - one[0]))
        found[mpmath.log(p / q)] += p
    return found, 1 - real(rows[0][1])


def real(value: Fraction) -> Any:
    """A fraction as an mpmath number."""
    return mpmath.mpf(value.numerator) / value.denominator


def on_samples(base: dict[str, str], rate: Any, backward: bool) -> tuple[dict[Any, Any], Any]:
    """Those of a symmetric mechanism on a sample: P' = (1 - γ)Q + γP against Q, or Q against P'."""
    atoms, failure = atoms_of(base, False)
    pairs = [(mass, mass * mpmath.exp(-y)) for y, mass in atoms.items()]
    pairs.append((mpmath.mpf(0), failure))
    pairs = [((1 - rate) * q + rate * p, q) for p, q in pairs if q]
    if backward:
        pairs = [(q, p) for p, q in pairs]
    found: dict[Any, Any] = defaultdict(mpmath.mpf)
    for p, q in pairs:
        found[mpmath.log(p / q)] += p
    return found, mpmath.mpf(0) if backward else rate * failure


LISTED = ("remove", "add", "remove_unit", "add_unit")


@cache
def lines_of(text: str, backward: bool) -> tuple[list[tuple[Any, Any, Any]], Any]:
    """(y, a, b) of each line a - b·e^ε that ends at a positive loss y, and p_∞."""
    law: dict[Any, Any] = {mpmath.mpf(0): mpmath.mpf(1)}
    kept = mpmath.mpf(1)
    for spec, times in runs_of(json.loads(text)):
        for _ in range(times):
            own, failure = atoms_of(spec, backward)
            kept *= 1 - failure
            both: dict[Any, Any] = defaultdict(mpmath.mpf)
            for y, mass in law.items():
                for x, weight in own.items():
                    both[y + x] += mass * weight
            law = both
    a, b, found = 1 - kept, mpmath.mpf(0), []
    for y in sorted((y for y in law if y > 0), reverse=True):
        a, b = a + law[y], b + law[y] * mpmath.exp(-y)
        found.append((y, a, b))
    return found[::-1], 1 - kept


def delta(text: str, eps: Any) -> Any:
    """δ(ε), of the larger direction."""
    values = []
    for backward in (False, True):
        lines, failure = lines_of(text, backward)
        t = mpmath.exp(eps)
        values.append(max([failure, *(a - b * t for _, a, b in lines)]))
    return max(values)


def quantile(x: Any) -> Any:
    """Φ⁻¹."""
    return mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1)


def gaussian_mu(eps: Any, value: Any) -> Any:
    """μ with δ_μ(ε) = δ, by bisection."""
    low, high = mpmath.mpf(0), mpmath.mpf(100)
    for _ in range(140):
        mu = (low + high) / 2
        inside = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        low, high = (mu, high) if inside < value else (low, mu)
    return low


@cache
def supremum(text: str, eps_h: str | None, p_text: str) -> Any:
    """The least μ that covers [0, ε_h] past a probability p."""
    p = mpmath.mpf(p_text)
    best = mpmath.mpf(0)
    end = mpmath.inf if eps_h is None else mpmath.mpf(eps_h)
    for at in (mpmath.mpf(0), end):
        past = (delta(text, at) - p) / (1 - p) if at < mpmath.inf else 0
        best = max(best, gaussian_mu(at, past)) if past > 0 else best
    for backward in (False, True):
        start = mpmath.mpf(0)
        for y, a, b in lines_of(text, backward)[0]:
            above, below = (a - p) / (1 - p), b / (1 - p)
            if 0 < below < above < 1 and above - below > mpmath.mpf(10) ** -30:
                high, low = quantile(above), quantile(below)
                if start <= (low**2 - high**2) / 2 <= min(y, end):
                    best = max(best, high - low)
            start = y
    return best


def is_true(document: Document) -> bool:
    """Whether the claim is true, up to errors far below its digits."""
    claim, spec = document["claim"], document["mechanism"]
    text = json.dumps(spec, sort_keys=True)
    with mpmath.workdps(DIGITS):
        fails = max(lines_of(text, backward)[1] for backward in (False, True)) > SLACK
        variance = sum(
            times * (mpmath.mpf(run["sensitivity"]) / mpmath.mpf(run["sigma"])) ** 2
            for run, times in map(without_sample, runs_of(spec))
            if run["kind"] == "discrete-gaussian"
        )
        tail = mpmath.inf if fails else mpmath.sqrt(variance)
        ends = [mpmath.mpf(claim["mu_tail"][end]) for end in ("low", "high")]
        by_points = "skellam" in (spec["kind"], spec.get("base.kind"))
        if by_points or (fails and spec.get("base.kind") == "table"):
            # nothing is claimed of it
            tail = mpmath.mpf(1)
            if claim["verdict"] != "unknown" or ends != [0, mpmath.inf]:
                return False
        elif claim["verdict"] != ("not-gdp" if fails else "gdp"):
            return False
        if not ends[0] - SLACK <= tail <= ends[1] + SLACK:
            return False
        p, eps_h = claim["failure_probability"], claim["eps_h"]
        if claim["statement"] == "whole" and (mpmath.mpf(p) != 0 or fails):
            return False
        if claim["statement"] == "head" and delta(text, mpmath.mpf(eps_h)) > mpmath.mpf(p) + SLACK:
            return False
        past = p if claim["statement"] == "approximate" else "0"
        top = supremum(text, eps_h, past)
        if claim["statement"] == "whole":
            top = max(top, tail)
        low, high = (mpmath.mpf(claim["mu"][end]) for end in ("low", "high"))
        return bool(low - SLACK <= top <= high + SLACK)


# --- tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """mpmath agrees with every certificate as it was written, and with no narrower one."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)
    assert len(text_of(name)) < 100_000
    low, high = (Fraction(document["claim"]["mu"][end]) for end in ("low", "high"))
    for wrong in ((Fraction(0), low - Fraction(1, 10**9)), (high + Fraction(1, 10**9), high + 1)):
        ends = {"low": decimal(wrong[0]), "high": decimal(wrong[1])}
        assert not is_true(put(document, ("claim", "mu"), ends))


MANY = {
    "gaussian": profiles.DiscreteGaussian(sigma=4).compose(5),
    "response": RESPONSE.compose(300),
}


@pytest.mark.parametrize("name", MANY)
def test_many_lines_are_one_cell(name: str) -> None:
    """The checker parts a cell at the losses, over a thousand of them; no lower μ is accepted."""
    found = gdpbridge.measure(MANY[name]).certificate
    assert found is not None
    text = found.to_json()
    assert len(text) < 2000
    document = json.loads(text)
    assert outcome(document) == "valid"
    assert len(document["evidence"]["directions"][0]["cells"]) == 1
    low = Fraction(document["claim"]["mu"]["low"])
    cell = ("evidence", "directions", 0, "cells", 0)
    for step in (Fraction(1, 10**11), Fraction(1, 10)):
        ends = {"low": "0", "high": decimal(low - step)}
        assert outcome(put(document, ("claim", "mu"), ends)) != "valid"
    # no earlier end will do
    assert outcome(put(document, (*cell, "high"), "0x1p-4")) != "valid"
    assert outcome(put(document, (*cell, "low"), "0x1p-40")) != "valid"


def test_the_checker_parts_ranges_at_losses() -> None:
    """Parts end at losses, and where none are left δ is linear; the work is charged."""
    document = gdpbridge.measure(profiles.DiscreteGaussian(sigma=4).compose(5), eps_h=1).certificate
    assert document is not None
    work = Work()
    check = DiscreteCheck(document, Arithmetic(96, work))
    # the losses are 5(5 - 2x)/32
    assert check.parting(Fraction(1), Fraction(3)) * 32 % 5 == 0
    assert check.parting(Fraction(1, 100), Fraction(1, 99)) == Fraction(199, 19800)
    before = work.spent
    at = check.touching(Fraction(5, 32), Fraction(15, 32))
    assert work.spent > before
    assert Fraction(5, 32) <= at <= Fraction(15, 32)
    values = [float(check._delta(Fraction(end, 32)).low) for end in (5, 15)]
    slope = (values[0] - values[1]) / (mpmath.exp(15 / 32) - mpmath.exp(5 / 32))
    mu = mpmath.mpf(document.claim.mu.high)
    assert abs(mpmath.ncdf(-float(at) / mu - mu / 2) - slope) < 1e-12


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    tried = list(changes(fresh(name)))[len(name) % 7 :: 40]
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_moved_claim_or_cover_is_refused(name: str) -> None:
    """μ.high below the truth, μ.low above it, a cell or a direction less, pieces from elsewhere."""
    document = fresh(name)
    mu = document["claim"]["mu"]
    for step in (Fraction(1, 10**9), Fraction(1, 100)):
        for end, other, sign in (("high", "low", -1), ("low", "high", 1)):
            moved = decimal(Fraction(mu[other]) + sign * step)
            assert outcome(put(document, ("claim", "mu", end), moved)) != "valid"
    place = ("evidence", "directions")
    for index, _ in enumerate(cells := document["evidence"]["cells"]):
        fewer = cells[:index] + cells[index + 1 :]
        changed = put(document, ("evidence", "cells"), fewer)
        assert outcome(changed) != "valid" or is_true(changed)
    directions = document["evidence"].get("directions", [])
    changed = put(document, place, directions[:-1])
    assert not directions or outcome(changed) != "valid"
    for number, direction in enumerate(directions):
        cells = direction["cells"]
        for index in range(len(cells)):
            fewer = cells[:index] + cells[index + 1 :]
            changed = put(document, (*place, number, "cells"), fewer)
            assert outcome(changed) != "valid" or is_true(changed)
        first = direction["pieces"][0]
        for pieces in ([], [{**first, "start": "0x1p-4"}], [{**first, "tilt": "0x1p+9999"}]):
            changed = put(document, (*place, number, "pieces"), pieces)
            assert outcome(changed) != "valid"


@pytest.mark.parametrize("name", ["laplace", "gaussian, head"])
def test_a_head_needs_its_directions(name: str) -> None:
    """Whatever is claimed of μ, δ(ε_h) is not believed."""
    claim = {"failure_probability": "0", "mu": {"low": "0", "high": "inf"}}
    changed = fresh(name)
    changed["claim"] |= claim
    for directions in ([], changed["evidence"]["directions"]):
        changed["evidence"]["directions"] = directions
        assert outcome(changed) != "valid"


@pytest.mark.parametrize(
    ("kind", "parameters", "tail"),
    [
        ("discrete-gaussian", {"sigma": "1", "sensitivity": "1"}, "1"),
        ("discrete-laplace", {"scale": "1", "sensitivity": "1"}, "0"),
    ],
)
@pytest.mark.parametrize("high", ["0", "0.001", "1"])
def test_a_whole_statement_needs_its_directions(
    kind: str, parameters: dict[str, str], tail: str, high: str
) -> None:
    """Where there are none, no cell is missing of any, and nothing is proved."""
    changed = fresh("laplace")
    changed["mechanism"] = {"kind": kind, "neighbours": None, **parameters}
    changed["claim"] |= {
        "verdict": "gdp",
        "statement": "whole",
        "mu": {"low": "0", "high": high},
        "eps_h": None,
        "failure_probability": "0",
        "mu_tail": {"low": tail, "high": tail},
        "profile_is": None,
    }
    changed["evidence"] |= {"directions": [], "witness": None, "tail_from": None}
    assert outcome(changed) != "valid"


@pytest.mark.parametrize("name", ["listed", "listed, whole"])
def test_a_relation_is_a_known_one(name: str) -> None:
    """The claim is in words for these neighbours: no other text stands there."""
    changed = fresh(name)
    for relation in ("all possible", "", "replace-one neighbours and all"):
        changed["mechanism"]["neighbours"] = relation
        assert outcome(changed) != "valid"
    changed["mechanism"]["neighbours"] = "zero-out"
    assert outcome(changed) == "valid"


@pytest.mark.parametrize(
    "remove", ["inf:0 0:0x1p-1", "inf:1/4 0:0x1p-1", "inf:0 -1:0x3p-1 0:0x1p-1"]
)
def test_a_law_is_not_listed_in_part(remove: str) -> None:
    """What is left out of 1 is no loss of 0: such a law is refused before anything is proved."""
    with pytest.raises(Malformed, match="1 together"):
        listed("mechanism.remove", remove, "1")
    whole = listed("mechanism.remove", "inf:1/2 0:0x1p-1", "1")
    assert whole.failure == Fraction(1, 2)


@pytest.mark.parametrize("tilt", [Fraction(0), Fraction(3, 4), Fraction(9)])
@pytest.mark.parametrize("eps", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(9, 2)])
def test_a_law_encloses_what_is_added_up(tilt: Fraction, eps: Fraction) -> None:
    """Sums on two lattices and on one that has no end, whatever the tilt: mpmath's δ is inside."""
    parts = [
        (randomized_response(Fraction(1, 2), 3), 2),
        (discrete_laplace(Fraction(2), 3), 2),
        (two_valued(Fraction(1, 4)), 3),
        (DiscreteGaussian(Fraction(3, 4), 1), 1),
    ]
    specs = {
        "kind": "sequence",
        "neighbours": None,
        **{
            f"parts.{number}.{key}": value
            for number, part in enumerate(
                (
                    {"kind": "randomized-response", "noise_parameter": ".5", "buckets": "3"},
                    {"kind": "discrete-laplace", "scale": "2", "sensitivity": "3"},
                    {"kind": "approx-dp", "epsilon": ".25", "delta": "0"},
                    {"kind": "discrete-gaussian", "sigma": ".75", "sensitivity": "1"},
                )
            )
            for key, value in {**part, "count": str((2, 2, 3, 1)[number])}.items()
        },
    }
    for bits in (64, 160):
        of = Arithmetic(bits)
        found = Law(parts, tilt, of).enclose(of.exactly(eps))
        with mpmath.workdps(DIGITS):
            right = delta(json.dumps(specs), mpmath.mpf(eps.numerator) / eps.denominator)
            low, high = (mpmath.mpf(str(end)) for end in (found.low, found.high))
            near = mpmath.mpf(2) ** -30
            assert low * (1 - near * near) <= right <= high * (1 + near * near)
            # a tilt that suits none of these ε is less sharp
            assert bits == 64 or tilt > 1 or high - low <= near * near * right


@pytest.mark.parametrize(
    "rows",
    [
        "1:0.1 0.5:0.2",
        "0.5:0.2 1:0.2",
        "0.5:1.1",
        "0.5:1",
        "0.5",
        "-1:0.1",
        "0.5:0.2 1:0.19 2:0.01",
    ],
    ids=["unsorted", "flat", "above 1", "of 1", "half", "negative", "implied"],
)
def test_rows_that_are_no_corners_are_refused(rows: str) -> None:
    """The last of these says less than the others imply, as its slopes rise."""
    with pytest.raises((Malformed, Refused)):
        of_rows("rows", rows).masses(Arithmetic(96))


@pytest.mark.parametrize(
    "rows",
    [
        "0:1",
        "0:1 1/0:0",
        "0:1 0.5:0",
        "0:1 1/2:0 1:0",
        "0:1 1/10:1/2",
        "1/10:1 1:0",
        "0:3/2 1:0",
        "0:1 3/2:0",
        "0:1 1/2:1/2 3/4:0",
        "0:1 1/4:1/2 1/2:3/4 1:0",
    ],
)
def test_rows_of_no_trade_off_function_are_refused(rows: str) -> None:
    """Too few, out of order, above 1, or on no convex function that falls to 0."""
    with pytest.raises(Malformed):
        of_tradeoff("rows", rows, 1)


def test_rows_of_a_table_and_their_worst_mechanism() -> None:
    """Both of its laws are of mass 1, and its δ at the rows is theirs."""
    of = Arithmetic(160)
    rows = [(Fraction(0), Fraction(7, 20)), (Fraction(1, 2), Fraction(1, 5)), (Fraction(1), 0)]
    found = of_rows("rows", "0:0.35 0.5:0.2 1:0")
    assert list(found.places) == [-2, -1, 0, 1, 2]
    assert abs(float((sum(found.masses(of)) - 1).high)) < 1e-40
    assert abs(float((found.atoms(of, Fraction(-1)).total - 1).high)) < 1e-40
    law = Law([(found, 1)], Fraction(0), of)
    for eps, delta_there in rows:
        assert abs(float((law.enclose(of.exactly(eps)) - delta_there).high)) < 1e-40
