"""The numbers in the paper's running text, each with what computes ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial

import numpy as np
from flint import arb

from gdpbridge.amplify.clip_rectify import clip_and_rectify
from gdpbridge.compose import Part, compose
from gdpbridge.convert import delta_at, epsilon_at, mu_of_pair
from gdpbridge.curves.constants import interval_around
from gdpbridge.gaussian.ball import log_delta_of, log_delta_series
from gdpbridge.identify import Verdict, identify
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.numeric.exact import exact
from gdpbridge.numeric.kinds import ball
from gdpbridge.paper.examples import (
    EXAMPLES,
    REPEATED_EPSILON,
    TIMES,
    cloak,
    composed,
    laplace,
    least_mu,
    naive_cloak,
    naive_sgd,
    repeated,
    sampled,
    sgd,
)
from gdpbridge.paper.finding import Claim, Fact, Found
from gdpbridge.paper.order import implied_is_enough, implied_is_reached, worst_event
from gdpbridge.paper.sides import sides
from gdpbridge.paper.tables import comparison
from gdpbridge.specification.load import load_profile

__all__ = ["CLAIMS"]

_PURE = (0.01, 0.1, 0.2, 1.0, 5.0, 20.0)


# --- the three examples ----------------------------------------------------------------------


def _least(profile: Callable[[], Profile]) -> Found:
    return Found(least_mu(profile()))


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


# --- section 5 -------------------------------------------------------------------------------


def _pure_mu() -> arb:
    """Return -2Φ⁻¹(1/(1 + e^0.2)), as an error function's inverse."""
    at = 1 / (1 + ball(exact(REPEATED_EPSILON)).exp())
    return 2 * arb(2).sqrt() * (2 * at).erfcinv()


def _rises_in_epsilon() -> Found:
    """Whether μ(ε, δ) rises with ε: proved at neighbouring ε, and by R(y) > 0 there."""
    steps, slopes = [], []
    for delta, eps in itertools.product(("1e-9", "0.001", "0.5", "0.9"), ("0", "1", "10")):
        before = mu_of_pair(eps, delta)
        after = mu_of_pair(Decimal(eps) + Decimal("0.01"), delta)
        steps.append(after.low > before.high)
        slopes += [interval_around(partial(_slope, eps, end)) for end in (before.low, before.high)]
    least = min(slopes, key=lambda one: one.low)
    facts = (
        Fact("pairs (ε, δ)", len(steps)),
        Fact("pairs at which μ(ε + 0.01, δ) is proved to be above μ(ε, δ)", sum(steps)),
        Fact("least ∂μ/∂ε = R(ε/μ + μ/2) at them; R = Φ(-z)/φ(z) is positive", least),
    )
    return Found(all(steps) and least.low > 0, facts)


def _slope(eps: str, mu: Decimal) -> arb:
    """Return R(ε/μ + μ/2), with R(z) = Φ(-z)/φ(z)."""
    at = ball(exact(mu))
    y = ball(exact(eps)) / at + at / 2
    return (arb.pi() / 2).sqrt() * (y * y / 2).exp() * (y / arb(2).sqrt()).erfc()


def _ends_at_epsilon() -> Found:
    """Whether δ of every ε₀-DP mechanism is 0 from ε₀ on, and not before."""
    base = Fraction(5, 4)
    after = [worst_event(base, Fraction(0), base * factor) for factor in (1, 2, 10)]
    before = worst_event(base, Fraction(0), base - Fraction(1, 1000))
    facts = (
        Fact(
            "largest δ at e^ε = e^ε₀, 2·e^ε₀ and 10·e^ε₀, for e^ε₀ = 5/4",
            interval_around(max(after)),
        ),
        Fact("largest δ at e^ε = e^ε₀ - 0.001", interval_around(before)),
        Fact("least ε with δ = 0, for ε₀ = 0.2", epsilon_at(repeated(), 0)),
    )
    return Found(max(after) == 0 < before, facts)


def _linear_bound() -> Found:
    facts, holds = [], True
    for eps in _PURE:
        least = least_mu(PureDP(epsilon=eps))
        bound = interval_around(partial(_line, eps))
        facts += [Fact(f"ε = {eps:g}: least μ", least), Fact(f"ε = {eps:g}: √(π/2)·ε", bound)]
        holds &= least.high <= bound.low
    return Found(holds, tuple(facts))


def _line(eps: float) -> arb:
    return (arb.pi() / 2).sqrt() * ball(exact(eps))


def _falls() -> Found:
    eps = np.linspace(0.0, REPEATED_EPSILON, 201)
    values = np.asarray(repeated().gdpt(eps))
    facts = (
        Fact("points of ε, in floating point", eps.size),
        Fact("G(0)", float(values[0])),
        Fact("G(0.2)", float(values[-1])),
    )
    return Found(bool((np.diff(values) < 0).all()), facts)


@cache
def _laplace_of_same_epsilon() -> Laplace:
    return Laplace(scale=1, sensitivity=REPEATED_EPSILON)


def _laplace_is_better() -> Found:
    ours, pure = least_mu(_laplace_of_same_epsilon()), least_mu(repeated())
    return Found(ours.high < pure.low, (Fact("Laplace", ours), Fact("ε-DP", pure)))


def _times(profile: Callable[[], Profile]) -> Found:
    return Found(compose([Part(profile(), TIMES)]).mu)


def _basic() -> Found:
    end = composed().curve.end
    assert end is not None
    return Found(
        interval_around(end),
        (Fact("δ of the exact profile at ε = 9.99", delta_at(composed(), 9.99)),),
    )


def _renyi_is_loose() -> Found:
    rows = {row.name: row.epsilons for row in comparison().rows}
    facts = [
        Fact(f"{name}, δ = {comparison().deltas[0]:g}", rows[name][0]) for name in ("Basic", "RDP")
    ]
    pairs = zip(rows["RDP"], rows["Basic"], strict=True)
    return Found(all(renyi.low > basic.high for renyi, basic in pairs), tuple(facts))


def _central_limit() -> Found:
    """The μ of the central limit theorem, ε₀·√k, beside the least one."""
    ours = interval_around(lambda: ball(exact(REPEATED_EPSILON)) * arb(TIMES).sqrt())
    least = least_mu(composed())
    facts = (
        Fact("least μ of the exact profile", least),
        Fact("√2 is below it, so that the composition is not √2-GDP", ours.high < least.low),
    )
    return Found(ours, facts)


# --- appendix on refining --------------------------------------------------------------------


@cache
def _least_noise() -> tuple[Interval, Interval, Interval]:
    """Return σ/C, ε and δ: the least noise of projected noisy SGD that implies (0.2, e⁻²)-DP.

    The noise is bisected, with proved bounds of the refined δ(0.2) on either side; the pair that
    implies it is where the refined profile touches the naive one.
    """
    target = interval_around(lambda: arb(-2).exp())
    low, high = 8.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        below, above = _noisy(middle).delta_bounds(0.2)
        if above <= target.lower:
            high = middle
        elif below > target.upper:
            low = middle
        else:
            break
    # ε falls as σ grows
    touching = [interval_around(_noisy(noise).curve.corners()[1]) for noise in (low, high)]
    eps = Interval(min(one.low for one in touching), max(one.high for one in touching))
    # δ = e^{-σε/C} falls in both
    delta = Interval(
        interval_around(partial(_naive_delta, high, eps.high)).low,
        interval_around(partial(_naive_delta, low, eps.low)).high,
    )
    return Interval(low, high), eps, delta


def _naive_delta(noise: float, eps: Decimal) -> arb:
    return (-ball(Fraction(noise)) * ball(Fraction(eps))).exp()


def _noisy(noise: float) -> Profile:
    text = "sigma = -log(delta)/eps"
    return load_profile({"kind": "tradeoff", "text": text, "set": {"sigma": noise}})


def _noise(part: int) -> Found:
    return Found(_least_noise()[part])


def _plain_noise() -> Found:
    return Found(interval_around(2 / Fraction(1, 5)))


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
        _rises_in_epsilon,
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
    Claim("laplace-mu", "section 4.3", "the least μ of Laplace", "1.80", partial(_least, laplace)),
    Claim("laplace-50", "section 4.3", "the same, 50% sampled", "0.98", partial(_sampled, 0.5)),
    Claim("laplace-10", "section 4.3", "the same, 10% sampled", "0.28", partial(_sampled, 0.1)),
    Claim(
        "pure-formula",
        "theorem 5.1",
        "the least μ of every 0.2-DP mechanism, by the theorem's formula",
        "-2Φ⁻¹(1/(1 + e^0.2))",
        partial(_least, repeated),
        value=_pure_mu,
    ),
    Claim(
        "linear-bound",
        "theorem 5.1",
        "the least μ of every ε-DP mechanism is at most √(π/2)·ε",
        "yes",
        _linear_bound,
        value=True,
    ),
    Claim(
        "pure-ends",
        "section 5.1",
        "the δ of ε₀-DP, and so its GDPT, is 0 from ε₀ on",
        "yes",
        _ends_at_epsilon,
        value=True,
    ),
    Claim(
        "pure-falls",
        "section 5.1",
        "the GDPT of ε₀-DP falls strictly on [0, ε₀)",
        "yes",
        _falls,
        value=True,
    ),
    Claim(
        "laplace-is-better",
        "section 5.1, and the appendix with its figure",
        "at the same ε, Laplace has a smaller μ than ε-DP promises",
        "yes",
        _laplace_is_better,
        value=True,
    ),
    Claim(
        "basic", "section 5.2", "fifty 0.2-DP mechanisms by basic composition: ε-DP", "10", _basic
    ),
    Claim(
        "renyi-is-loose",
        "section 5.2",
        "Rényi composition gives more than basic composition, at every δ of table 1",
        "yes",
        _renyi_is_loose,
        value=True,
    ),
    Claim("pure-mu", "section 5.2", "the least μ of 0.2-DP", "0.2505", partial(_least, repeated)),
    Claim(
        "laplace-02-mu",
        "section 5.2",
        "the same for the Laplace mechanism",
        "0.2391",
        partial(_least, _laplace_of_same_epsilon),
    ),
    Claim(
        "pure-mu-50",
        "section 5.2",
        "fifty 0.2-DP mechanisms: μ",
        "1.771",
        partial(_times, repeated),
    ),
    Claim(
        "laplace-mu-50",
        "section 5.2",
        "the same for the Laplace mechanism",
        "1.691",
        partial(_times, _laplace_of_same_epsilon),
    ),
    Claim(
        "summary",
        "section 5.2",
        "the least μ of their exact profile",
        "1.420",
        partial(_least, composed),
    ),
    Claim(
        "central-limit",
        "section 5.2",
        "the μ that the central limit theorem gives for them",
        "√2",
        _central_limit,
        value=lambda: arb(2).sqrt(),
    ),
    Claim(
        "noise-plain",
        "appendix on refining",
        "projected noisy SGD, (0.2, e⁻²)-DP without refinement: σ/C",
        "10",
        _plain_noise,
    ),
    Claim(
        "noise-epsilon",
        "appendix on refining",
        "the ε that does it with less",
        "0.334",
        partial(_noise, 1),
    ),
    Claim("noise-delta", "appendix on refining", "its δ", "0.067", partial(_noise, 2)),
    Claim("noise-refined", "appendix on refining", "its σ/C", "8.086", partial(_noise, 0)),
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
