"""Tables of guarantees that are run several times, or beside other losses: the worst pair's sums.

What is true is found from the table alone with mpmath: what δ bends by at each row, in e^ε, is a
mass of Q, and all outcomes of a few runs are met one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from gdpbridge import profiles
from gdpbridge.interval import Interval
from gdpbridge.losses.brackets import between
from gdpbridge.losses.moments import Factor
from gdpbridge.losses.transforms.finite import FiniteTransform

ROWS = [("0.5", "0.1"), ("1", "0.01"), ("2", "1e-4"), ("3.5", "1e-6")]
UNEVEN = [("0", "0.2"), ("0.5123", "0.1"), ("1.00777", "0.01"), ("2.3333", "0")]


def _pair(rows: Sequence[tuple[str, str]]) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """Losses and P's masses, infinity left out."""
    t = [mpmath.mpf(-1), *(mpmath.exp(mpmath.mpf(eps)) for eps, _ in rows)]
    delta = [mpmath.mpf(1), *(mpmath.mpf(one) for _, one in rows)]
    falls = [(delta[k] - delta[k + 1]) / (t[k + 1] - t[k]) for k in range(len(rows))] + [0]
    found = []
    for number, (eps, _) in enumerate(rows):
        place, bend = mpmath.mpf(eps), falls[number] - falls[number + 1]
        if place:
            found += [(-place, bend), (place, bend * mpmath.exp(place))]
        else:
            found.append((place, 2 * bend))
    return found


def _delta(rows: Sequence[tuple[str, str]], times: int, eps: str) -> mpmath.mpf:
    at, failure = mpmath.mpf(eps), mpmath.mpf(rows[-1][1])
    total = 1 - (1 - failure) ** times
    for outcome in itertools.product(_pair(rows), repeat=times):
        loss = mpmath.fsum(one for one, _ in outcome)
        if loss > at:
            total += mpmath.fprod(mass for _, mass in outcome) * -mpmath.expm1(at - loss)
    return total


def _holds(found: Interval, value: mpmath.mpf) -> bool:
    low, high = (mpmath.mpf(str(one)) for one in (found.low, found.high))
    return bool(low <= value * (1 + mpmath.mpf(10) ** -25) and value <= high)


@pytest.mark.parametrize("rows", [ROWS, UNEVEN])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_some_runs_are_those_of_the_worst_pair(rows: list[tuple[str, str]], times: int) -> None:
    """All digits that are asked for, also of losses on no lattice that is of use."""
    curve = profiles.Table(pairs=rows).compose(times).curve
    with mpmath.workdps(40):
        for eps in ("0", "0.3", "1.25", "4"):
            found = curve.delta_at(Fraction(eps))
            assert _holds(found, _delta(rows, times, eps))
            assert found.high - found.low <= Decimal("1e-15") * max(found.high, Decimal("1e-9"))


@pytest.mark.parametrize("rows", [ROWS, UNEVEN])
def test_one_run_is_the_table(rows: list[tuple[str, str]]) -> None:
    """And rows of log δ are those of δ."""
    table = profiles.Table(pairs=rows)
    logs = [(eps, str(mpmath.log(delta)) if float(delta) else "-inf") for eps, delta in rows]
    for eps in ("0", "0.5", "0.7", "1.5", "3", "9"):
        own = table.curve.delta_at(Fraction(eps))
        found = table.compose(1).curve.delta_at(Fraction(eps))
        assert found.low <= own.high
        assert own.low <= found.high
        near = profiles.Table(pairs=logs, log=True).compose(1).curve.delta_at(Fraction(eps))
        assert abs(near.high - own.high) <= Decimal("1e-13") * own.high


@pytest.mark.parametrize("times", [1, 7, 40])
def test_one_row_is_approximate_dp(times: int) -> None:
    """The worst pair of one row is known in closed form; also beside Gaussian noise."""
    table = profiles.Table(pairs=[(0.25, 1e-4)])
    same = profiles.ApproxDP(epsilon=0.25, delta=1e-4)
    noise = profiles.Gaussian(sigma=2)
    for one, other in (
        (table.compose(times), same.compose(times)),
        (
            profiles.Sequence(parts=(table.compose(times), noise)),
            profiles.Sequence(parts=(same.compose(times), noise)),
        ),
    ):
        for eps in (0, 1, 5):
            found, own = (part.curve.delta_at(Fraction(eps)) for part in (one, other))
            assert found.low <= own.high
            assert own.low <= found.high
            assert abs(found.high - own.high) <= Decimal("1e-11")


def test_many_rows_of_a_curve_are_close_to_it() -> None:
    """Rows of Gaussian noise: a bound of as many runs of it."""
    noise = profiles.Gaussian(sigma=1)
    rows = [(k / 10, float(noise.curve.delta_at(Fraction(k, 10)).high)) for k in range(100)]
    found = profiles.Table(pairs=rows).compose(9).curve.delta_at(Fraction(3))
    true = noise.compose(9).curve.delta_at(Fraction(3))
    assert true.low <= found.high <= true.high * Decimal("1.003")


def test_a_fine_lattice_is_not_followed() -> None:
    """A unit of the laws on either side is no finer than was asked for, whatever the losses'."""
    losses = [Fraction("-3.512345"), Fraction("0.5123"), Fraction("3.512345")]
    law = FiniteTransform(losses, [Fraction(1, 3)] * 3, spacing=Fraction(1, 10**6))
    for side in between([Factor(law, 1, mirrored=False)], 1000):
        assert side.losses.size < 2100
