"""Sequences whose δ is a formula, against mpmath, and the certificates of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import pytest
from flint import arb

from gdpbridge import measure
from gdpbridge.curves.base import Form
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.dpsgd import DPSGD
from gdpbridge.mechanisms.gaussian import GDP, Gaussian
from gdpbridge.numeric.flint_context import precision
from gdpbridge.transformations.sequence import Sequence
from gdpbridge_verify import verify
from gdpbridge_verify.document import Certificate, Range
from gdpbridge_verify.refusal import Malformed

REPLACED = DPSGD(noise_multiplier=0.8, sample_rate=0.1, steps=1, neighbours="replace-one")
ADDED = DPSGD(noise_multiplier=0.8, sample_rate=0.1, steps=1)
FIXED = DPSGD(noise_multiplier=0.8, sample_rate=0.1, steps=1, sampling="fixed-size")
FAILING = Sequence(parts=[Gaussian(sigma=1), ApproxDP(epsilon=0, delta=1e-6)])
SAMPLED = Gaussian(sigma=0.8, neighbours="add-remove").subsample(0.1)
STEP_FAILING = Sequence(parts=[SAMPLED, ApproxDP(epsilon=0, delta=1e-6)])
NOISE = Sequence(parts=[Gaussian(sigma=2), GDP(mu=0.75)])


def _density(u: mp.mpf, shift: float, rate: str = "0.1", sigma: str = "0.8") -> mp.mpf:
    """Return (1 - q)·N(0, σ²) + q·N(shift, σ²)."""
    q, width = mp.mpf(rate), mp.mpf(sigma)
    return (1 - q) * mp.npdf(u, 0, width) + q * mp.npdf(u, shift, width)


def _integral(eps: str, above: float, below: float) -> mp.mpf:
    """Return ∫ (p - e^ε·q)⁺ by quadrature on either side of where both are the same."""
    t = mp.exp(mp.mpf(eps))

    def gap(u: mp.mpf) -> mp.mpf:
        return _density(u, above) - t * _density(u, below)

    low, high = mp.mpf(-20), mp.mpf(40)
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle) < 0 else (low, middle)
    # quadrature stops where what is left is small beside 1
    size = _density(high, above)
    places = [high, *(high + mp.mpf(2) ** k / 16 for k in range(9))]
    return size * mp.quad(lambda u: gap(u) / size, places)


@pytest.mark.parametrize("eps", ["0", "0.5", "20"])
def test_a_step_is_its_integral_whatever_its_neighbours(eps: str) -> None:
    with mp.workdps(30), precision(160):
        for step, above, below in ((REPLACED, 1, -1), (ADDED, 1, 0), (FIXED, 2.0, 0)):
            assert step.curve.form is Form.SMOOTH
            right = _integral(eps, above, below)
            value = step.curve.enclose(arb(eps))
            for found, wanted in (
                (value.log(), mp.log(right)),
                (value.log_complement(), mp.log(1 - right)),
            ):
                assert abs(mp.mpf(found.mid().str(40, radius=False)) - wanted) < 1e-18 * (
                    1 + abs(wanted)
                )
                assert float(found.rad()) < 1e-30


def test_noise_that_may_fail_is_a_mixture() -> None:
    delta, eps = (
        FAILING.curve.delta_at(Fraction(1, 2)),
        FAILING.curve.epsilon_at(Fraction(1, 10**5)),
    )
    assert float(delta.low) == pytest.approx(0.238422470, abs=5e-10)
    assert delta.high - delta.low < 1e-18
    assert float(eps.low) == pytest.approx(4.40170826, abs=5e-9)
    assert eps.high - eps.low < 1e-15
    assert measure(FAILING).failure == pytest.approx(1.0001e-6)


def test_past_a_failure_the_supremum_is_at_zero() -> None:
    # (1 - p)·Φ(-M/2) = (1 - v)·Φ(-μ/2)
    with mp.workdps(30):
        share = (1 - mp.mpf("1e-6")) / (1 - mp.mpf("1e-5")) * mp.ncdf(-mp.mpf(1) / 2)
        right = -2 * mp.sqrt(2) * mp.erfinv(2 * share - 1)
    found = measure(FAILING, failure=1e-5)
    assert float(found.mu.low) <= float(right) + 1e-12
    assert float(found.mu.high) >= float(right) - 1e-12
    assert found.mu.high - found.mu.low < 1e-9
    assert found.attained_at == 0


@pytest.mark.parametrize(
    "profile", [REPLACED, ADDED, FIXED, FAILING, STEP_FAILING, NOISE], ids=lambda p: p.kind
)
def test_certificates_hold_and_tighter_ones_do_not(profile: Profile) -> None:
    document = measure(profile).certificate
    assert document is not None
    assert verify(document).valid
    mu = document.claim.mu
    less = str(float(mu.low) * 0.9999)
    more = str(float(mu.high) * 1.0001)
    assert not verify(_claiming(document, low="0", high=less)).valid
    assert not verify(_claiming(document, low=more, high=str(2 * float(more)))).valid


def test_a_formula_takes_no_other_evidence_and_no_failure_below_its_own() -> None:
    document = measure(FAILING).certificate
    assert document is not None
    claim = replace(document.claim, failure_probability="9e-7")
    assert not verify(replace(document, claim=claim)).valid
    evidence = replace(document.evidence, directions=2 * document.evidence.directions)
    with pytest.raises(Malformed):
        verify(replace(document, evidence=evidence))
    evidence = replace(document.evidence, directions=())
    assert not verify(replace(document, evidence=evidence)).valid


def _claiming(document: Certificate, low: str, high: str) -> Certificate:
    return replace(document, claim=replace(document.claim, mu=Range(low=low, high=high)))
