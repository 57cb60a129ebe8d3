"""The numbers in the paper's running text, each with what computes ours."""

from __future__ import annotations

import itertools
from functools import partial

from flint import arb

from gdpbridge.amplify.clip_rectify import clip_and_rectify
from gdpbridge.convert import delta_at
from gdpbridge.curves.constants import interval_around
from gdpbridge.gaussian.enclosures import log_delta_of, log_delta_series
from gdpbridge.identify import Verdict, identify
from gdpbridge.paper.composition import COMPOSITION, least, rises_in_epsilon
from gdpbridge.paper.examples import (
    EXAMPLES,
    cloak,
    laplace,
    least_mu,
    naive_cloak,
    naive_sgd,
    sampled,
    sgd,
)
from gdpbridge.paper.finding import Claim, Fact, Found
from gdpbridge.paper.order import implied_is_enough, implied_is_reached
from gdpbridge.paper.sides import sides

__all__ = ["CLAIMS"]


# --- the three examples ----------------------------------------------------------------------


def _is_gdp(name: str, mu: float) -> Found:
    """Whether an example is μ-GDP: its least μ, and the tail where there is none."""
    profile = EXAMPLES[name]()
    if identify(profile).verdict is Verdict.NOT_GDP:
        head = least_mu(profile, 100.0)
        return Found(False, (Fact("proved not to be GDP; least μ up to ε = 100", head),))
    least = least_mu(profile)
    return Found(least.high <= mu, (Fact("least μ", least),))


def _meets(name: str, mu: float) -> Found:
    profile = EXAMPLES[name]()
    found = sides(profile, mu, 20.0)
    facts = [Fact("least μ", least_mu(profile))]
    for side, eps in (("above", found.above), ("below", found.below)):
        if eps is not None:
            facts.append(Fact(f"δ is proved to be {side} δ_{mu:g} at ε", eps))
    return Found(found.crosses, tuple(facts))


def _tail(name: str) -> Found:
    found = identify(EXAMPLES[name]())
    assert found.mu_tail is not None
    return Found(found.mu_tail)


def _verdict(name: str) -> Found:
    found = identify(EXAMPLES[name]())
    return Found(found.verdict is Verdict.GDP, (Fact("why", found.reason),))


def _root_half() -> arb:
    return arb(1) / arb(2).sqrt()


def _finite_at_zero() -> Found:
    values = [delta_at(profile(), 0) for profile in EXAMPLES.values()]
    facts = tuple(Fact(f"{name}: δ(0)", one) for name, one in zip(EXAMPLES, values, strict=True))
    return Found(all(one.high < 1 for one in values), facts)


def _refinement_matters() -> Found:
    facts, larger = [], True
    for name, naive, refined in (("SGD", naive_sgd(), sgd()), ("ICEA", naive_cloak(), cloak())):
        plain, implied = float(naive.delta(0.0)), delta_at(refined, 0)
        facts += [Fact(f"{name}: naive δ(0)", plain), Fact(f"{name}: refined δ(0)", implied)]
        larger &= plain == 1 and implied.high < 1
    return Found(larger, tuple(facts))


# --- the Gaussian curve ----------------------------------------------------------------------


def _curvature(mu: int) -> arb:
    """Return δ_μ''(0)."""
    series = log_delta_series(arb(0), arb(0), arb(mu))
    return series[0].exp() * (2 * series[2] + series[1] * series[1])


def _bends_upwards(mu: int, upwards: bool) -> Found:
    second = interval_around(partial(_curvature, mu), 12)
    holds = second.low > 0 if upwards else second.high < 0
    return Found(holds, (Fact(f"second derivative of δ_{mu} at ε = 0", second),))


def _approximation() -> Found:
    """Whether δ_1(ε) over the lemma's elementary function tends to 1."""
    places = (10, 100, 1000, 10_000)
    ratios = [interval_around(partial(_ratio, eps), 12) for eps in places]
    off = [max(abs(one.low - 1), abs(one.high - 1)) for one in ratios]
    facts = tuple(
        Fact(f"ratio at ε = {eps}, μ = 1", one) for eps, one in zip(places, ratios, strict=True)
    )
    return Found(all(b < a / 5 for a, b in itertools.pairwise(off)), facts)


def _ratio(eps: int) -> arb:
    a = arb(1) / 2 - eps
    log_lemma = -a * a / 2 - (2 * arb.pi()).log() / 2 - 2 * (-a).log()
    return (log_delta_of(arb(eps), arb(1)) - log_lemma).exp()


def _order_of_failure() -> Found:
    power = interval_around(lambda: log_delta_of(arb(100), arb(6)) / arb(10).log())
    return Found(delta_at(6, 100), (Fact("log10 of it", power),))


# --- amplification ---------------------------------------------------------------------------


def _sampled(rate: float) -> Found:
    return Found(least_mu(sampled(laplace(), rate)))


def _clip_and_rectify() -> Found:
    plan = clip_and_rectify(cloak(), eps_h=10, lower=0, upper=1)
    holds = plan.verdict is Verdict.GDP and plan.mu.high <= plan.head_mu.high
    facts = (
        Fact("ICEA, ε_h = 10: μ of the head, and so of the theorem", plan.head_mu),
        Fact("least μ that clipping and noise imply together", plan.mu),
    )
    return Found(holds, facts)


def _tail_of_sample() -> Found:
    tail = identify(sampled(sgd(), 0.1)).mu_tail
    assert tail is not None
    return Found(tail)


def _head_of_sample() -> Found:
    facts, halved = [], True
    for name, profile in EXAMPLES.items():
        whole, part = (float(one.gdpt(0.0)) for one in (profile(), sampled(profile(), 0.1)))
        facts += [Fact(f"{name}: G(0)", whole), Fact(f"{name}, 10% sampled: G(0)", part)]
        halved &= part < whole / 2
    return Found(halved, tuple(facts))


CLAIMS = (
    Claim(
        "partial-order-implies",
        "theorem 2.1",
        "(ε₀, δ₀)-DP implies (ε, δ)-DP from δ = δ₀ + (1 - δ₀)(e^ε₀ - e^ε)⁺/(1 + e^ε₀) on",
        "yes",
        implied_is_enough,
        value=True,
    ),
    Claim(
        "partial-order-reached",
        "theorem 2.1",
        "and for no smaller δ: some (ε₀, δ₀)-DP mechanism has just that δ",
        "yes",
        implied_is_reached,
        value=True,
    ),
    Claim(
        "refinement-matters",
        "section 2 and figure 1",
        "naive and refined profiles differ near ε = 0, where the naive ones never fall below 1",
        "yes",
        _refinement_matters,
        value=True,
    ),
    *(
        Claim(
            f"laplace-{mu}-gdp",
            "section 3, about figure 1",
            f"the Laplace example is {mu}-GDP",
            "yes" if holds else "no",
            partial(_is_gdp, "Laplace", mu),
            value=holds,
        )
        for mu, holds in ((1, False), (2, True), (4, True))
    ),
    Claim(
        "laplace-meets-1",
        "section 3, about figure 1",
        "the curve of the Laplace example crosses the 1-GDP curve",
        "yes",
        partial(_meets, "Laplace", 1.0),
        value=True,
    ),
    *(
        Claim(
            f"icea-{mu}-gdp",
            "section 3, about figure 1",
            f"ICEA is {mu}-GDP",
            "no",
            partial(_is_gdp, "ICEA", mu),
            value=False,
        )
        for mu in (1, 2, 4)
    ),
    *(
        Claim(
            f"sgd-meets-{mu}",
            "section 3, about figure 1",
            f"the SGD curve crosses the {mu}-GDP curve",
            "left open",
            partial(_meets, "SGD", float(mu)),
            value=None,
        )
        for mu in (1, 2, 4)
    ),
    Claim(
        "curve-4-concave",
        "section 3, after figure 1",
        "δ_4 is concave near ε = 0",
        "yes",
        partial(_bends_upwards, 4, False),
        value=True,
    ),
    Claim(
        "curve-1-convex",
        "section 3, after figure 1",
        "δ_1 is convex near ε = 0",
        "yes",
        partial(_bends_upwards, 1, True),
        value=True,
    ),
    Claim(
        "lemma",
        "section 3, lemma",
        "δ_μ(ε) over the elementary function of the lemma tends to 1",
        "yes",
        _approximation,
        value=True,
    ),
    Claim("tail-laplace", "section 4", "the tail limit of Laplace", "0", partial(_tail, "Laplace")),
    Claim(
        "tail-sgd",
        "section 4",
        "the tail limit of SGD",
        "√½",
        partial(_tail, "SGD"),
        value=_root_half,
    ),
    Claim(
        "tail-sgd-seen",
        "section 4, about figure 2",
        "the value that the GDPT of SGD converges to",
        "0.7",
        partial(_tail, "SGD"),
    ),
    Claim("tail-icea", "section 4", "the tail limit of ICEA", "∞", partial(_tail, "ICEA")),
    *(
        Claim(
            f"{name.lower()}-gdp",
            "section 4",
            f"{name} is GDP for some μ",
            "yes" if holds else "no",
            partial(_verdict, name),
            value=holds,
        )
        for name, holds in (("Laplace", True), ("SGD", True), ("ICEA", False))
    ),
    Claim(
        "finite-at-zero",
        "section 4, about figure 2",
        "all three GDPTs are finite at ε = 0, as δ(0) < 1",
        "yes",
        _finite_at_zero,
        value=True,
    ),
    Claim(
        "slope-positive",
        "theorem 4.2",
        "∂μ(ε, δ)/∂ε is never negative",
        "yes",
        rises_in_epsilon,
        value=True,
    ),
    Claim(
        "failure",
        "section 4.2",
        "the order of δ_μ(ε_h) at μ = 6 and ε_h = 100",
        "10^-43",
        _order_of_failure,
    ),
    Claim(
        "clip-and-rectify",
        "theorem 4.4",
        "clipped and rectified, a mechanism with a head μ is μ-GDP",
        "yes",
        _clip_and_rectify,
        value=True,
    ),
    Claim("laplace-mu", "section 4.3", "the least μ of Laplace", "1.80", partial(least, laplace)),
    Claim("laplace-50", "section 4.3", "the same, 50% sampled", "0.98", partial(_sampled, 0.5)),
    Claim("laplace-10", "section 4.3", "the same, 10% sampled", "0.28", partial(_sampled, 0.1)),
    *COMPOSITION,
    Claim(
        "sampling-head",
        "appendix with the plots",
        "sampling lowers the GDPT near ε = 0 by much: to less than half at 10%",
        "yes",
        _head_of_sample,
        value=True,
    ),
    Claim(
        "sampling-tail",
        "appendix with the plots",
        "and hardly its tail: the tail limit of SGD, 10% sampled",
        "√½",
        _tail_of_sample,
        value=_root_half,
    ),
)
