"""The paper's three running examples, and measurements that several of its statements rest on."""

from __future__ import annotations

from functools import cache

from gdpbridge.interval import Interval
from gdpbridge.measure import measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.icea import ICEA
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.sgd_family import SGDFamily
from gdpbridge.specification.load import load_profile

__all__ = [
    "EXAMPLES",
    "RATES",
    "cloak",
    "composed",
    "laplace",
    "least_mu",
    "naive_cloak",
    "naive_sgd",
    "repeated",
    "sampled",
    "sgd",
]

# the steps that a composition is made of
REPEATED_EPSILON, TIMES = 0.2, 50
# "10%" and "50%" are the paper's; the other rates fill the pictures
RATES = (0.5, 0.25, 0.1)


@cache
def laplace() -> Laplace:
    """Return the Laplace mechanism with Δ/b = 2: the paper's "2/Δ" must be Δ/2."""
    return Laplace(scale=0.5, sensitivity=1)


@cache
def sgd() -> SGDFamily:
    """Return what the paper calls SGD: σ = (A/ε)·√(log(B/δ)) with A = 2, B = 1 and σ = 2."""
    return SGDFamily(A=2, B=1, sigma=2)


@cache
def cloak() -> ICEA:
    """Return the invisibility cloak encoder with 20 messages and 4 users."""
    return ICEA(messages=20, users=4)


@cache
def naive_sgd() -> Profile:
    """Return the second example's trade-off, inverted and not refined."""
    values = {"A": 2.0, "B": 1.0, "sigma": 2.0}
    return _naive("sigma = A/eps*sqrt(log(B/delta))", values)


@cache
def naive_cloak() -> Profile:
    """Return the third example's trade-off, inverted and not refined."""
    return _naive("m = 10*log(n/(eps*delta))", {"m": 20.0, "n": 4.0})


def _naive(text: str, values: dict[str, float]) -> Profile:
    return load_profile({"kind": "tradeoff", "text": text, "set": values, "naive": True})


EXAMPLES = {"Laplace": laplace, "SGD": sgd, "ICEA": cloak}


def sampled(profile: Profile, rate: float) -> Profile:
    """Return a mechanism on a random sample of a rate, by the scheme that its relation allows.

    The paper speaks of Poisson sampling throughout. That is stated for add-remove neighbours; the
    encoder's guarantee is one for replace-one neighbours, where sampling without replacement has
    the same formula.
    """
    if profile.neighbours == "replace-one":
        return profile.subsample(rate, scheme="without-replacement")
    return profile.subsample(rate)


@cache
def repeated() -> PureDP:
    """Return the 0.2-DP mechanism of the paper's section on composition."""
    return PureDP(epsilon=REPEATED_EPSILON)


@cache
def composed() -> Profile:
    """Return fifty of them, exactly."""
    return repeated().compose(TIMES)


@cache
def least_mu(profile: Profile, eps_h: float | None = None) -> Interval:
    """Return the proved interval for the least μ, on [0, eps_h] if that is given."""
    found = measure(profile, eps_h=eps_h)
    assert found.certified
    return found.mu
