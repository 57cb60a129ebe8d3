"""Certificates of random allocation: the checker's bound is above the truth, and close to it."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from changes import changes, outcome
from scipy.special import ndtr

import gdpbridge as gdp
from gdpbridge import profiles, verify
from gdpbridge.certificate.reach import one_sided_because, uncertifiable_because
from gdpbridge_verify import allocation
from gdpbridge_verify.allocation import allocated, takes_too_long
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.law import Law
from gdpbridge_verify.refusal import OutOfWork

mpf = mpmath.mpf


def _true_delta(mu: float, t: float) -> tuple[float, float]:
    """E(M - t)⁺ and E(1 - t·M)⁺ of two steps, M = (X + Y)/2: over Y, of an X that is lognormal."""

    def ncdf(z: mpf) -> mpf:
        return mpmath.ncdf(z)

    def call(k: mpf) -> mpf:
        # E(X - k)⁺
        if k <= 0:
            return 1 - k
        z = mpmath.log(k) / mu + mpf(mu) / 2
        return ncdf(mu - z) - k * ncdf(-z)

    def over(y: mpf, k: float) -> mpf:
        return mpmath.npdf(y) * call(2 * k - mpmath.exp(mu * y - mpf(mu) ** 2 / 2))

    def integral(k: float) -> mpf:
        kink = (mpmath.log(2 * k) + mpf(mu) ** 2 / 2) / mu
        return mpmath.quad(lambda y: over(y, k), [-12, -4, 0, kink, kink + 4, kink + 12]) / 2

    forward = integral(t)
    # (1 - tM)⁺ = (tM - 1)⁺ + 1 - tM
    backward = t * integral(1 / t) + 1 - t
    return float(forward), float(backward)


def test_the_law_dominates() -> None:
    """δ of two steps is at least that by quadrature, in both orders, and not much more."""
    of, mu = Arithmetic(96, Work()), Fraction(3, 4)
    laws = [(Law([(one, 1)], Fraction(0), of), one.failure) for one in allocated(mu, 2)[:2]]
    for eps in (Fraction(0), Fraction(1, 3), Fraction(1)):
        wanted = _true_delta(float(mu), float(mpmath.exp(float(eps))))
        for (law, failure), true in zip(laws, wanted, strict=True):
            assert failure < 1e-25
            found = float(law.enclose(of.exactly(eps)).low)
            assert found >= true - 1e-12
            assert found <= true * 1.01 + 1e-7


def _spread(law: dict[int, mpf], other: dict[int, mpf], h: mpf) -> dict[int, mpf]:
    """The law of a sum of two, each pair by itself, on the places e^{ih} about it."""
    found: dict[int, mpf] = {}
    for (i, p), (j, q) in itertools.product(law.items(), other.items()):
        value = mpmath.exp(i * h) + mpmath.exp(j * h)
        place = int(mpmath.floor(mpmath.log(value) / h))
        low, high = mpmath.exp(place * h), mpmath.exp((place + 1) * h)
        share = (value - low) / (high - low)
        found[place] = found.get(place, mpf(0)) + p * q * (1 - share)
        found[place + 1] = found.get(place + 1, mpf(0)) + p * q * share
    return found


@pytest.mark.parametrize("seed", range(3))
def test_sums_pair_by_pair(seed: int) -> None:
    """The law of a sum is that of all pairs, one by one in mpmath, less hardly anything."""
    rng = random.Random(seed)
    step, first = Fraction(rng.randint(30, 90), 256), rng.randint(-9, 3)
    one = [rng.randint(0, 1 << 189) for _ in range(rng.randint(3, 12))]
    other = one if seed == 0 else [rng.randint(0, 1 << 189) for _ in range(rng.randint(3, 12))]
    start = first if seed == 0 else first + rng.randint(-4, 4)
    laws = [allocation._Law(0, first, one), allocation._Law(0, start, other)]
    found = allocation._sum(*laws, step, Arithmetic(448, Work()))
    with mpmath.workdps(70):
        unit = mpf(2) ** -192
        mine = [
            {law.first + number: mass * unit for number, mass in enumerate(law.masses)}
            for law in laws
        ]
        wanted = _spread(*mine, mpf(step.numerator) / step.denominator)
        shown = {found.first + number: mass * unit for number, mass in enumerate(found.masses)}
        for place in set(wanted) | set(shown):
            off = wanted.get(place, mpf(0)) - shown.get(place, mpf(0))
            assert -(mpf(10) ** -60) <= off <= mpf(10) ** -40


def _graded(place: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss' rule for a normal variable on pieces that are the finer, the nearer to a place."""
    steps = [0.0, *(2.0**power for power in range(-15, 0))]
    ends = [*map(float, range(-12, 14)), *(place + sign * one for sign in (-1, 1) for one in steps)]
    ends = sorted({min(max(end, -12.0), 13.0) for end in ends})
    x, w = np.polynomial.legendre.leggauss(8)
    low, high = np.array(ends[:-1])[:, None], np.array(ends[1:])[:, None]
    nodes = ((high - low) * x + high + low) / 2
    weights = (high - low) * w / 2 * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    return nodes.ravel(), weights.ravel()


def _of_three(mu: float, t: float) -> tuple[float, float]:
    """E(M - t)⁺ and E(1 - t·M)⁺ of three steps: a formula of one, quadrature over two others."""

    def call(k: np.ndarray) -> np.ndarray:
        # E(X - k)⁺ of a lognormal X
        safe = np.where(k > 0, k, 1.0)
        z = np.log(safe) / mu + mu / 2
        return np.where(k > 0, ndtr(mu - z) - safe * ndtr(-z), 1 - k)

    def kink(k: float) -> float:
        # where X is k
        return math.log(k) / mu + mu / 2 if k > 0 else -12.0

    def over(t: float) -> float:
        total = 0.0
        for y, weight in zip(*_graded(kink(3 * t)), strict=True):
            left = 3 * t - math.exp(mu * y - mu**2 / 2)
            nodes, weights = _graded(kink(left))
            total += weight * (weights @ call(left - np.exp(mu * nodes - mu**2 / 2)))
        return float(total) / 3

    return over(t), t * over(1 / t) + 1 - t


@pytest.mark.parametrize("mu", [pytest.param(Fraction(1, 2), marks=pytest.mark.deep), Fraction(2)])
def test_three_steps_by_quadrature(mu: Fraction) -> None:
    """δ of three steps is at least what a rule for two of them and a formula for one says."""
    of = Arithmetic(96, Work())
    laws = [(Law([(one, 1)], Fraction(0), of), one.failure) for one in allocated(mu, 3)[:2]]
    for eps in (Fraction(0), Fraction(1, 2), Fraction(2)):
        wanted = _of_three(float(mu), math.exp(eps))
        for (law, failure), true in zip(laws, wanted, strict=True):
            found = law.enclose(of.exactly(eps)) + of.exactly(failure)
            assert float(found.high) >= true - 1e-10
            assert float(found.low) <= true * 1.01 + 1e-6


@pytest.mark.parametrize(("steps", "epochs"), [pytest.param(5, 1, marks=pytest.mark.deep), (12, 2)])
def test_drawn_losses(steps: int, epochs: int) -> None:
    """Draws of the mechanism itself: δ is within what chance allows of the bound."""
    rng, sigma, count = np.random.default_rng(steps), 1.0, 60_000
    losses = np.zeros(count)
    for _ in range(epochs):
        noise = rng.normal(0, sigma, (count, steps))
        noise[:, 0] += 1.0
        logs = noise / sigma**2 - 1 / (2 * sigma**2)
        losses += np.log(np.exp(logs).mean(axis=1))
    bound = allocation.allocated(Fraction(1), steps)
    law = Law([(bound.forward, epochs)], Fraction(0), Arithmetic(96, Work()))
    for eps in (0.0, 0.25, 0.75):
        gains = np.maximum(-np.expm1(eps - losses), 0)
        mean, error = gains.mean(), gains.std() / math.sqrt(count)
        # with the record against without it
        shown = float(law.enclose(law.of.exactly(Fraction(eps))).high)
        assert mean - 5 * error <= shown <= (mean + 5 * error) * 1.01


def test_masses_of_both_orders_are_those_of_one_pair() -> None:
    """Q has e^{-y} times the masses of P, and neither has more than 1."""
    forward, backward, _ = allocated(Fraction(1), 4)
    of = Arithmetic(128, Work())
    unit = forward.unit.enclosed(of)
    assert list(backward.places) == [-place for place in reversed(forward.places)]
    for place, p, q in zip(
        forward.places, forward.masses(of), reversed(backward.masses(of)), strict=True
    ):
        off = p * (-(unit * place)).exp() - q
        assert off.low <= 1e-30
        assert off.high >= -1e-30
    for one in (forward, backward):
        total = sum(one.masses(of), of.exactly(one.failure))
        assert total.high >= 1
        assert total.low <= 1 + 1e-25


def test_several_runs_are_more_epochs() -> None:
    """As many as the kind has; of more there is no certificate."""
    one = profiles.RandomAllocation(noise_multiplier=2, steps=2, epochs=2)
    more = profiles.RandomAllocation(noise_multiplier=2, steps=2, epochs=4)
    assert one.compose(2).certified_as == more
    assert not uncertifiable_because(one.compose(2))
    assert one.as_runs(17) is None


@cache
def text_of() -> str:
    """The JSON text of a certificate."""
    found = gdp.measure(profiles.RandomAllocation(noise_multiplier=1, steps=4), tol=1e-6)
    document = found.certificate
    assert document is not None
    return document.to_json()


def test_what_is_still_accepted_is_still_true() -> None:
    """Whatever field is changed: accepted are only claims of at least as much."""
    document = json.loads(text_of())
    assert outcome(document) == "valid"
    least = Fraction(document["claim"]["mu"]["high"])
    tried = random.Random(7).sample(list(changes(document)), 60)
    for where, changed in tried:
        if outcome(changed) != "valid":
            continue
        claim, spec = changed["claim"], changed["mechanism"]
        assert claim["statement"] == "approximate", where
        assert claim["profile_is"] in (None, "bound"), where
        assert Fraction(claim["mu"]["low"]) == 0, where
        assert claim["verdict"] in ("unknown", "not-gdp"), where
        sigma = float(spec["noise_multiplier"])
        # the interval is wider than what a millionth of a percent changes
        as_private = sigma > 1 - 1e-8 and Fraction(spec["steps"]) >= 4 and spec["epochs"] == "1"
        wider = claim["mu"]["high"] == "inf" or Fraction(claim["mu"]["high"]) >= least
        assert as_private, where
        assert wider or Fraction(claim["failure_probability"]) > Fraction(1, 10**10) or sigma > 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("steps", "3"), ("steps", "1"), ("steps", "2.5"), ("steps", "0"), ("steps", "100000"),
        ("steps", "9999"), ("epochs", "2"), ("epochs", "0"), ("epochs", "33"),
        ("noise_multiplier", "0.1"), ("noise_multiplier", "inf"),
        ("noise_multiplier", "101"), ("neighbours", "replace-one"), ("neighbours", None),
        ("more", "1"),
    ],
)  # fmt: skip
def test_other_parameters_are_refused(name: str, text: str | None) -> None:
    """Less noise, fewer steps, more epochs, or what is out of range."""
    document = json.loads(text_of())
    document["mechanism"][name] = text
    assert outcome(document) != "valid"


def test_many_are_refused_before_any_work() -> None:
    """What would take long is refused at once, and said before a measurement."""
    assert takes_too_long(Fraction(1, 100), 10_000)
    with pytest.raises(OutOfWork):
        allocated(Fraction(1, 100), 10_000)
    slow = profiles.RandomAllocation(noise_multiplier=50, steps=1000)
    assert "takes so long" in slow.beyond_certificates
    document = json.loads(text_of())
    inner = {f"parts.{n}.{key}": one for n in (0, 1) for key, one in document["mechanism"].items()}
    document["mechanism"] = {"kind": "sequence", "neighbours": "add-remove"} | inner
    assert outcome(document) != "valid"


def test_a_head_claims_the_checkers_delta_at_its_end() -> None:
    """δ(ε_h) is a bit above what was measured, as the checker's bound is."""
    found = gdp.measure(profiles.RandomAllocation(noise_multiplier=1, steps=4), 0.01, eps_h=1)
    document = found.certificate
    assert document is not None
    assert verify(document).valid
    claimed = Fraction(document.claim.failure_probability)
    assert found.failure <= claimed <= found.failure * Fraction(101, 100)


def test_cells_end_where_the_checkers_bound_is_below_p() -> None:
    """Which may be a little after the measured one is, so that they once ended too early."""
    found = gdp.measure(profiles.RandomAllocation(noise_multiplier=2, steps=2), 1e-2)
    assert found.certificate is not None
    assert verify(found.certificate).valid
    ends = found.certificate.evidence.directions or ()
    assert all(one.cells for one in ends)


def test_a_calibrated_noise_is_shown_to_be_safe_alone() -> None:
    """That a little less noise misses the target is not shown by a bound from above."""
    profile = profiles.RandomAllocation(noise_multiplier=1, steps=4)
    assert "the value beyond misses the target is not shown" in one_sided_because(profile)
    assert not one_sided_because(profiles.Gaussian(sigma=1))
