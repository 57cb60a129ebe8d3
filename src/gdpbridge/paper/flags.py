"""Where the paper is wrong or loose: what it prints, and computed figures that show it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial

import numpy as np
from flint import arb

from gdpbridge.convert import delta_at
from gdpbridge.curves.constants import interval_around
from gdpbridge.gaussian.ball import log_delta_of
from gdpbridge.gaussian.curve import delta as gaussian_delta
from gdpbridge.gaussian.curve import mu as mu_of_pair
from gdpbridge.identify import identify
from gdpbridge.interval import Interval
from gdpbridge.measure import measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.paper.examples import EXAMPLES, cloak, laplace, least_mu, sgd
from gdpbridge.paper.finding import Claim, Fact, Found
from gdpbridge.paper.listings import Listing, Pairing, naive_listing, optimised_listing, steps
from gdpbridge.paper.order import four_outcomes, profile_of_pair
from gdpbridge.paper.sides import sides

__all__ = ["FLAGS"]

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


# --- section 2 -------------------------------------------------------------------------------


def _scale_of_example() -> Found:
    as_printed = least_mu(Laplace(scale=2, sensitivity=1))
    meant = least_mu(laplace())
    wrong = (
        "b = 2/Δ is meant as b = Δ/2, which is the same only for Δ = 2: only Δ/b = 2 gives the "
        "paper's other figures for this example"
    )
    return Found(
        as_printed,
        (
            Fact("least μ at Δ = 1 with b = 2/Δ = 2", as_printed),
            Fact("least μ at Δ = 1 with b = Δ/2 = 1/2", meant),
        ),
        wrong if as_printed.high < meant.low else "",
    )


# --- section 3 -------------------------------------------------------------------------------


def _cloak_meets(mu: float) -> Found:
    found = sides(cloak(), mu, 100.0)
    facts = (
        [Fact(f"δ is proved to be above δ_{mu:g} at ε", found.above)]
        if found.above is not None
        else []
    )
    if found.below is not None:
        facts.append(Fact(f"δ is proved to be below δ_{mu:g} at ε", found.below))
    eps = np.linspace(0.0, 100.0, 10_001)
    facts.append(Fact("least value of its GDPT on [0, 100]", float(np.min(cloak().gdpt(eps)))))
    facts.append(Fact(f"above δ_{mu:g} on all of [0, 100], cell by cell", found.all_above))
    wrong = (
        f"it lies above the {mu:g}-GDP curve on all of [0, 100], and falls more slowly after that, "
        f"so that the two never meet; that the mechanism is not {mu:g}-GDP is right"
    )
    return Found(found.crosses, tuple(facts), wrong if found.all_above else "")


def _terms() -> Found:
    """The two terms of δ_1(ε), Φ(-x) and e^ε·Φ(-y)."""
    places = (5, 10, 20)
    first = [interval_around(partial(_first_term, eps), 12) for eps in places]
    second = [interval_around(partial(_second_term, eps), 12) for eps in places]
    facts = [
        Fact(f"{name} term of δ_1 at ε = {eps}", value)
        for name, values in (("first", first), ("second", second))
        for eps, value in zip(places, values, strict=True)
    ]
    fall = all(
        after.high < before.low / 100
        for values in (first, second)
        for before, after in itertools.pairwise(values)
    )
    wrong = "both terms tend to 0; that their difference cancels is right"
    return Found(not fall, tuple(facts), wrong if fall else "")


def _first_term(eps: int) -> arb:
    return _phi(arb(1) / 2 - eps)


def _second_term(eps: int) -> arb:
    return arb(eps).exp() * _phi(-arb(1) / 2 - eps)


def _phi(x: arb) -> arb:
    """Return Φ(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def _gaussian_order() -> Found:
    """δ_1(ε) over e^{-ε²}, of which it would be at most a multiple."""
    places = (5, 10, 20, 40)
    ratios = [interval_around(partial(_over_square, eps), 12) for eps in places]
    grows = all(after.low > 1000 * before.high for before, after in itertools.pairwise(ratios))
    wrong = (
        "δ_μ falls like e^(-ε²/(2μ²)): for μ > √½ it is not O(e^(-ε²)), only O(e^(-k·ε²)) for some "
        "k > 0"
    )
    facts = tuple(
        Fact(f"δ_1(ε)·e^(ε²) at ε = {eps}", ratio)
        for eps, ratio in zip(places, ratios, strict=True)
    )
    return Found(not grows, facts, wrong if grows else "")


def _over_square(eps: int) -> arb:
    return (log_delta_of(arb(eps), arb(1)) + eps * eps).exp()


def _every_mu_above_tail() -> Found:
    facts, fails = [], False
    for name in ("Laplace", "SGD"):
        profile = EXAMPLES[name]()
        tail, mu = identify(profile).mu_tail, least_mu(profile)
        assert tail is not None
        facts += [Fact(f"{name}: μ_t", tail), Fact(f"{name}: least μ", mu)]
        fails |= tail.high < mu.low
    wrong = (
        "a finite μ_t decides whether some μ will do; a μ between μ_t and the least one will not"
    )
    return Found(not fails, tuple(facts), wrong if fails else "")


def _limit_in_lemma() -> Found:
    places = (-5, -10, -20)
    printed = [interval_around(partial(_product, b), 12) for b in places]
    meant = [interval_around(partial(_quotient, b), 12) for b in places]
    facts = [
        Fact(f"as printed, Φ(b) in the numerator, at b = {b}", one)
        for b, one in zip(places, printed, strict=True)
    ]
    facts += [
        Fact(f"with -Φ(b) in the denominator, at b = {b}", one)
        for b, one in zip(places, meant, strict=True)
    ]
    fails = abs(printed[-1].low) < Decimal("1e-9")
    wrong = "as printed the limit is 0; with Φ(b) moved below the line, and a minus sign, it is 1"
    return Found(not fails, tuple(facts), wrong if fails else "")


def _product(b: int) -> arb:
    return (-arb(b * b) / 2).exp() * _phi(arb(b)) / ((2 * arb.pi()).sqrt() * b)


def _quotient(b: int) -> arb:
    return -(-arb(b * b) / 2).exp() / ((2 * arb.pi()).sqrt() * b * _phi(arb(b)))


# --- section 4 -------------------------------------------------------------------------------


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


# --- appendix --------------------------------------------------------------------------------


def _combinations() -> Found:
    """Every event and every data set of the mechanism that shows the partial order exact."""
    eps0, delta0 = 1.0, 0.1
    zero, one = four_outcomes(math.exp(eps0), delta0)
    events = [event for size in range(5) for event in itertools.combinations(range(4), size)]
    facts, furthest = [Fact("events", len(events)), Fact("data sets", 2)], 0.0
    for eps in (0.0, 0.5, 1.0, 2.0):
        worst = max(
            sum(p[i] for i in event) - math.exp(eps) * sum(q[i] for i in event)
            for event in events
            for p, q in ((zero, one), (one, zero))
        )
        expected = float(profile_of_pair(eps0, delta0).delta(eps))
        furthest = max(furthest, abs(worst - expected))
    facts.append(Fact("largest difference to the theorem's δ at ε = 0, 0.5, 1 and 2", furthest))
    count = 2 * len(events)
    wrong = "there are 2⁴ events and two data sets; what they show is right"
    return Found(Interval(count, count), tuple(facts), wrong if furthest < 1e-12 else "")


def _sign_of_refinement() -> Found:
    """δ at ε = 0 that a pair (ε₀, δ̂(ε₀)) of the second example implies, about ε^i."""
    best = interval_around(sgd().curve.corners()[1])
    facts = [Fact("ε^i of the second example", best)]
    implied = []
    for factor in ("0.5", "1", "2"):
        eps0 = float(Decimal(factor) * best.low)
        pair = profile_of_pair(eps0, math.exp(-eps0 * eps0))
        implied.append(float(pair.delta(0.0)))
        facts.append(Fact(f"δ at ε = 0 implied by the pair at {factor}·ε^i", implied[-1]))
    opposite = implied[0] > implied[1] < implied[2]
    wrong = (
        "as printed (with ε₀ for its ε), the pair at ε^i would be the worst one: the sign is the "
        "opposite"
    )
    return Found(not opposite, tuple(facts), wrong if opposite else "")


def _yes(name: str, where: str, what: str, find: partial[Found]) -> Claim:
    return Claim(name, where, what, "yes", find, value=True)


FLAGS = (
    Claim(
        "example-scale",
        "section 2, third paragraph",
        "the least μ of the Laplace example with b = 2/Δ, as its scale is printed, at Δ = 1",
        "1.80",
        _scale_of_example,
    ),
    _yes(
        "cloak-meets-1",
        "section 3, about figure 1",
        "the ICEA curve intersects the 1-GDP curve",
        partial(_cloak_meets, 1.0),
    ),
    _yes(
        "cloak-meets-2",
        "section 3, about figure 1",
        "the ICEA curve intersects the 2-GDP curve",
        partial(_cloak_meets, 2.0),
    ),
    _yes(
        "cloak-meets-4",
        "section 3, about figure 1",
        "the ICEA curve intersects the 4-GDP curve",
        partial(_cloak_meets, 4.0),
    ),
    _yes(
        "terms-tend-to-one",
        "section 3, after figure 1",
        "both terms of δ_μ(ε) tend to 1 as ε grows",
        partial(_terms),
    ),
    _yes(
        "tail-theorem",
        "theorem 3.3",
        "as worded, every finite μ ≥ μ_t will do",
        partial(_every_mu_above_tail),
    ),
    _yes(
        "order-of-tail",
        "section 3, after theorem 3.3, and section 5.1",
        "the δ(ε) of a GDP mechanism is O(e^(-ε²))",
        partial(_gaussian_order),
    ),
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
    _yes(
        "optimised-listing",
        "section 4.1, algorithm 1",
        "the μ⁺ of the optimised listing is at least the least μ",
        partial(_upper_is_upper, True),
    ),
    _yes(
        "naive-listing",
        "appendix on the head measurement, naive listing",
        "the μ⁺ of the naive listing is at least the least μ",
        partial(_upper_is_upper, False),
    ),
    _yes(
        "range-of-listings",
        "both listings",
        "the cells gone through are those of [0, ε_h]: μ⁻ is at most the least μ of the head",
        partial(_range_ends_at_head),
    ),
    _yes(
        "listing-width",
        "section 4.1",
        "the naive listing's interval is at most 1/c wide (with the pairing put right)",
        partial(_width_of_interval),
    ),
    _yes(
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
    _yes(
        "searches-optimised",
        "section 4.1, and the appendix on the head measurement",
        "the optimised listing needs O(log) binary searches",
        partial(_searches_of_optimised),
    ),
    _yes(
        "order-of-guarantees",
        "section 4.2",
        "the δ of GDP with a rare failure is below that of head GDP, which is below that of head "
        "GDP with ε_h-DP",
        partial(_order_of_guarantees),
    ),
    Claim(
        "combinations",
        "appendix, proof of theorem 2.1",
        "how many combinations of event and data set there are to check",
        "64",
        _combinations,
    ),
    _yes(
        "limit-in-lemma",
        "appendix, proof of the lemma, last line",
        "e^(-b²/2)·Φ(b)/(√(2π)·b) tends to 1 as b falls",
        partial(_limit_in_lemma),
    ),
    _yes(
        "sign-of-refinement",
        "appendix on refining",
        "the implied δ rises in ε₀ before ε^i and falls after it",
        partial(_sign_of_refinement),
    ),
)
