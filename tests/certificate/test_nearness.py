"""Certificates of discrete Gaussian noise that is nearly one Gaussian mechanism."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import pytest
from changes import accepted, put

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge_verify import nearness
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.refusal import OutOfWork

P = gdp.profiles
CENSUS = Path(__file__).parents[2] / "examples" / "census"
Document = dict[str, Any]


@cache
def level() -> tuple[gdp.Profile, Document]:
    """A level of the units file with little noise, and its certificate."""
    profile = gdp.load_profile(CENSUS / "dhc_units.toml").parts[3]
    certificate = gdp.measure(profile).certificate
    assert certificate is not None
    return profile, json.loads(certificate.to_json())


def test_what_is_claimed() -> None:
    """Both ends are about the root of the sum of squares, and no evidence is needed."""
    profile, document = level()
    assert gdp.verify(document).valid
    square = sum(one.times / Fraction(one.base.sigma) ** 2 for one in profile.parts)
    low, high = (Fraction(document["claim"]["mu"][end]) for end in ("low", "high"))
    assert low**2 <= square < high**2 < square * (1 + Fraction(1, 10**5))
    assert document["evidence"]["directions"] == [{"pieces": [], "cells": []}]


def test_the_whole_file_of_units() -> None:
    """Its 160 numbers have one certificate, of the least μ to nine digits."""
    profile = gdp.load_profile(CENSUS / "dhc_units.toml")
    certificate = gdp.measure(profile).certificate
    assert certificate is not None
    assert gdp.verify(certificate).valid
    assert len(certificate.to_json()) < 20_000
    high = float(certificate.claim.mu.high)
    assert high == pytest.approx(math.sqrt(2 * 7.7005), rel=1e-8)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        # below what the steps of the losses need, by a tenth of it
        (("claim", "mu", "high"), "1.39370011147"),
        (("claim", "mu", "high"), "1.39370015"),
        # above the tail parameter
        (("claim", "mu", "low"), "1.39370012"),
        (("claim", "mu_tail", "high"), "1.3937"),
        (("claim", "profile_is"), "bound"),
        (("mechanism", "parts.0.base.sigma"), "2.266"),
        (("mechanism", "parts.0.times"), "3"),
        (("mechanism", "parts.0.base.sensitivity"), "2"),
        (("mechanism", "parts.0.base.kind"), "laplace"),
        (("evidence", "tail_from"), "0x1p+3"),
        (("evidence", "witness"), "0x1p+0"),
        (("evidence", "directions"), []),
        (
            ("evidence", "directions"),
            [{"pieces": [], "cells": [{"low": "0x0p+0", "high": "0x1p+0", "centre": None}]}],
        ),
        (("evidence", "directions"), [{"pieces": [{"start": "0x0p+0"}], "cells": []}]),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_is_refused(path: tuple[str, ...], value: object) -> None:
    """Nothing that is false, or of another form, is accepted."""
    _, document = level()
    at: Any = document
    for name in path:
        at = at[name]
    assert at != value
    assert not accepted(put(document, path, value))


def test_a_failure_and_a_head() -> None:
    """Other statements are proved by the same bound, and their lower ends by δ at an ε."""
    profile, _ = level()
    for options in ({"failure": 1e-10}, {"eps_h": 4}):
        certificate = gdp.measure(profile, **options).certificate
        assert certificate is not None
        assert gdp.verify(certificate).valid
        assert float(certificate.claim.mu.high) == pytest.approx(1.3937001, rel=1e-5)
        document = json.loads(certificate.to_json())
        low = str(Fraction(certificate.claim.mu.low) + Fraction(1, 10**4))
        assert not accepted(put(document, ("claim", "mu", "low"), f"{float(Fraction(low)):.8f}"))


def test_answers() -> None:
    """δ at an ε, and ε at a δ, are proved within a millionth or so of themselves."""
    profile, _ = level()
    low, high = (float(end) for end in profile.epsilon_bounds(1e-10))
    asked = [Asked("delta", Fraction(9)), Asked("epsilon", Fraction(1, 10**10))]
    found = write_answers(profile, asked)
    assert gdp.verify(found).valid
    answers = found.claim.answers
    assert answers is not None
    assert float(answers[1].low) <= high
    assert low <= float(answers[1].high) < low * (1 + 1e-5)
    assert 0 < float(answers[0].low) < float(answers[0].high) < float(answers[0].low) * (1 + 1e-2)


def test_a_law_that_would_be_too_long() -> None:
    """A thousand numbers of σ = 4: what is near is enough, where their law has 0.1 % more."""
    profile = P.DiscreteGaussian(sigma=20).compose(3)
    found = gdp.measure(profile, tol=1e-4)
    certificate = found.certificate
    assert certificate is not None
    assert gdp.verify(certificate).valid
    assert certificate.claim.mu.high == str(found.mu.high)


def test_noise_of_very_many_variances_is_given_up_in_time() -> None:
    """The number of cells alone was bounded, each of which takes as long as there are variances."""
    noise = tuple((Fraction(1200 + n, 1000) ** 2, 1, 1) for n in range(999))
    with pytest.raises(OutOfWork):
        nearness._nearness(noise, Fraction(0))


def test_the_checkers_own_numbers() -> None:
    """V is below the variance, log ϑ above its sum, and b above what it is at some places."""
    of = Arithmetic(96)
    square, apart, times = Fraction(3, 2), 2, 5
    known = nearness._known(of, (square, apart, times))
    with mpmath.workdps(40):
        masses = [mpmath.exp(-(mpmath.mpf(x) ** 2) / 3) for x in range(-60, 61)]
        spread = sum(x * x * m for x, m in zip(range(-60, 61), masses, strict=True)) / sum(masses)
        assert float(known.weight) <= float(times * spread) <= float(known.weight) * (1 + 1e-6)

        def theta(y: Any) -> Any:
            return 1 + 2 * sum(
                mpmath.exp(-3 * mpmath.pi**2 * k * k) * mpmath.cosh(4 * mpmath.pi * k * y)
                for k in range(1, 12)
            )

        for y in (0, Fraction(1, 3), Fraction(3, 2)):
            log = nearness._log_theta(of, known, of.exactly(y))
            exact = times * mpmath.log(theta(mpmath.mpf(y.numerator) / y.denominator if y else 0))
            assert float(log.high) >= float(exact) >= float(log.high) * (1 - 1e-6) - 1e-30
        area = nearness._Area(
            of, [known], Fraction(0), times * Fraction(4) / square, Fraction(1, 8)
        )
        for low, high in ((1, 2), (2, 3), (4, Fraction(17, 4)), (9, 10)):
            bound = float(area._by_cosines(Fraction(low), Fraction(high)))
            for share in range(5):
                y = mpmath.mpf(float(low + (high - low) * Fraction(share, 4)))
                z = y * apart / mpmath.mpf(1.5)
                pairs = zip(range(-60, 61), masses, strict=True)
                value = sum(m * mpmath.cos(z * x) for x, m in pairs)
                assert abs(value / sum(masses)) ** times <= bound * (1 + 1e-9)


def test_little_noise_shows_nothing() -> None:
    """Where the steps of losses are all that there is, nothing is close or accepted."""
    certificate = gdp.measure(P.DiscreteGaussian(sigma=0.3).compose(2), tol=1e-3).certificate
    assert certificate is not None
    document = json.loads(certificate.to_json())
    document["evidence"] |= {"directions": [{"pieces": [], "cells": []}], "tail_from": None}
    document["evidence"]["witness"] = "tail"
    document["claim"]["mu"]["low"] = "1"
    assert not accepted(document)
    with pytest.raises(gdp.InputError, match="smaller"):
        gdp.verify(put(document, ("mechanism", "base.sigma"), "1e-200"))
