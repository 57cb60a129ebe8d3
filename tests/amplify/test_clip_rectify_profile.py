"""The joint profile of clip and rectify: a bound, as low as the convex envelope, and certified."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.transformations.clip_rectify import ClipRectify

ICEA = gdp.profiles.ICEA(messages=20, users=4)

BASES: list[Profile] = [
    ICEA,
    gdp.profiles.Laplace(scale=0.1),
    gdp.profiles.PureDP(epsilon=3),
    gdp.profiles.ApproxDP(epsilon=1, delta=0.05),
    gdp.profiles.RandomizedResponse(noise_parameter=0.3, buckets=4),
    gdp.profiles.GDP(mu=0),
    gdp.profiles.Laplace(scale=0.3).subsample(0.3),
    gdp.profiles.Gaussian(sigma=1).subsample(0.3),
    gdp.profiles.PureDP(epsilon=0.3).compose(5),
]
CERTIFIED = [
    (ICEA, 10.0, "base line"),
    (ICEA, 2.5, "noise line base line noise"),
    (gdp.profiles.ApproxDP(epsilon=1, delta=0.05), 2.3, "base line"),
    (gdp.profiles.PureDP(epsilon=3), 4.0, "noise line base"),
    (gdp.profiles.Laplace(scale=0.5), 4.0, "base"),
    (gdp.profiles.Laplace(scale=0.5), 1.0, "noise"),
]


def _icea_delta(eps: mpmath.mpf) -> mpmath.mpf:
    """δ of icea(20, 4) beyond ε_i = 1.157."""
    return 4 * mpmath.exp(-2) / eps


def _g(eps: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf:
    """μ(ε, δ) by bisection of the textbook's formula."""
    low, high = mpmath.mpf(0), mpmath.mpf(60)
    for _ in range(90):
        mu = (low + high) / 2
        value = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        low, high = (mu, high) if value < delta else (low, mu)
    return low


def _largest(function: object, low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    """The place of the maximum of a function with one, by golden section."""
    share = (mpmath.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - share * (high - low), low + share * (high - low)
        if function(left) > function(right):  # type: ignore[operator]
            high = right
        else:
            low = left
    return (low + high) / 2


def _hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The lower convex hull of points, at each of them."""
    kept: list[int] = []
    for i in range(x.size):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.interp(x, x[kept], y[kept])


def test_icea_at_10_against_mpmath() -> None:
    """The joint μ is that of the tangent from (ε_h, 0) to icea's profile, by mpmath alone."""
    with mpmath.workdps(30):
        top = mpmath.exp(10)
        steepness = lambda eps: -_icea_delta(eps) / (top - mpmath.exp(eps))  # noqa: E731
        touching = _largest(steepness, mpmath.mpf("1.2"), mpmath.mpf("9.99"))
        slope = -steepness(touching)
        value = lambda eps: _g(eps, slope * (top - mpmath.exp(eps)))  # noqa: E731
        best = _largest(value, touching, mpmath.mpf("9.99"))
        expected = value(best)
    profile = ClipRectify(base=ICEA, eps_h=10)
    found = gdp.measure(profile)
    assert found.verdict == "gdp"
    assert found.statement == "whole"
    assert found.certified
    assert found.whole_range_mu == found.mu
    assert str(expected) in found.mu
    assert mpmath.nstr(expected, 8) == "3.0727409"
    assert float(profile.runs[1].start) == pytest.approx(float(touching), abs=1e-12)
    assert found.attained_at == pytest.approx(float(best), abs=1e-5)


def test_the_papers_value_and_the_minimum_at_10() -> None:
    """P's head value, and G at the crossing of the two bounds: each above the joint μ."""
    assert "3.3124228311569689741" in gdp.measure(ICEA, eps_h=10).mu
    crossing = 9.88738689370646165
    noise = 1 - np.exp((crossing - 10) / 2)
    assert ICEA.delta(crossing) == pytest.approx(noise, rel=1e-12)
    assert gdp.mu(crossing, delta=noise) == pytest.approx(3.29314569551709, rel=1e-12)
    assert float(gdp.measure(ClipRectify(base=ICEA, eps_h=10)).mu.high) < 3.2931


def test_icea_at_4_has_its_supremum_at_zero() -> None:
    """At ε_h = 4, 2.1840698 and 2.1208483 are G at ε_h and at the crossing, not suprema."""
    assert ICEA.gdpt(4.0) == pytest.approx(2.184069794102809, rel=1e-12)
    assert ICEA.gdpt(3.6819482009253208) == pytest.approx(2.120848293013992, rel=1e-12)
    zero = "2.2785989940170829458"
    assert zero in gdp.measure(ICEA, eps_h=4).mu
    joint = gdp.measure(ClipRectify(base=ICEA, eps_h=4))
    assert zero in joint.mu
    assert joint.attained_at == 0


def test_much_noise_needs_nothing_of_the_base() -> None:
    """Where ε_h is small the Laplace noise is the better bound everywhere, also at ε = 0."""
    joint = gdp.measure(ClipRectify(base=ICEA, eps_h=2))
    assert "1.800905193275604" in joint.mu
    assert float(joint.mu.high) < float(gdp.measure(ICEA, eps_h=2).mu.low)


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.kind)
@pytest.mark.parametrize("eps_h", [0.3, 2.3, 4.0])
def test_is_the_envelope(base: Profile, eps_h: float) -> None:
    """δ is at most both bounds and is the lower convex hull in e^ε of their minimum."""
    profile = ClipRectify(base=base, eps_h=eps_h)
    knots = [float(run.start) for run in profile.runs]
    eps = np.unique(np.concatenate([np.linspace(0, eps_h, 3001), knots]))
    noise = np.maximum(-np.expm1((eps - eps_h) / 2), 0)
    minimum = np.minimum(base.delta(eps), noise)
    delta = np.asarray(profile.delta(eps))
    assert (delta <= minimum * (1 + 1e-12)).all()
    assert np.abs(delta - _hull(np.exp(eps), minimum)).max() < 1e-6
    assert (np.diff(delta) <= 1e-15).all()
    assert profile.delta(eps_h) == 0


@pytest.mark.parametrize(("base", "eps_h"), [(ICEA, 10.0), (ICEA, 2.5), (BASES[8], 1.0)])
def test_upper_end_holds_on_a_grid(base: Profile, eps_h: float) -> None:
    """The measured interval holds the largest G on a grid."""
    profile = ClipRectify(base=base, eps_h=eps_h)
    found = gdp.measure(profile, tol=1e-7)
    largest = np.max(profile.gdpt(np.linspace(0, eps_h, 20001)[:-1]))
    assert float(found.mu.low) - 1e-4 < largest < float(found.mu.high)


@pytest.mark.parametrize(("base", "eps_h", "runs"), CERTIFIED)
def test_certificates(base: Profile, eps_h: float, runs: str) -> None:
    """The independent checker accepts the certificate, and refuses a smaller μ."""
    found = gdp.measure(ClipRectify(base=base, eps_h=eps_h))
    certificate = found.certificate
    assert certificate is not None
    assert certificate.mechanism["runs"] == runs
    assert gdp.verify(certificate).valid
    document = json.loads(certificate.to_json())
    low = float(found.mu.low)
    document["claim"]["mu"] = {"low": f"{low - 0.02:.6f}", "high": f"{low - 0.01:.6f}"}
    assert not gdp.verify(document).valid
    document["claim"]["mu"] = {"low": f"{low + 0.01:.6f}", "high": f"{low + 0.02:.6f}"}
    assert not gdp.verify(document).valid


@pytest.mark.parametrize(
    "base", [ICEA.subsample(0.5, "without-replacement"), ClipRectify(base=ICEA, eps_h=10)]
)
def test_no_certificate_where_the_checker_does_not_know_the_base(base: Profile) -> None:
    """A base that is itself made of another mechanism is measured with proof, uncertified."""
    found = gdp.measure(ClipRectify(base=base, eps_h=9))
    assert found.certified
    assert found.certificate is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("runs", "line base"),
        ("runs", "base"),
        ("runs", "base other"),
        ("runs", "noise base"),
        ("knots", "0x1p+0 0x1p+1"),
        ("knots", "0x0p+0"),
        ("knots", "0x0p+0 7"),
        ("base.kind", "clip-rectify"),
        ("eps_h", "0"),
    ],
)
def test_malformed_runs_are_refused(name: str, text: str) -> None:
    """A document whose runs say nothing that could be checked is refused with a sentence."""
    certificate = gdp.measure(ClipRectify(base=ICEA, eps_h=10)).certificate
    assert certificate is not None
    document = json.loads(certificate.to_json())
    document["mechanism"][name] = text
    with pytest.raises(InputError, match="mechanism"):
        gdp.verify(document)


def test_takes_the_relation_of_its_base() -> None:
    """The relation is the base's; another one is refused."""
    assert ClipRectify(base=ICEA, eps_h=1).neighbours == "replace-one"
    with pytest.raises(InputError, match="neighbours is 'add-remove': must be replace-one"):
        ClipRectify(base=ICEA, eps_h=1, neighbours="add-remove")


@pytest.mark.parametrize("eps_h", [0, -1, float("inf"), float("nan"), 1e6, "x"])
def test_bad_eps_h(eps_h: object) -> None:
    """ε_h outside its range is refused in one sentence."""
    with pytest.raises(InputError, match=r"eps_h is .*: must be a number > 0 and at most 100000"):
        ClipRectify(base=ICEA, eps_h=eps_h)


def test_too_many_lines_are_refused() -> None:
    """A base of very many lines is refused, with the limit."""
    many = gdp.profiles.PureDP(epsilon=0.001).compose(10_000)
    with pytest.raises(InputError, match="lines of the base is 4501: must be at most 1000"):
        _ = ClipRectify(base=many, eps_h=9).curve


def test_goes_through_its_plain_data() -> None:
    """What model_dump gives is what the class takes."""
    profile = ClipRectify(base=ICEA, eps_h=10)
    assert ClipRectify(**profile.model_dump()) == profile
    base = {"kind": "icea", "messages": 20, "users": 4}
    assert gdp.load_profile({"kind": "clip-rectify", "eps_h": 10, "base": base}) == profile
    assert ClipRectify(base=base, eps_h=10) == profile


@pytest.mark.parametrize(
    ("given", "eps_h"),
    [
        ({"noise": "gaussian", "scale": 5.666, "threshold": 86.16}, 2.139),
        ({"noise": "gaussian", "scale": 8.519, "threshold": 579.3, "groups": 3}, 13.0),
        ({"noise": "laplace", "scale": 0.3021, "threshold": 198.1}, 13.9),
    ],
)
def test_noise_that_is_hardly_thresholded(given: dict[str, Any], eps_h: float) -> None:
    """Of a level far below all else, G is flat, or the noise's bound ends within a rounding."""
    base = gdp.profiles.ThresholdedRelease(**given)
    found = gdp.measure(ClipRectify(base=base, eps_h=eps_h))
    noise = {
        "gaussian": gdp.profiles.GDP(mu=math.sqrt(given.get("groups", 1)) / given["scale"]),
        "laplace": gdp.profiles.Laplace(scale=given["scale"]),
    }[given["noise"]]
    plain = gdp.measure(noise).mu
    assert found.certified
    assert found.cells < 100
    assert float(found.mu.low) == pytest.approx(float(plain.low), abs=1e-9)
    assert float(found.mu.high) == pytest.approx(float(plain.high), abs=1e-9)


def test_noise_that_is_known_to_be_beneath_a_gaussian_curve() -> None:
    """Clipping Gaussian noise leaves its μ, at once; asked for more digits, too."""
    for tol in (1e-9, 1e-40):
        found = gdp.measure(ClipRectify(base=gdp.profiles.Gaussian(sigma=2), eps_h=3), tol=tol)
        assert found.mu.low < Decimal("0.5") <= found.mu.high
        assert found.cells < 10
