"""What the paper says of composition and of refining, each with what computes ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial

import numpy as np
from flint import arb

from gdpbridge.compose import Part, compose
from gdpbridge.convert import delta_at, epsilon_at, mu_of_pair
from gdpbridge.curves.constants import interval_around
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.numeric.exact import exact
from gdpbridge.numeric.kinds import ball
from gdpbridge.paper.examples import (
    REPEATED_EPSILON,
    TIMES,
    composed,
    least_mu,
    repeated,
)
from gdpbridge.paper.finding import Claim, Fact, Found
from gdpbridge.paper.order import worst_event
from gdpbridge.paper.tables import comparison
from gdpbridge.specification.load import load_profile

__all__ = ["COMPOSITION", "least", "rises_in_epsilon"]

_PURE = (0.01, 0.1, 0.2, 1.0, 5.0, 20.0)


def least(profile: Callable[[], Profile]) -> Found:
    """Return the least μ of an example."""
    return Found(least_mu(profile()))


def _pure_mu() -> arb:
    """Return -2Φ⁻¹(1/(1 + e^0.2)), as an error function's inverse."""
    at = 1 / (1 + ball(exact(REPEATED_EPSILON)).exp())
    return 2 * arb(2).sqrt() * (2 * at).erfcinv()


def rises_in_epsilon() -> Found:
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


COMPOSITION = (
    Claim(
        "pure-formula",
        "theorem 5.1",
        "the least μ of every 0.2-DP mechanism, by the theorem's formula",
        "-2Φ⁻¹(1/(1 + e^0.2))",
        partial(least, repeated),
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
    Claim("pure-mu", "section 5.2", "the least μ of 0.2-DP", "0.2505", partial(least, repeated)),
    Claim(
        "laplace-02-mu",
        "section 5.2",
        "the same for the Laplace mechanism",
        "0.2391",
        partial(least, _laplace_of_same_epsilon),
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
        partial(least, composed),
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
)
