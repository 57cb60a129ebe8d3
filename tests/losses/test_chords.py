"""Runs whose δ is near 1 on much of the range: chords of 1 - δ, where lines need many nodes.

What is true is found in other ways: the losses of one step on a fine grid, added up by Fourier
transforms in float64, all outcomes one by one, and the Gaussian curve.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.special import log_ndtr, ndtr

import gdpbridge
import gdpbridge_verify
from gdpbridge import profiles
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.finite import two_valued
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction
from gdpbridge_verify.numbers import binary

SIGMA, RATE, STEPS, FAILURE = 0.25, 0.5, 100, 1e-6


@cache
def _measured() -> gdpbridge.Measurement:
    run = profiles.DPSGD(noise_multiplier=SIGMA, sample_rate=RATE, steps=STEPS)
    return gdpbridge.measure(run, failure=FAILURE)


def _fresh() -> Any:
    document = _measured().certificate
    assert document is not None
    return json.loads(document.to_json())


def _chords(document: Any) -> list[Any]:
    pieces = [piece for one in document["evidence"]["directions"] for piece in one["pieces"]]
    return [piece for piece in pieces if piece.get("chord")]


def test_an_interval_is_that_of_losses_on_a_grid() -> None:
    """δ of all ε on a grid is below the upper end's curve, and touches it somewhere."""
    width, places = 0.004, 1 << 20
    start = math.floor(math.log1p(-RATE) / width)
    edges = width * (start + np.arange(20_000))
    with np.errstate(divide="ignore"):
        noise = SIGMA * np.log(np.maximum(np.expm1(edges) + RATE, 0) / RATE) + 0.5 / SIGMA
    masses = np.diff((1 - RATE) * ndtr(noise) + RATE * ndtr(noise - 1 / SIGMA))
    sums = np.fft.irfft(np.fft.rfft(masses, places) ** STEPS, places)
    losses = width * (STEPS * (start + 0.5) + np.arange(places))
    mu = _measured().mu
    seen = []
    for eps in np.linspace(0.0, 700.0, 141):
        above = losses > eps
        delta = -float(np.sum(sums[above] * np.expm1(eps - losses[above])))
        claimed = [
            FAILURE
            + (1 - FAILURE)
            * (ndtr(one / 2 - eps / one) - math.exp(eps + log_ndtr(-one / 2 - eps / one)))
            for one in (float(mu.low) - 0.01, float(mu.high))
        ]
        assert delta <= claimed[1] * (1 + 1e-5) + 1e-11
        seen.append(delta > claimed[0])
    assert any(seen)


def test_a_chord_is_evidence_up_to_its_end() -> None:
    """One ends in a line, and one in Chernoff's bound; an end far off says too little."""
    document = _fresh()
    assert {"line" in piece for piece in _chords(document)} == {True, False}
    assert gdpbridge_verify.verify(document).valid
    # the last piece of a direction is made to end where the first one does
    for direction in document["evidence"]["directions"]:
        changed = json.loads(json.dumps(document))
        number = document["evidence"]["directions"].index(direction)
        del changed["evidence"]["directions"][number]["pieces"][1:]
        found = gdpbridge_verify.verify(changed)
        assert not found.valid
        assert "chord" in found.reason
    far = _fresh()
    for piece in _chords(far):
        piece["chord"] = f"0x{int(binary(piece['chord']) * 16):x}p+0"
    assert not gdpbridge_verify.verify(far).valid


def _of_responses(eps: float, failure: float, times: int, delta: float) -> float:
    """δ of runs that fail, or answer by randomized response, outcome by outcome."""
    total = 1 - (1 - failure) ** times
    right = (1 - failure) / (1 + math.exp(-eps))
    for signs in product((1, -1), repeat=times):
        mass = math.prod(right if one > 0 else right * math.exp(-eps) for one in signs)
        total += mass * max(0.0, -math.expm1(delta - eps * sum(signs)))
    return total


def _of_noise(mu: int, eps: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, m = mpmath.mpf(eps), mpmath.mpf(mu)
        return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


@pytest.mark.parametrize(
    ("part", "times", "true"),
    [
        (two_valued(Fraction(1), Fraction(1, 30)), 5, lambda x: _of_responses(1, 1 / 30, 5, x)),
        (GaussianTransform(Fraction(9)), 1, lambda x: _of_noise(3, x)),
        (GaussianTransform(Fraction(100)), 1, lambda x: _of_noise(10, x)),
    ],
)
def test_what_is_known_without_a_line(part: Any, times: int, true: Callable[[float], Any]) -> None:
    """Chernoff's bounds and a chord enclose δ, and 1 - δ to no more than some of its exponent."""
    direction = ComposedLoss([Part(part, times)]).directions[0]
    for eps in (0.0, 0.5, 1.0, 2.5, 4.0):
        with precision(256):
            low, high = (to_fraction(one) for one in direction.without_line(arb(eps)))
        delta = true(eps)
        slack = mpmath.mpf(10) ** -15
        assert mpmath.mpf(low.numerator) / low.denominator <= delta + slack
        assert delta - slack <= mpmath.mpf(high.numerator) / high.denominator
        assert 0 < 1 - high <= 1 - low
