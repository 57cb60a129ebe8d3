"""Each kind's formula against independent 30-digit values, and what its parameters refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from gdpbridge import profiles
from gdpbridge.curves.pieces import ZERO
from gdpbridge.errors import InputError, WorkLimitError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "data" / "profiles.json").read_text(encoding="utf-8")
)


def profile_of(row: dict[str, Any]) -> Profile:
    cls = profiles.profile_class(row["kind"])
    whole = ("messages", "users", "buckets")
    return cls(**{k: int(v) if k in whole else float(v) for k, v in row["parameters"].items()})


def number(text: str) -> arb:
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


@pytest.mark.parametrize("row", REFERENCE, ids=lambda r: f"{r['kind']}-{r['parameters']}")
def test_formula(row: dict[str, Any]) -> None:
    """log δ and log(1 - δ), floats and balls, have the values that the definition gives."""
    profile = profile_of(row)
    for eps, *logs in row["points"]:
        with precision(200):
            # a ball about the very end of the range cannot tell δ from 0
            past = profile.curve.end == Fraction(eps)
            value = ZERO if past else profile.curve.enclose(ball(Fraction(eps)))
            for enclosure, text in zip((value.log(), value.log_complement()), logs, strict=True):
                if text == "-inf":
                    assert enclosure == arb.neg_inf()
                    continue
                truth = number(text)
                slack = abs(truth) * arb(10) ** -28 + arb(10) ** -45
                assert abs(enclosure - truth) <= slack, (eps, text)
        floats = profile.curve.logs(np.array([float(eps)]))
        for computed, text, slack in zip(floats, logs, conditions(profile, eps), strict=True):
            assert computed[0] == pytest.approx(float(text), rel=1e-13, abs=slack), (eps, text)
        assert profile.delta(float(eps)) == pytest.approx(math.exp(float(logs[0])), rel=1e-9)


def conditions(profile: Profile, eps: str) -> tuple[float, float]:
    """How far log δ and log(1 - δ) move when ε, or the end of the range, is off by four ulps.

    Just before the end ε₀, δ is about ε₀ - ε, and no float of both gives more digits.
    """
    with precision(200):
        left, right = (
            profile.curve.enclose(ball(Fraction(eps) * (1 + Fraction(sign, 10**15))))
            for sign in (-1, 1)
        )
        moved = right.log() - left.log(), right.log_complement() - left.log_complement()
        first, second = (float(abs(m).upper()) if m.is_finite() else 0.0 for m in moved)
    return first + 4e-16, second + 4e-16


def test_a_float_parameter_means_its_decimal() -> None:
    """0.2 is one fifth: sensitivity 1 and scale 5 end exactly where ε = 0.2."""
    assert profiles.Laplace(scale=5).curve.end == profiles.PureDP(epsilon=0.2).curve.end
    assert profiles.Laplace(scale=5).curve.end == Fraction(1, 5)


def test_randomized_response_from_the_literature() -> None:
    """Noise 0.8 over two answers: ε₀ = 0.405465108108164382 and δ(0) = 0.2."""
    profile = profiles.RandomizedResponse(noise_parameter=0.8)
    assert profile.delta(0) == pytest.approx(0.2, rel=1e-15)
    assert profile.delta(0.405465108108164) > 0 == profile.delta(0.405465108108165)


def test_values_outside_zero_one_never_appear() -> None:
    """Floats near both ends of [0, 1] are clipped to it."""
    for profile in (profiles.PureDP(epsilon=1e5), profiles.Laplace(scale=1e-5)):
        values = np.asarray(profile.delta(np.linspace(0, 1e5, 1001)))
        assert values.min() >= 0
        assert values.max() <= 1
        assert not np.isnan(np.asarray(profile.gdpt(np.linspace(0, 1e5, 1001)))).any()


def test_past_the_end_delta_is_zero() -> None:
    """Where a bounded loss ends, δ is 0, its logarithm -inf and G is 0."""
    profile = profiles.Laplace(scale=5)
    for eps in (0.2, 0.3, 1e5):
        at = (profile.delta(eps), profile.log_delta(eps), profile.gdpt(eps))
        assert at == (0.0, -math.inf, 0.0)


def test_scalars_and_arrays() -> None:
    """A number gives a float, an array one of its shape."""
    profile = profiles.Laplace(scale=1)
    assert isinstance(profile.delta(0.5), float)
    assert np.shape(profile.log_delta(np.ones((2, 3)))) == (2, 3)
    assert np.shape(profile.delta([])) == (0,)


@pytest.mark.parametrize("eps", [-1, math.nan, math.inf, 1e6, "a", True, [1, -2], None, 1j])
def test_eps_outside_its_range_is_refused(eps: Any) -> None:
    """The error names ε, in every method that takes it."""
    profile = profiles.Laplace(scale=1)
    for method in (profile.delta, profile.log_delta, profile.gdpt):
        with pytest.raises(InputError) as caught:
            method(eps)
        assert caught.value.field == "eps"


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("sensitivity/scale", lambda: profiles.Laplace(scale=1e-9, sensitivity=1)),
        ("sensitivity/scale", lambda: profiles.Laplace(scale=1e-300, sensitivity=1e300)),
        ("sensitivity/sigma", lambda: profiles.Gaussian(sigma=1e-9)),
        ("sensitivity/sigma", lambda: profiles.Gaussian(sigma=1e-300, sensitivity=1e300)),
        ("users", lambda: profiles.ICEA(messages=20, users=10**400)),
        ("messages", lambda: profiles.ICEA(messages=10**9, users=2)),
        ("buckets", lambda: profiles.RandomizedResponse(noise_parameter=0.5, buckets=10**400)),
        ("scale", profiles.Laplace),
        ("foo", lambda: profiles.Laplace(scale=1, foo=2)),
        ("neighbours", lambda: profiles.Laplace(scale=1, neighbours="any")),
    ],
)
def test_parameters_that_do_not_go_together(field: str, make: Callable[[], Profile]) -> None:
    """Quotients out of range, numbers no float holds, missing and unknown names are refused."""
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.field == field


def test_unknown_kind() -> None:
    """An unknown mechanism gives the nearest known name."""
    with pytest.raises(InputError, match="did you mean laplace"):
        profiles.profile_class("laplase")


def test_profiles_are_values() -> None:
    """Equal parameters make equal profiles, and none can be changed."""
    first, second = profiles.Laplace(scale=1), profiles.Laplace(scale=1.0)
    assert first == second
    with pytest.raises(ValueError, match="frozen"):
        first.scale = 2.0  # type: ignore[attr-defined]


def test_work_limit_error_is_not_an_input_error() -> None:
    """A request that is too large is not a value that is wrong."""
    assert not issubclass(WorkLimitError, ValueError)
