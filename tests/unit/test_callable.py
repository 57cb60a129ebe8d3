"""Functions taken on trust: what is relied on is named, and nothing is certified."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.profiles import Callable

TRUSTED = ["non-increasing", "upper bound"]


def laplace(eps: float) -> float:
    return max(1 - math.exp((eps - 2) / 2), 0.0)


@pytest.mark.parametrize("method", ["certified", "adaptive", "staircase", "shuffled"])
def test_every_method_measures_a_function(method: str) -> None:
    """Each method finds μ, says what it rests on, and certifies nothing."""
    found = gdp.measure(Callable(laplace, trusted=TRUSTED), tol=1e-3, eps_h=3, method=method)
    assert found.mu.lower <= 1.800905193275604 <= found.mu.upper
    assert not found.certified
    assert found.evidence is None
    assert found.certificate is None
    assert sum("trusted, not proved: laplace" in note for note in found.notes) == 2


def test_vectorised_function_and_logarithm() -> None:
    """An array in, an array out; log δ where δ would underflow."""
    whole = Callable(lambda eps: np.exp(-(eps**2)) / 2, trusted=TRUSTED)
    log = Callable(lambda eps: -(eps**2) - np.log(2), trusted=TRUSTED, log=True)
    assert gdp.measure(whole).mu.upper == pytest.approx(gdp.measure(log).mu.upper, abs=1e-8)
    assert log.log_delta(100.0) == pytest.approx(-10000.693147180559)


def test_tail_is_unknown_unless_declared() -> None:
    """No finite number of values decides; a declared tail is an assumption."""
    assert gdp.identify(Callable(laplace, trusted=TRUSTED)).verdict == "unknown"
    assumed = gdp.identify(Callable(laplace, trusted=TRUSTED, tail="gaussian:2"))
    assert assumed.verdict == "gdp"
    assert "assumed" in assumed.reason


def test_trust_follows_into_transformations() -> None:
    """A sampled function is no better known than the function."""
    found = gdp.measure(Callable(laplace, trusted=TRUSTED).subsample(0.5), tol=1e-5, eps_h=3)
    assert not found.certified
    assert any("trusted" in note for note in found.notes)
    assert found.mu.lower <= 0.97828 <= found.mu.upper + 1e-5


@pytest.mark.parametrize(
    "parameters",
    [{}, {"trusted": []}, {"trusted": ["upper bound"]}, {"trusted": "upper bound"}],
)
def test_everything_relied_on_must_be_named(parameters: dict[str, object]) -> None:
    """There is no default for trust."""
    with pytest.raises(InputError, match="trusted"):
        Callable(laplace, **parameters)


@pytest.mark.parametrize("value", [2.0, -0.1, math.nan, "a"])
def test_values_outside_the_range_are_refused(value: object) -> None:
    """What is no probability is named with its ε."""
    with pytest.raises(InputError, match=r"must be a number"):
        gdp.measure(Callable(lambda _: value, trusted=TRUSTED), tol=0.1)


@pytest.mark.parametrize("method", ["certified", "staircase", "shuffled"])
def test_a_function_that_rises_is_told_where(method: str) -> None:
    """The sentence names the function, and two ε between which it rises."""

    def rising(eps: float) -> float:
        return min(0.9, 0.1 + 0.05 * eps)

    with pytest.raises(
        InputError, match=r"rising from 0\.1.* at ε = .* to 0\.1.* at ε = "
    ) as caught:
        gdp.measure(Callable(rising, trusted=TRUSTED), tol=1e-3, eps_h=5, method=method)
    assert caught.value.field == "rising"
    assert caught.value.allowed.startswith("non-increasing")


def test_a_bump_is_a_rise() -> None:
    """A function that falls again is refused too, and so is a logarithm that rises."""

    def bump(eps: float) -> float:
        return 0.5 * math.exp(-eps) + (0.2 if 3 < eps < 3.3 else 0)

    with pytest.raises(InputError, match="rising from"):
        gdp.measure(Callable(bump, trusted=TRUSTED), tol=1e-3, eps_h=5)
    with pytest.raises(InputError, match="rising from log δ"):
        Callable(lambda eps: -1 / (1 + eps), trusted=TRUSTED, log=True).delta([0.0, 1.0])


def test_rounding_is_no_rise() -> None:
    """A rise of the size of rounding errors is let pass, and the ends of μ stay in order."""
    generator = np.random.default_rng(5)

    def noisy(eps: float) -> float:
        return max(1 - math.exp((eps - 2) / 2), 0.0) + 2e-15 * generator.random()

    found = gdp.measure(Callable(noisy, trusted=TRUSTED), tol=1e-3, eps_h=3)
    assert found.mu.lower <= 1.8009052 <= found.mu.upper + 1e-6


@pytest.mark.parametrize("error", [KeyError("no such ε"), ValueError("boom"), ZeroDivisionError()])
def test_an_error_of_the_function_is_named_as_its_own(error: Exception) -> None:
    """The sentence names the function, its ε and the error, which is kept as the cause."""

    def broken(_: object) -> float:
        raise error

    with pytest.raises(InputError, match="the function itself failed") as caught:
        gdp.measure(Callable(broken, trusted=TRUSTED), tol=1e-3, eps_h=3)
    assert caught.value.field.startswith("broken(")
    assert type(error).__name__ in str(caught.value)
    assert caught.value.__cause__ is error
