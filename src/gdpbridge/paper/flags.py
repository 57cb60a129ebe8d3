"""Where the paper is wrong or loose: what it prints, and computed figures that show it."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from functools import partial

import numpy as np
from flint import arb

from gdpbridge.curves.constants import interval_around
from gdpbridge.gaussian.enclosures import log_delta_of
from gdpbridge.identify import identify
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.paper.algorithms import ALGORITHMS
from gdpbridge.paper.examples import EXAMPLES, cloak, laplace, least_mu, sgd
from gdpbridge.paper.finding import Claim, Fact, Found, affirmed
from gdpbridge.paper.order import four_outcomes, profile_of_pair
from gdpbridge.paper.sides import sides

__all__ = ["FLAGS"]

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


FLAGS = (
    Claim(
        "example-scale",
        "section 2, third paragraph",
        "the least μ of the Laplace example with b = 2/Δ, as its scale is printed, at Δ = 1",
        "1.80",
        _scale_of_example,
    ),
    affirmed(
        "cloak-meets-1",
        "section 3, about figure 1",
        "the ICEA curve intersects the 1-GDP curve",
        partial(_cloak_meets, 1.0),
    ),
    affirmed(
        "cloak-meets-2",
        "section 3, about figure 1",
        "the ICEA curve intersects the 2-GDP curve",
        partial(_cloak_meets, 2.0),
    ),
    affirmed(
        "cloak-meets-4",
        "section 3, about figure 1",
        "the ICEA curve intersects the 4-GDP curve",
        partial(_cloak_meets, 4.0),
    ),
    affirmed(
        "terms-tend-to-one",
        "section 3, after figure 1",
        "both terms of δ_μ(ε) tend to 1 as ε grows",
        partial(_terms),
    ),
    affirmed(
        "tail-theorem",
        "theorem 3.3",
        "as worded, every finite μ ≥ μ_t will do",
        partial(_every_mu_above_tail),
    ),
    affirmed(
        "order-of-tail",
        "section 3, after theorem 3.3, and section 5.1",
        "the δ(ε) of a GDP mechanism is O(e^(-ε²))",
        partial(_gaussian_order),
    ),
    *ALGORITHMS,
    Claim(
        "combinations",
        "appendix, proof of theorem 2.1",
        "how many combinations of event and data set there are to check",
        "64",
        _combinations,
    ),
    affirmed(
        "limit-in-lemma",
        "appendix, proof of the lemma, last line",
        "e^(-b²/2)·Φ(b)/(√(2π)·b) tends to 1 as b falls",
        partial(_limit_in_lemma),
    ),
    affirmed(
        "sign-of-refinement",
        "appendix on refining",
        "the implied δ rises in ε₀ before ε^i and falls after it",
        partial(_sign_of_refinement),
    ),
)
