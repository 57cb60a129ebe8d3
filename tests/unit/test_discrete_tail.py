"""From where on lines of discrete Gaussian noise stay below a μ: against their own μ by mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.curves.tails import DiscreteGaussianTail
from gdpbridge.numeric.flint_context import precision

P = gdp.profiles


def line_mu(variance: Fraction, apart: int, n: int) -> mpmath.mpf:
    """Φ⁻¹(P(X ≥ n)) - Φ⁻¹(P(X ≥ n + D)) of whole numbers with e^{-x²/(2V)}."""
    with mpmath.workdps(60):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        norm = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * v)))

        def place(first: int) -> mpmath.mpf:
            total, x = mpmath.mpf(0), first
            while True:
                term = mpmath.exp(-(x * x) / (2 * v)) / norm
                total += term
                if term < total * mpmath.mpf(10) ** -50:
                    break
                x += 1
            z = mpmath.sqrt(-2 * mpmath.log(total))
            # Φ(-z) = total, by Newton's method on its logarithm
            for _ in range(60):
                value = mpmath.erfc(z / mpmath.sqrt(2)) / 2
                density = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)
                step = (mpmath.log(value) - mpmath.log(total)) * value / density
                z += step
                if abs(step) < mpmath.mpf(10) ** -45:
                    break
            return z

        return place(n + apart) - place(n)


@pytest.mark.parametrize(
    ("sigma", "runs", "share"),
    [(4, 1, 4), (4, 10, 3), (2, 100, 2), (10, 20, 2), (Fraction(3, 2), 400, 2), (1, 1, 9)],
)
def test_what_is_covered_is_below(sigma: float, runs: int, share: int) -> None:
    """The bound of all lines from one on is above each of them, and closely."""
    curve = P.DiscreteGaussian(sigma=float(sigma)).compose(runs).curve
    tail = curve.tail
    assert isinstance(tail, DiscreteGaussianTail)
    n = int(share * tail.variance)
    own = [line_mu(tail.variance, tail.apart, at) for at in (n, n + 1, n + n // 3, 2 * n)]
    with precision(160), mpmath.workdps(40):
        uneven = tail.uneven()
        assert not tail._below(
            n, arb(mpmath.nstr(max(own) * (1 - mpmath.mpf(10) ** -15), 30)), uneven
        )
        assert tail._below(n, arb(mpmath.nstr(max(own), 30)) * 2, uneven)
        # as a number of lines has to be looked at, it is close where they are many
        close = max(own) * (1 + mpmath.mpf(2) / n)
        assert runs < 20 or tail._below(n, arb(mpmath.nstr(close, 30)), uneven)


def test_a_thousand_runs_are_covered_early() -> None:
    """Lines are looked at up to a tenth of the range that the decay alone leaves."""
    curve = P.DiscreteGaussian(sigma=4).compose(100).curve
    found = curve.tail.covered_from(curve.largest_seen, Fraction(1, 10**9))
    assert found is not None
    assert found.shown_from is not None
    assert found.end < found.shown_from / 10
