"""Where the paper's algorithms do other than it says: figures of running them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from flint import arb

from gdpbridge.convert import delta_at
from gdpbridge.curves.constants import interval_around
from gdpbridge.gaussian.curve import delta as gaussian_delta
from gdpbridge.gaussian.curve import mu as mu_of_pair
from gdpbridge.interval import Interval
from gdpbridge.measure import measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.paper.examples import cloak, laplace, least_mu, sgd
from gdpbridge.paper.finding import Claim, Fact, Found, affirmed
from gdpbridge.paper.listings import Listing, Pairing, naive_listing, optimised_listing, steps

__all__ = ["ALGORITHMS"]

# reciprocals of margins at which listings are run
_MARGINS = (10, 20, 50, 100, 200, 500, 1000)
_COUNTED = (100, 1_000, 10_000)
_SEEDS = range(5)


def _heads() -> dict[str, tuple[Profile, float]]:
    """Return mechanisms and heads on which the listings are run."""
    sampled = laplace().subsample(0.1)
    return {
        "Laplace": (laplace(), 2.0),
        "Laplace, 10% sampled": (sampled, round(float(sampled.least_epsilon(0.0)), 3)),
        "SGD": (sgd(), 10.0),
        "ICEA": (cloak(), 10.0),
    }


def _slope() -> Found:
    """The supremum of ∂μ/∂ε = R(ε/μ + μ/2), R falling, and secants of μ(ε, δ) on a grid."""
    exact_value = interval_around(_least_slope)
    secant = _steepest_secant()
    facts = (
        Fact("largest slope of μ(ε, δ) on a grid of 40 × 40 pairs", secant),
        Fact("R(0) = √(π/2), with R(z) = Φ(-z)/φ(z)", exact_value),
    )
    printed = interval_around(_printed_slope)
    tight = 0.99 * float(exact_value.low) < secant <= float(exact_value.high) < float(printed.low)
    wrong = (
        "it is a bound, but not the least: the second step of its proof puts √2·π/2 where "
        "√(2π)/2 stands, 1.77 times less"
    )
    return Found(exact_value, facts, wrong if tight else "")


def _least_slope() -> arb:
    return (arb.pi() / 2).sqrt()


def _least_gap() -> arb:
    return (2 * arb.pi()).sqrt()


def _printed_slope() -> arb:
    return arb(2).sqrt() * arb.pi() / 2


def _printed_gap() -> arb:
    return arb(2).sqrt() * arb.pi()


def _steepest_secant() -> float:
    mus = np.geomspace(1e-3, 5.0, 40)[:, np.newaxis]
    places = np.concatenate([[0.0], np.geomspace(1e-6, 20.0, 39)])[np.newaxis, :]
    log_free = np.asarray(gaussian_delta(places, mus))
    step = 1e-3 * mus
    ahead = np.asarray(mu_of_pair(places + step, log_free))
    kept = log_free > 0
    return float(np.max(((ahead - mus) / step)[kept]))


def _gap() -> Found:
    """The gap of the staircases' maxima, over d."""
    ours = interval_around(_least_gap)
    facts, widest = [], 0.0
    for name, (profile, eps_h) in _heads().items():
        cells = steps(profile, eps_h, 100)
        gap = float(cells.upper.max() - cells.lower[: cells.n + 1].max()) / cells.width
        facts.append(Fact(f"{name}: gap of the maxima over d", gap))
        widest = max(widest, gap)
    facts.append(Fact("√(2π)", ours))
    fewer = interval_around(lambda: arb.pi().sqrt())
    facts.append(Fact("so many times fewer grid points for the same margin, √π", fewer))
    wrong = "√(2π)·d is enough, by the exact bound of the slope: fewer grid points do"
    return Found(ours, tuple(facts), wrong if widest <= float(ours.high) else "")


@dataclass(frozen=True)
class _Run:
    """A run of a listing, and the least μ of the same head."""

    name: str
    c: int
    truth: Interval
    listing: Listing

    @property
    def misses(self) -> bool:
        """Whether μ⁺ is proved to be below the least μ."""
        return self.listing.high < self.truth.lower


@cache
def _runs(pairing: Pairing, optimised: bool) -> tuple[_Run, ...]:
    """Run a listing on each head with each margin."""
    found = []
    for name, (profile, eps_h) in _heads().items():
        truth = least_mu(profile, eps_h)
        for c in _MARGINS:
            if optimised:
                run = optimised_listing(profile, eps_h, c, pairing, seed=1)
            else:
                run = naive_listing(profile, eps_h, c, pairing)
            found.append(_Run(f"{name}, c = {c}", c, truth, run))
    return tuple(found)


def _upper_is_upper(optimised: bool) -> Found:
    """Whether μ⁺ of a listing, as printed, is never below the least μ."""
    runs = _runs("printed", optimised)
    missing = [run for run in runs if run.misses]
    facts = [
        Fact("runs", len(runs)),
        Fact("runs with μ⁺ proved to be below the least μ", len(missing)),
    ]
    for run in missing[:3]:
        facts += [Fact(f"{run.name}: μ⁺", run.listing.high)]
        facts += [Fact(f"{run.name}: least μ", run.truth)]
    right = sum(run.misses for run in _runs("theorem", optimised))
    facts.append(Fact("such runs with the pairing of the staircase theorem", right))
    wrong = (
        "μ⁺ is made of the steps of the lower staircase, and μ⁻ of the upper one: as printed, μ⁺ "
        "can be too small, and then the mechanism is not μ⁺-GDP"
    )
    return Found(not missing, tuple(facts), wrong if missing and not right else "")


def _width_of_interval() -> Found:
    """The width of the naive listing's interval, times c, with the pairing of the theorem."""
    widths = [(run.listing.high - run.listing.low) * run.c for run in _runs("theorem", False)]
    facts = (Fact("runs", len(widths)), Fact("largest width, times c", max(widths)))
    return Found(max(widths) <= 1, facts)


def _accuracy() -> Found:
    """Whether the optimised listing's interval is ever the narrower one."""
    pairs = list(zip(_runs("theorem", False), _runs("theorem", True), strict=True))
    narrower = sum(
        fast.listing.high - fast.listing.low < slow.listing.high - slow.listing.low
        for slow, fast in pairs
    )
    same = sum(
        (fast.listing.low, fast.listing.high) == (slow.listing.low, slow.listing.high)
        for slow, fast in pairs
    )
    facts = (
        Fact("runs of both, with the pairing of the theorem", len(pairs)),
        Fact("runs in which the optimised interval is narrower", narrower),
        Fact("runs in which both are the same", same),
    )
    wrong = (
        "every search ends on points of one lattice, so that both listings end on the same two; "
        "the optimised one is only faster"
    )
    return Found(narrower > 0, facts, wrong if same == len(pairs) else "")


def _range_ends_at_head() -> Found:
    """Whether the lower steps that the listings use stay below the supremum on the head."""
    eps_h, c = 10.0, 100
    cells, truth = steps(cloak(), eps_h, c), least_mu(cloak(), eps_h)
    within, beyond = float(cells.lower[: cells.n].max()), float(cells.lower.max())
    facts = (
        Fact("ICEA, ε_h = 10, c = 100: least μ of the head", truth),
        Fact("largest lower step of the cells that meet [0, ε_h]", within),
        Fact("largest lower step with the printed range, up to ε_h + 3d", beyond),
    )
    fails = within <= truth.upper < beyond
    wrong = (
        "d = ε_h/(n - 1) and i up to n + 1 take two cells beyond ε_h, where G may be larger: μ⁻ "
        "can exceed the least μ of the head, even with the pairing put right"
    )
    return Found(not fails, facts, wrong if fails else "")


def _searches_of_naive() -> Found:
    run = naive_listing(laplace(), 2.0, 100, "printed")
    counted = run.lower_searches + run.upper_searches
    facts = (Fact("n, for the Laplace example at c = 100", run.n), Fact("searches", counted))
    wrong = "i runs from 0 to n + 1, which are n + 2 cells with two searches each"
    extra = counted - 2 * run.n
    return Found(Interval(extra, extra), facts, wrong if counted == 2 * (run.n + 2) else "")


def _searches_of_optimised() -> Found:
    """Binary searches for μ⁻ against the margin, and those of the corrected test."""
    facts, lower, upper = [], [], []
    for c in _COUNTED:
        runs = [optimised_listing(laplace(), 2.0, c, "printed", seed) for seed in _SEEDS]
        lower.append(_mean(run.lower_searches for run in runs))
        upper.append(_mean(run.upper_searches for run in runs))
        harmonic = sum(1 / k for k in range(1, runs[0].n + 3))
        corrected = _corrected_counts(c)
        facts += [
            Fact(f"c = {c:,}: searches for μ⁻, mean of {len(runs)} shuffles", lower[-1]),
            Fact(f"c = {c:,}: searches for μ⁺, likewise", upper[-1]),
            Fact(f"c = {c:,}: the paper's sum of 1/k", harmonic),
            Fact(f"c = {c:,}: method shuffled, lower and upper", corrected),
        ]
    growth = math.log(lower[-1] / lower[0]) / math.log(_COUNTED[-1] / _COUNTED[0])
    facts.append(Fact("exponent with which those for μ⁻ grow in c", growth))
    wrong = (
        "that holds of the upper searches only: μ⁻ is rounded down to the lattice, so that every "
        "later cell of the same bin searches again. Tested against the search's upper end, as the "
        "method shuffled does, the lower ones are few too"
    )
    return Found(growth < 0.25, tuple(facts), wrong if growth > 0.25 else "")


def _mean(values: Iterable[int]) -> float:
    return float(np.mean(list(values)))


def _corrected_counts(c: int) -> str:
    """Return how many searches the library's method did, as it notes them."""
    found = measure(laplace(), tol=1 / c, method="shuffled")
    return next(note for note in found.notes if "searches" in note).removesuffix(" binary searches")


def _order_of_guarantees() -> Found:
    """Failure with probability p, a head alone, and a head with ε_h-DP, at μ = 1 and ε_h = 5."""
    mu, eps_h = 1, 5
    p = delta_at(mu, eps_h)
    facts, printed, reverse = [], True, True
    for eps in (1, 4, 6):
        # a head says of larger ε what it says of ε_h, and the third is 0 there
        first = delta_at((mu, p.high), eps)
        head = delta_at(mu, min(eps, eps_h))
        third = head if eps < eps_h else Interval(0, 0)
        facts += [
            Fact(f"ε = {eps}: GDP but for a failure, δ of the first", first),
            Fact(f"ε = {eps}: head GDP", head),
            Fact(f"ε = {eps}: head GDP and ε_h-DP, δ of the second", third),
        ]
        printed &= first.high < head.low
        reverse &= first.low > head.high and head.low >= third.low
    wrong = (
        "it is the other way round: the mechanism that may fail has the largest δ, the one that is "
        "ε_h-DP too the smallest; the paper's words for it are right"
    )
    return Found(printed, tuple(facts), wrong if reverse else "")


ALGORITHMS = (
    Claim(
        "slope",
        "theorem 4.2",
        "the bound of ∂μ(ε, δ)/∂ε",
        "√2·π/2",
        _slope,
        value=_printed_slope,
    ),
    Claim(
        "staircase-gap",
        "theorem 4.3",
        "the bound of the gap between the maxima of the staircases, over d",
        "√2·π",
        _gap,
        value=_printed_gap,
    ),
    affirmed(
        "optimised-listing",
        "section 4.1, algorithm 1",
        "the μ⁺ of the optimised listing is at least the least μ",
        partial(_upper_is_upper, True),
    ),
    affirmed(
        "naive-listing",
        "appendix on the head measurement, naive listing",
        "the μ⁺ of the naive listing is at least the least μ",
        partial(_upper_is_upper, False),
    ),
    affirmed(
        "range-of-listings",
        "both listings",
        "the cells gone through are those of [0, ε_h]: μ⁻ is at most the least μ of the head",
        partial(_range_ends_at_head),
    ),
    affirmed(
        "listing-width",
        "section 4.1",
        "the naive listing's interval is at most 1/c wide (with the pairing put right)",
        partial(_width_of_interval),
    ),
    affirmed(
        "listing-accuracy",
        "section 4.1, below algorithm 1",
        "the optimised listing is also more accurate than the naive one",
        partial(_accuracy),
    ),
    Claim(
        "searches-naive",
        "section 4.1",
        "how many binary searches more than 2n the naive listing does",
        "2",
        _searches_of_naive,
    ),
    affirmed(
        "searches-optimised",
        "section 4.1, and the appendix on the head measurement",
        "the optimised listing needs O(log) binary searches",
        partial(_searches_of_optimised),
    ),
    affirmed(
        "order-of-guarantees",
        "section 4.2",
        "the δ of GDP with a rare failure is below that of head GDP, which is below that of head "
        "GDP with ε_h-DP",
        partial(_order_of_guarantees),
    ),
)
