"""Compositions of bounded ranges and of truncated Laplace noise: laws on a lattice, and lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from changes import accepted
from truth import mu_at

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.exponentials import Exponential, of_bounded_range, of_truncated_laplace

P = gdp.profiles
mpf = mpmath.mpf
RANGE, CUT = P.BoundedRange(range=0.5), P.TruncatedLaplace(scale=2, delta=1e-3)


def numbers_of(name: str) -> tuple[Any, Any, Any, Any]:
    """r, m, D and f of both."""
    r = mpf("0.5")
    if name == "range":
        return r, mpf(0), 1 / (1 - mpmath.exp(-r)), mpf(0)
    d = mpf("0.001")
    return r, mpf(1) / 2 - d, mpf(1) / 2 + d / mpmath.expm1(r), d


def single(name: str) -> Callable[[Any], Any]:
    """E_P[(1 - e^{x-L})⁺; L < ∞] of one run, for any real x, by quadrature."""
    r, m, d, _ = numbers_of(name)

    def found(x: Any) -> Any:
        total = m * max(1 - mpmath.exp(x - r), 0) + m * mpmath.exp(-r) * max(
            1 - mpmath.exp(x + r), 0
        )
        low = max(x, -r)
        if low < r:
            # under P the density is D/2·e^{(y-r)/2}
            total += mpmath.quad(
                lambda y: d / 2 * mpmath.exp((y - r) / 2) * (1 - mpmath.exp(x - y)), [low, r]
            )
        return total

    return found


def of_two(name: str, eps: Any) -> Any:
    """δ of two runs, by quadrature over the first one's loss."""
    r, m, d, f = numbers_of(name)
    one = single(name)
    kinks = sorted({-r, r, *(k for k in (eps - r, eps + r) if -r < k < r)})
    total = m * one(eps - r) + m * mpmath.exp(-r) * one(eps + r)
    total += mpmath.quad(lambda y: d / 2 * mpmath.exp((y - r) / 2) * one(eps - y), kinks)
    return 1 - (1 - f) ** 2 + total


@pytest.mark.parametrize(
    ("name", "part"), [("range", RANGE), pytest.param("cut", CUT, marks=pytest.mark.deep)]
)
def test_two_runs(name: str, part: gdp.Profile) -> None:
    """Both ends of μ are where quadrature says; a claim beside it is refused."""
    found = gdp.measure(part.compose(2), tol=1e-5, failure=0.01)
    assert found.certificate is not None
    document = json.loads(found.certificate.to_json())
    assert gdp.verify(document).valid
    with mpmath.workdps(15):
        # where it is largest, and at some other places
        places = [*(mpf(e) / 4 for e in range(4)), mpf(found.attained_at)]
        past = [(of_two(name, e) - mpf("0.01")) / mpf("0.99") for e in places]
        least = max(mu_at(e, one) for e, one in zip(places, past, strict=True))
    low, high = (float(Fraction(document["claim"]["mu"][end])) for end in ("low", "high"))
    assert low <= float(least) + 1e-5
    assert float(least) <= high + 1e-9
    assert high - low < 1e-4
    changed = json.loads(json.dumps(document))
    changed["claim"]["mu"] = {"low": "0", "high": str(float(least) - 1e-4)}
    assert not accepted(changed)
    changed["claim"]["mu"] = {"low": str(float(least) + 1e-4), "high": "2"}
    assert not accepted(changed)
    for key, text in (("base.range", "0.51"), ("base.delta", "0.0011"), ("times", "3")):
        if key in document["mechanism"]:
            assert not accepted({**document, "mechanism": {**document["mechanism"], key: text}})
    natures = {"range": "bound", "cut": "own"}
    assert document["claim"]["profile_is"] == natures[name]
    for other in {"own", "class", "bound"} - {natures[name]}:
        changed = {**document, "claim": {**document["claim"], "profile_is": other}}
        assert not accepted(changed)


@pytest.mark.parametrize("part", [RANGE, CUT], ids=["range", "cut"])
def test_beside_a_gaussian(part: gdp.Profile) -> None:
    """δ beside Gaussian noise is that by quadrature, and a changed part is refused."""
    name = "range" if part is RANGE else "cut"
    document = json.loads(
        write_answers(
            P.Sequence(parts=(part, P.Gaussian(sigma=2))), [Asked("delta", Fraction(1, 2))]
        ).to_json()
    )
    assert gdp.verify(document).valid
    r, m, d, f = numbers_of(name)

    def gaussian(x: Any) -> Any:
        y = 2 * x
        return mpmath.ncdf(mpf(1) / 4 - y) - mpmath.exp(x) * mpmath.ncdf(-mpf(1) / 4 - y)

    x = mpf(1) / 2
    true = m * gaussian(x - r) + m * mpmath.exp(-r) * gaussian(x + r)
    true += mpmath.quad(lambda y: d / 2 * mpmath.exp((y - r) / 2) * gaussian(x - y), [-r, 0, r])
    true += f
    answer = document["claim"]["answers"][0]
    assert float(answer["low"]) <= float(true) * (1 + 1e-9)
    assert float(true) <= float(answer["high"]) * (1 + 1e-9)
    assert float(answer["high"]) - float(answer["low"]) < 1e-6
    key = next(name for name in document["mechanism"] if name.endswith(("range", "delta")))
    assert not accepted({**document, "mechanism": {**document["mechanism"], key: "0.4"}})


@pytest.mark.parametrize(
    "one", [of_bounded_range(Fraction(1, 2)), of_truncated_laplace(Fraction(1, 2), Fraction(1, 9))]
)
def test_transform(one: Exponential) -> None:
    """F(1) is all finite mass, F is symmetric, and at 1/2 its removable pole is no matter."""
    of = Arithmetic(128)
    for w in (Fraction(1), Fraction(0)):
        off = one.at(of, w) - (1 - one.failure)
        assert abs(float(off.low)) < 1e-30
        assert abs(float(off.high)) < 1e-30
    left, right = one.at(of, Fraction(-3, 2)), one.at(of, Fraction(5, 2))
    assert abs(float((left - right).high)) < 1e-30
    half, near = one.at(of, Fraction(1, 2)), one.at(of, Fraction(1, 2) + Fraction(1, 10**6))
    assert abs(float((half - near).high)) < 1e-9
