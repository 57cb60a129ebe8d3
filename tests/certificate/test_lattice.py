"""Laws above and below on a lattice, and certificates that rest on them.

What is true of Laplace noise on samples is found by sums over Gauss's nodes: with P' and Q its two
laws, δ(ε) of one run is known in closed form at every real ε, and of two runs it is its mean over
the losses of the other one.
"""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from changes import changes, decimal, outcome, put
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

import gdpbridge
from gdpbridge import profiles
from gdpbridge.certificate.reach import needs_lattice, uncertifiable_because
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge_verify.allocation import allocated
from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.exponentials import Laplace, of_bounded_range
from gdpbridge_verify.finite import discrete_laplace, two_valued
from gdpbridge_verify.lattice import Placed, law_above, law_below
from gdpbridge_verify.law import Law
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.samples import SampledFinite, SampledLaplace, sampled
from gdpbridge_verify.transforms import Gaussian, Runs, Transform

Document = dict[str, Any]

SLACK = 1e-9
NODES = 40


def masses(x: Any, r: float) -> tuple[Any, Any]:
    """P(X ≤ x) and Q(X ≤ x) of the loss without sampling, for x in [-r, r)."""
    p = np.exp(-r) / 2 + (np.exp((x - r) / 2) - np.exp(-r)) / 2
    return p, 0.5 + (1 - np.exp(-(x + r) / 2)) / 2


def delta(eps: Any, r: float, rate: float, backward: bool) -> Any:
    """E(1 - e^{ε-L})⁺ of one run at real ε."""
    eps = np.asarray(eps, float)
    # the loss is log(1 - γ + γe^x), or minus that
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.log((np.exp(-eps if backward else eps) - 1 + rate) / rate)
    x = np.where(np.isnan(x), -np.inf, x)
    p, q = masses(np.clip(x, -r, r), r)
    p, q = (
        np.where(x < -r, 0.0, np.where(x >= r, 1.0, p)),
        np.where(x < -r, 0.0, np.where(x >= r, 1.0, q)),
    )
    removed = (1 - rate) * q + rate * p
    return q - np.exp(eps) * removed if backward else 1 - removed - np.exp(eps) * (1 - q)


def of_runs(eps: float, r: float, rate: float, backward: bool, times: int) -> float:
    """δ(ε) of one or two runs."""
    if times == 1:
        return float(delta(eps, r, rate, backward))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)

    def loss(x: Any) -> Any:
        found = np.log1p(rate * np.expm1(x))
        return -found if backward else found

    def density(x: Any) -> Any:
        q = np.exp(-(x + r) / 2) / 4
        return q if backward else q * np.exp(loss(x))

    ends = [
        (1 - rate) * q + rate * p for p, q in ((math.exp(-r) / 2, 0.5), (0.5, math.exp(-r) / 2))
    ]
    if backward:
        ends = [0.5, math.exp(-r) / 2]
    found = sum(
        mass * float(delta(eps - loss(x), r, rate, backward))
        for mass, x in zip(ends, (-r, r), strict=True)
    )
    # δ of the other run bends where its losses begin and end
    ratios = [(math.exp(s * (eps - loss(y))) - 1 + rate) / rate for y in (-r, r) for s in (-1, 1)]
    bends = [math.log(one) for one in ratios if one > 0 and abs(math.log(one)) < r]
    for low, high in pairwise(sorted({-r, r, *bends})):
        x = (low + high) / 2 + (high - low) / 2 * nodes
        values = density(x) * delta(eps - loss(x), r, rate, backward)
        found += float(weights @ values) * (high - low) / 2
    return found


def gaussian(eps: float, mu: float) -> float:
    """δ_μ(ε)."""
    return float(norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu))


@cache
def supremum(r: float, rate: float, times: int, end: float) -> float:
    """The least μ for ε in [0, end]."""

    def mu_at(eps: float) -> float:
        value = max(of_runs(eps, r, rate, backward, times) for backward in (False, True))
        return float(brentq(lambda mu: gaussian(eps, mu) - value, 1e-4, 9, xtol=1e-13))

    places = np.linspace(0, end, 25)
    top = int(np.argmax([mu_at(float(eps)) for eps in places]))
    around = (places[max(top - 1, 0)], places[min(top + 1, 24)])
    best = minimize_scalar(lambda e: -mu_at(e), bounds=around, method="bounded")
    return max(-float(best.fun), mu_at(float(places[top])))


# --- laws -----------------------------------------------------------------------------------------


def ends_of(one: Transform, unit: Fraction, times: int, eps: float) -> tuple[float, float]:
    """What the two laws show of δ."""
    of = Arithmetic(128)
    pair = one.bounded(of)
    found: list[Interval] = []
    for make in (law_below, law_above):
        law = Law([(make(pair, unit, of), times)], Fraction(0), of)
        found.append(law.enclose(of.exactly(Fraction(eps))))
    return float(found[0].low), float(found[1].high)


@pytest.mark.parametrize("backward", [False, True], ids=["removed", "added"])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("r", "rate"), [(1.0, 0.25), (3.0, 0.05), (0.125, 0.75)])
def test_laws_are_on_both_sides_of_laplace_noise_on_samples(
    r: float, rate: float, times: int, backward: bool
) -> None:
    """Coarse and fine: the finer one is much nearer."""
    one = SampledLaplace(Laplace(Fraction(r)), Fraction(rate), backward=backward)
    top = Fraction(math.log1p(rate * math.expm1(r)) - math.log1p(rate * math.expm1(-r)))
    for eps in (0.0, float(top) * 0.07, float(top) * 0.2):
        right, gaps = of_runs(eps, r, rate, backward, times), []
        for count in (20, 200):
            low, high = ends_of(one, top * (1 - Fraction(1, 2**44)) / count, times, eps)
            assert low - SLACK <= right <= high + SLACK
            gaps.append(high - low)
        assert gaps[1] < max(gaps[0] / 8, 1e-12)


@pytest.mark.parametrize("unit", [Fraction(1, 10), Fraction(1, 7), Fraction(3), Fraction(1, 300)])
def test_laws_are_on_both_sides_of_laplace_noise(unit: Fraction) -> None:
    """Whether or not its end is a multiple of the unit; δ of two runs is known."""
    for eps in (0.0, 0.3, 1.7):
        end = math.exp((eps - 2) / 2)
        low, high = ends_of(Laplace(Fraction(1)), unit, 2, eps)
        assert low - SLACK <= 1 - end * (1 + (2 - eps) / 4) <= high + SLACK


def test_atoms_that_are_multiples_stay() -> None:
    """Both laws are then the same; of others the masses of P and Q stay above, that of P below."""
    of = Arithmetic(160)
    pair = two_valued(Fraction(1, 3)).bounded(of)
    for make in (law_above, law_below):
        assert list(make(pair, Fraction(1, 6), of).places) == [0, 4]
    for base in (discrete_laplace(Fraction(2), 3), two_valued(Fraction(1), Fraction(1, 10))):
        for backward in (False, True):
            one = SampledFinite(base, Fraction(1, 5), backward=backward)
            pair = one.bounded(of)
            p, q = (sum(getattr(a, name) for a in pair.atoms) for name in ("p", "q"))
            for make in (law_above, law_below):
                law: Placed = make(pair, Fraction(1, 9), of)
                assert abs(float((sum(law.masses(of)) - p).high)) < 1e-40
                shares = law.atoms(of, Fraction(-1)).total
                assert float((shares - q).low) > (-1e-40 if make is law_above else 0)
                assert make is law_below or float((shares - q).high) < 1e-40


def test_what_is_not_bounded_is_refused() -> None:
    """So are several runs on one sample, and none at all."""
    of = Arithmetic(96)
    with pytest.raises(Malformed, match="not bounded"):
        Gaussian(Fraction(1)).bounded(of)
    with pytest.raises(Malformed, match="one run with bounded losses"):
        sampled(Runs(Laplace(Fraction(1)), 2), Fraction(1, 2))
    with pytest.raises(Malformed, match="one run with bounded losses"):
        sampled(Runs(Gaussian(Fraction(1)), 1), Fraction(1, 2))


@pytest.mark.parametrize(
    ("r", "rate", "unit"),
    [
        # e^x is nothing beside 1, or the rate is
        (Fraction(50), 1, Fraction(1, 4)),
        (Fraction(50), 1 - Fraction(1, 10**20), Fraction(1, 4)),
        (Fraction(1, 10**13), 1, Fraction(1, 10**14)),
    ],
    ids=["far", "almost all", "little"],
)
def test_cells_where_floats_have_few_digits(r: Fraction, rate: Fraction, unit: Fraction) -> None:
    """What they show of δ(0), which is known, is not above it."""
    of = Arithmetic(160)
    base = Runs(Laplace(r), 1)
    for backward in (False, True) if rate < 1 else (False,):
        one = sampled(base, Fraction(rate)).directed(backward, Fraction(0))[0]
        law = law_below(one.bounded(of), unit, of)
        found = Law([(law, 1)], Fraction(0), of).enclose(of.exactly(0))
        right = -of.exactly(-r / 2).expm1() * rate
        assert not found.low > right.high
        assert not found < right / 4


def test_no_cell_ends_beyond_the_density() -> None:
    """As it would with e^{x/2} rounded to a float: what is beyond has a mass below 0."""
    of, r = Arithmetic(160), Fraction(17, 128)
    unit = Fraction(0.13281249999993558)
    law = law_below(of_bounded_range(r).bounded(of), unit, of)
    assert all(mass >= 0 for mass in law.masses(of))


def test_rates_that_no_float_is() -> None:
    """Precision that such a rate needs is all that its cells need."""
    one = sampled(Runs(Laplace(Fraction(599)), 1), Fraction(1, 10**330)).transform
    of = Arithmetic(1700)
    law = law_below(one.bounded(of), Fraction(1, 10**72), of)
    masses = law.masses(of)
    assert all(mass >= 0 for mass in masses)
    assert abs(float((sum(masses) - 1).high)) < 1e-60


# --- certificates -------------------------------------------------------------------------------

TIMES, RATE = 2, 0.25


@cache
def document_of() -> str:
    """The certificate of Laplace noise on samples."""
    profile = profiles.Laplace(scale=1).subsample(RATE).compose(TIMES)
    found = gdpbridge.measure(profile).certificate
    assert found is not None
    return found.to_json()


def test_certificates_hold_what_is_true() -> None:
    """Both ends are near it."""
    document = json.loads(document_of())
    assert document["claim"]["profile_is"] == "own"
    assert len(document_of()) < 5000
    assert outcome(document) == "valid"
    low, high = (float(document["claim"]["mu"][end]) for end in ("low", "high"))
    right = supremum(1.0, RATE, TIMES, 0.64)
    assert low <= right + SLACK
    assert right - SLACK <= high
    assert high - low < 1e-4 * high


def coarse() -> Document:
    """The same with a unit that takes little work, and as much less claimed."""
    document: Document = copy.deepcopy(json.loads(document_of()))
    unit = Fraction(document["evidence"]["unit"])
    top = math.log1p(0.25 * math.expm1(1)) - math.log1p(0.25 * math.expm1(-1))
    factor = max(1, round(top / 48 / float(unit)))
    document["evidence"]["unit"] = str(unit * factor)
    low, high = (Fraction(document["claim"]["mu"][end]) for end in ("low", "high"))
    for wider in (Fraction(1, 1000), Fraction(1, 200), Fraction(1, 50)):
        ends = {"low": decimal(low * (1 - wider)), "high": decimal(high * (1 + wider))}
        found = put(document, ("claim", "mu"), ends)
        if outcome(found) == "valid":
            return found
    raise AssertionError("nothing near is accepted")


def is_true(document: Document) -> bool:
    """Whether a claim is true, of a mechanism whose numbers may be others."""
    claim, spec = document["claim"], document["mechanism"]
    times, rate = int(Fraction(spec["times"])), float(Fraction(spec["base.rate"]))
    r = float(Fraction(spec["base.base.sensitivity"]) / Fraction(spec["base.base.scale"]))
    low, high = (float(Fraction(claim["mu"][end])) for end in ("low", "high"))
    right = supremum(r, rate, times, float(times * math.log1p(rate * math.expm1(r))) * 0.9)
    # past a failure of 0 it is a whole one
    whole = claim["statement"] in ("whole", "approximate") and claim["verdict"] == "gdp"
    return bool(whole) and low - SLACK <= right <= high + SLACK


def test_no_change_makes_a_false_claim_accepted() -> None:
    """Every field, in many ways; some are accepted, where the claim is still true."""
    document = coarse()
    accepted = tried = 0
    assert is_true(document)
    for what, changed in changes(document):
        tried += 1
        if outcome(changed) == "valid":
            accepted += 1
            assert is_true(changed), what
    assert tried > 600
    assert accepted < tried / 4


def test_a_unit_is_for_bounded_losses() -> None:
    """Another kind of proof has none, and one on a lattice needs it."""
    document = json.loads(document_of())
    # without it the cells would be those of lines, of which there are none
    assert outcome(put(document, ("evidence", "unit"), None)) == "refused"
    other = gdpbridge.measure(profiles.Laplace(scale=1)).certificate
    assert other is not None
    changed = put(json.loads(other.to_json()), ("evidence", "unit"), "1/100")
    assert outcome(changed) == "no certificate"
    names = {"kind": "gaussian", "sigma": "1", "sensitivity": "1"}
    sample = {"kind": "subsampled", "neighbours": "add-remove", "scheme": "poisson", "rate": "0.5"}
    mechanism = sample | {f"base.{name}": text for name, text in names.items()}
    assert outcome(document | {"mechanism": mechanism}) == "no certificate"


def test_random_allocation_on_a_lattice() -> None:
    """Its law is already on one, which another one is below and above."""
    of = Arithmetic(128)
    law = allocated(Fraction(1), 2).forward
    pair = law.bounded(of)
    for make in (law_above, law_below):
        total = sum(make(pair, Fraction(1, 50), of).masses(of), of.exactly(law.failure))
        assert abs(float((total - sum(law.masses(of)) - law.failure).high)) < 1e-30


def test_answers_are_shown_by_laws_without_a_tilt() -> None:
    """δ at an ε, near what is true; a number on either side of it is refused."""
    profile = profiles.Laplace(scale=1).subsample(RATE).compose(TIMES)
    document = json.loads(write_answers(profile, [Asked("delta", Fraction(1, 10))]).to_json())
    (answer,) = document["claim"]["answers"]
    right = max(of_runs(0.1, 1.0, RATE, backward, TIMES) for backward in (False, True))
    low, high = (float(answer[end]) for end in ("low", "high"))
    assert low - SLACK <= right <= high + SLACK
    assert high - low < 1e-4 * high
    assert outcome(document) == "valid"
    for end, other in (("low", low * 1.001), ("high", high * 0.999)):
        changed = put(document, ("claim", "answers", 0, end), f"{other:.12f}")
        assert outcome(changed) in ("refused", "no certificate")


@pytest.mark.parametrize("other", [profiles.DiscreteGaussian(sigma=2), profiles.Laplace(scale=1)])
def test_what_stands_beside_samples(other: gdpbridge.Profile) -> None:
    """With losses without bounds, and not along lines, there is none: it is said beforehand."""
    both = profiles.Sequence(parts=(profiles.PureDP(epsilon=1).subsample(0.3), other))
    why = uncertifiable_because(both)
    assert why == (
        "there is no certificate yet for pure-dp on samples beside losses without bounds"
        if other.kind == "discrete-gaussian"
        else ""
    )
    assert needs_lattice(both)
