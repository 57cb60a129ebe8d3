"""The scaled complementary error function, beside mpmath."""

from __future__ import annotations

import numpy as np
from mpmath import mp, mpf

from gdpbridge.gaussian.erfcx import _COEFFICIENTS, _FEW, _K, erfcx

NODES = 64


def _exact(x: float) -> mpf:
    return mp.exp(mpf(x) ** 2) * mp.erfc(mpf(x))


def test_the_coefficients_are_those_of_the_chebyshev_series() -> None:
    """The series of (1 + 2x)·erfcx(x) in t, cut where it is below the spacing of floats."""
    degree = len(_COEFFICIENTS) - 1
    with mp.workdps(50):
        angles = [mp.pi * (2 * j + 1) / (2 * NODES) for j in range(NODES)]
        places = [_K * (1 + mp.cos(a)) / (1 - mp.cos(a)) for a in angles]
        values = [(1 + 2 * x) * _exact(x) for x in places]
        series = [
            2 * mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) / NODES
            for k in range(NODES)
        ]
        series[0] /= 2
        assert sum(map(abs, series[degree + 1 :])) < 1e-16
        below, last = [mpf(1)], [mpf(0), mpf(1)]
        powers = [mpf(0)] * (degree + 1)
        for coefficient in series[: degree + 1]:
            for k, whole in enumerate(below):
                powers[k] += coefficient * whole
            # T_{k+1} = 2t·T_k − T_{k−1}
            shifted = [mpf(0), *(2 * one for one in last)]
            below, last = last, [a - b for a, b in zip(shifted, [*below, 0, 0], strict=True)]
        assert [float(one) for one in powers] == list(_COEFFICIENTS)


def test_it_is_right_to_the_last_digits() -> None:
    """The relative error is below 1e-15 from 0 to 1e24, where ε/μ may lie."""
    x = np.concatenate([[0.0], np.geomspace(1e-20, 60.0, 400), np.geomspace(61.0, 1e24, 40)])
    with mp.workdps(40):
        # beyond 60, e^{x²}·erfc(x) is 1/(x√π)·(1 − 1/(2x²) + 3/(4x⁴) − …)
        wanted = [
            _exact(one)
            if one <= 60
            else mp.fsum(
                (-1) ** k * mp.fac2(2 * k - 1) / (2 * mpf(one) ** 2) ** k for k in range(9)
            )
            / (mpf(one) * mp.sqrt(mp.pi))
            for one in x.tolist()
        ]
        errors = [abs(mpf(a) / b - 1) for a, b in zip(erfcx(x).tolist(), wanted, strict=True)]
    assert max(errors) < 1e-15
    assert erfcx(np.array([np.inf])).tolist() == [0.0]


def test_few_elements_are_rounded_as_many_are() -> None:
    """Both ways of summing give the same bits, and no element none."""
    x = np.random.default_rng(1).exponential(3.0, 4 * _FEW)
    parts = [erfcx(x[at : at + _FEW]) for at in range(0, x.size, _FEW)]
    assert np.concatenate(parts).tobytes() == erfcx(x).tobytes()
    assert erfcx(x[:0]).shape == (0,)
