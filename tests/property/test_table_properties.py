"""Tables of random guarantees, against exact rational arithmetic on the scale t = e^ε."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.errors import InputError

EPS = st.one_of(
    st.floats(0, 5).map(lambda eps: eps if eps > 1e-200 else 0.0),
    st.floats(1e-8, 1e-3),
    st.floats(5, 1000),
    st.integers(0, 4).map(float),
)
DELTA = st.one_of(
    st.floats(0, 0.999).map(lambda delta: delta if delta > 1e-300 else 0.0),
    st.floats(-300, -1).map(lambda power: 10.0**power),
    st.sampled_from([0.0, 1.0, 0.5, 1e-5]),
)
ROWS = st.lists(
    st.tuples(EPS, DELTA), min_size=1, max_size=8, unique_by=lambda row: f"{row[0]:.5g}"
)


def table_of(rows: list[tuple[float, float]]) -> profiles.Profile:
    """The table, if it says anything."""
    assume(any(delta < 1 for _, delta in rows))
    return profiles.Table(pairs=rows)


def brute_force(rows: list[tuple[float, float]], eps: float) -> mpf:
    """The largest convex function below pairs, images and (0, 1), at ε: over all chords."""
    with mpmath.workdps(1000):
        points = [(mpf(0), mpf(1))]
        for row_eps, delta in rows:
            # a float stands for the decimal it prints as
            t, d = mpmath.exp(mpf(repr(row_eps))), mpf(repr(delta))
            points += [(t, d), (1 / t, 1 - (1 - d) / t)]
        at = mpmath.exp(mpf(repr(eps)))
        found = min((d for t, d in points if t <= at), default=mpf(1))
        for left, low in points:
            for right, high in points:
                if left < at < right:
                    share = (right - at) / (right - left)
                    found = min(found, share * low + (1 - share) * high)
        return found


@settings(max_examples=25)
@given(ROWS, st.lists(EPS, min_size=1, max_size=3))
def test_values_are_the_envelope(rows: list[tuple[float, float]], points: list[float]) -> None:
    """δ is the envelope of pairs and mirror images, to rounding, and never much below."""
    p = table_of(rows)
    for eps in [*points, 0.0, *(row_eps for row_eps, _ in rows)]:
        truth = brute_force(rows, eps)
        found = mpf(float(p.delta(eps)))
        if truth < mpf("1e-290"):
            continue
        # neighbouring rows may be too close for floats to tell which of them matters
        assert found >= truth * (1 - mpf("1e-11")), (eps, truth)
        assert found <= truth * (1 + mpf("1e-6")) + mpf("1e-12"), (eps, truth)


@given(ROWS)
def test_below_every_row_and_image(rows: list[tuple[float, float]]) -> None:
    """δ is at most every row's, never rises, and starts below what each row's image implies."""
    p = table_of(rows)
    logs = np.asarray(p.log_delta(np.array([eps for eps, _ in rows])))
    with np.errstate(divide="ignore"):
        given_logs = np.log([delta for _, delta in rows])
    assert (logs <= given_logs + 1e-11 * np.maximum(1, np.abs(np.nan_to_num(given_logs)))).all()
    eps = np.sort(np.array([0.0, *np.geomspace(1e-8, 1e3, 60), *(eps for eps, _ in rows)]))
    values = np.asarray(p.log_delta(eps))
    finite = np.isfinite(values)
    assert (np.diff(values[finite]) <= 1e-12 * (1 + np.abs(values[finite][1:]))).all()
    assert (
        np.asarray(p.delta(0.0))
        <= min(1 - (1 - delta) * 2 / (1 + np.exp(min(row_eps, 700))) for row_eps, delta in rows)
        + 1e-12
    )


@given(ROWS)
def test_chords_are_exactly_convex(rows: list[tuple[float, float]]) -> None:
    """The lines that a proof uses fall in slope, strictly, on the exact numbers."""
    curve = table_of(rows).curve
    if not isinstance(curve, LinearCurve) or (lines := curve.lines).count < 2:
        return
    from gdpbridge.numeric.flint_context import precision

    with precision(4000):
        slopes = [lines.line(index).b for index in range(lines.count)]
        assert all(left > right for left, right in pairwise(slopes))


@settings(max_examples=25)
@given(ROWS)
def test_measured_head_covers_every_row(rows: list[tuple[float, float]]) -> None:
    """δ ≤ δ_μ at every row for the μ proved, and nearly not somewhere for the lower end."""
    p = table_of(rows)
    try:
        found = gdp.measure(p, 1e-6, eps_h=20)
    except InputError:
        return
    assert found.certified
    eps = np.concatenate([np.linspace(0, 20, 400), [e for e, _ in rows if e <= 20]])
    transform = np.asarray(p.gdpt(eps))
    assert (transform <= found.mu.upper * (1 + 1e-9) + 1e-12).all()
    assert np.asarray(p.gdpt(found.attained_at)) >= found.mu.lower * (1 - 1e-9) - 1e-12
    assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction(1, 10**6)
