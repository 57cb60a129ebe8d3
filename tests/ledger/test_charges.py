"""What is charged is never less than what is proved, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.ledger.amounts import (
    Amount,
    amount_text,
    failure_ceiling,
    failure_of,
    from_text,
    mu_of,
    square_of,
    within,
)
from gdpbridge.ledger.charges import charge_for, charge_of_numbers


def test_a_failure_that_rounds_to_one_is_not_charged() -> None:
    """δ(ε_h) = 1 - 7e-36 is 1 in the digits that are kept: nothing is left to be charged for."""
    found = gdp.measure(gdp.profiles.Gaussian(sigma=0.04), eps_h="1e-9")
    assert found.mu.high.is_finite()
    assert found.failure == 1
    with pytest.raises(InputError, match="no failure probability below 1"):
        charge_for(found)


def test_a_mechanism_is_charged_its_upper_end() -> None:
    """μ and p of a charge are at least those that are proved, and the μ² is that of the μ."""
    found = gdp.measure(gdp.profiles.Laplace(scale=0.5), eps_h=1)
    charge = charge_for(found)
    assert charge.mu >= Fraction(found.mu.high)
    assert charge.amount == Amount(charge.mu**2, charge.amount.failure)
    assert found.failure <= charge.amount.failure <= found.failure + Fraction(1, 10**79)


def test_concentrated_privacy_is_charged_its_own_mu() -> None:
    """ρ-zCDP is charged the least μ that follows from it, and k runs of it √k times as much."""
    one, four = (
        charge_for(gdp.profiles.ZCDP(rho=0.5)),
        charge_for(gdp.profiles.ZCDP(rho=0.5).compose(4)),
    )
    least = Fraction("1.283912540113")
    assert least <= one.mu <= least + Fraction(1, 10**9)
    assert 2 * least <= four.mu <= 2 * least + Fraction(1, 10**9)


def test_a_failure_that_is_asked_for_is_rounded_up() -> None:
    """1/3 is longer than what a measurement takes: the next number above is charged."""
    charge = charge_for(gdp.profiles.ApproxDP(epsilon=1, delta=0.1), failure="1/3")
    assert charge.amount.failure >= Fraction(1, 3)
    assert charge.amount.failure < Fraction(1, 3) + Fraction(1, 10**59)


def test_a_tiny_mu_is_charged_as_the_least_one() -> None:
    """A μ below 1e-30 is charged as 1e-30, not as less and not as nothing."""
    charge = charge_for(gdp.measure(gdp.profiles.GDP(mu=1e-40), tol="1e-60"))
    assert charge.mu == Fraction(1, 10**30)


def test_numbers_that_a_certificate_proves_exactly_are_taken() -> None:
    """The very μ and p of a certificate may be stated, and nothing below them."""
    certificate = gdp.measure(gdp.profiles.Laplace(scale=0.5), eps_h=1).certificate
    proved = charge_of_numbers(certificate=certificate)
    same = charge_of_numbers(mu=proved.mu, failure=proved.amount.failure, certificate=certificate)
    assert same.amount == proved.amount
    for mu, failure in [
        (proved.mu - Fraction(1, 10**30), proved.amount.failure),
        (proved.mu, proved.amount.failure - Fraction(1, 10**70)),
    ]:
        with pytest.raises(InputError, match="certificate"):
            charge_of_numbers(mu=mu, failure=failure, certificate=certificate)


def test_the_relation_of_a_certificate_is_that_of_its_parts() -> None:
    """What is around the parts may name none; the charge and the claim are for theirs."""
    answer = gdp.profiles.RandomizedResponse(noise_parameter=0.5, buckets=4)
    certificate = gdp.measure(answer.compose(2)).certificate
    assert certificate is not None
    text = certificate.to_json().replace('"neighbours": "replace-one"', '"neighbours": null', 1)
    assert charge_of_numbers(certificate=text.encode()).neighbours == "replace-one"
    found = gdp.verify(text.encode())
    assert found.valid
    assert found.claims[-1].endswith("for replace-one neighbours")


def test_what_fills_a_budget_fits() -> None:
    """A limit may be reached in both parts, and passed in neither."""
    limit, more = Amount(Fraction(2), Fraction(1, 4)), Fraction(1, 10**80)
    assert limit.fits(limit)
    assert not Amount(limit.square + more, limit.failure).fits(limit)
    assert not Amount(limit.square, limit.failure + more).fits(limit)


@pytest.mark.parametrize(
    ("read", "least", "most"),
    [
        (mu_of, Fraction(1, 10**30), Fraction(10**6)),
        (square_of, Fraction(1, 10**60), Fraction(10**12)),
    ],
)
def test_the_ends_of_the_ranges_are_allowed(read: object, least: Fraction, most: Fraction) -> None:
    """The least and the largest amount are amounts; what is beyond them is none."""
    assert callable(read)
    assert (read("field", least), read("field", most)) == (least, most)
    for beyond in (least * Fraction(999, 1000), most * Fraction(1001, 1000)):
        with pytest.raises(InputError):
            read("field", beyond)


def test_failures_round_up_and_stay_below_one() -> None:
    """A computed p is rounded up to 80 places, from 1e-300 on; what rounds to 1 is refused."""
    assert failure_ceiling("p", Fraction(1, 10**400)) == failure_of("p", Fraction(1, 10**300))
    assert failure_ceiling("p", Fraction(1, 3) + Fraction(1, 10**100)) == Fraction(
        int("3" * 79 + "4"), 10**80
    )
    assert failure_of("p", 1 - Fraction(1, 10**80)) == 1 - Fraction(1, 10**80)
    with pytest.raises(InputError):
        failure_of("p", 1 - Fraction(1, 10**90))


def test_a_denominator_of_the_largest_size_is_kept() -> None:
    """Sums are exact up to denominators of 240 digits, and rounded up beyond."""
    # 10^80 divides it, so that it is the common denominator
    amount = Fraction(1, 10**240)
    assert within(Fraction(0), amount) == amount
    assert within(Fraction(0), Fraction(1, 10**241)) == Fraction(1, 10**80)


def test_a_number_of_forty_places_is_kept() -> None:
    """A μ with a denominator of 10^40 is not rounded."""
    assert mu_of("mu", Fraction(1, 10**40) + 1) == 1 + Fraction(1, 10**40)


def test_texts_of_the_largest_size() -> None:
    """300 places are written out, more as a fraction; 20,000 characters are read, no more."""
    assert amount_text(Fraction(1, 10**300)) == "0." + "0" * 299 + "1"
    assert "/" in amount_text(Fraction(1, 10**301))
    assert from_text("1" * 20_000) == Fraction(10**20_000 - 1, 9)
    with pytest.raises(ValueError, match="not an amount"):
        from_text("1" * 20_001)
