"""Runs far from those that people train with: an answer, or one sentence, without much work."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.convert import beta_at, delta_at, epsilon_at
from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
from gdpbridge.numeric.effort import within
from gdpbridge.numeric.flint_context import precision

# units of work that each of these may take: a second
FEW = 10_000_000


def run(sigma: float, rate: float, steps: int, **more: Any) -> gdp.profiles.DPSGD:
    """Return a run."""
    return gdp.profiles.DPSGD(noise_multiplier=sigma, sample_rate=rate, steps=steps, **more)


@pytest.mark.parametrize(
    ("setting", "delta"),
    [((5.338, 6.102e-5, 111), "1e-10"), ((1.721, 0.001582, 45), "1e-5")],
    ids=["rare noise", "where it seems to be no line is of use"],
)
def test_epsilon_where_chernoffs_bound_jumps(setting: tuple[float, float, int], delta: str) -> None:
    """Beyond the tilt at which rare noise outweighs all else Chernoff's bound tells nothing."""
    one = run(*setting)
    with within("ε", "", FEW):
        found = epsilon_at(one, delta)
        assert found.high - found.low < found.low / 10**11
        assert delta_at(one, found.low).low >= Decimal(delta) >= delta_at(one, found.high).high


def test_mu_where_lines_are_dear() -> None:
    """Levels of δ do where G is small: one ε each, not a line for every few deviations."""
    with within("μ", "", FEW):
        found = gdp.measure(run(16.5, 2.346e-5, 333), failure=1e-10).mu
        assert found.low < Decimal("0.0000260784920160") < found.high


@pytest.mark.parametrize(
    ("setting", "more", "mu"),
    [
        # soft steps of noise that is split off need a tenth of the nodes that steep ones do
        ((0.559, 1e-5, 1000), {}, "0.0872766582597"),
        # a look at G far beyond p is to no more digits than p has
        ((3.026, 4.644e-5, 194), {"neighbours": "replace-one"}, "0.000428364006154"),
    ],
    ids=["little noise", "replaced records"],
)
def test_mu_of_seldom_samples(
    setting: tuple[float, float, int], more: dict[str, Any], mu: str
) -> None:
    """They took 40 and 30 million operations."""
    with within("μ", "", 2 * FEW):
        found = gdp.measure(run(*setting, **more), failure=1e-10).mu
        assert found.low < Decimal(mu) < found.high


def test_a_rate_where_delta_is_nothing_beside_one() -> None:
    """Far out no digits of δ are asked for; the error is where its tangents say, by all digits."""
    one, alpha = run(2.236, 1e-5, 1000), 0.01
    with within("f(α)", "", FEW):
        found = beta_at(one, alpha)
    assert found.high - found.low < Decimal("1e-11")
    tangents = []
    for eps in (place / 4000 for place in range(1, 12)):
        values = delta_at(one, eps)
        tangents.append(1 - values.low - Decimal(alpha) * Decimal(math.exp(eps)))
    # none is above, and the largest is near
    assert found.high - Decimal("1e-5") < max(tangents) <= found.high + Decimal("1e-15")


def test_a_delta_of_which_no_digit_is_of_use() -> None:
    """It is next to 0 by Chernoff's bound, and no line is made."""
    with within("δ", "", FEW):
        assert delta_at(run(15.78, 0.001414, 36), 7.334) == gdp.Interval(0, Decimal("1e-4000"))
        assert delta_at(run(15.78, 0.001414, 0), 7.334) == gdp.Interval(0, 0)


def test_batches_of_a_fixed_size_where_the_atom_is_nearly_all() -> None:
    """Nodes reach to where their rest can be bounded, however small the integral is beside F."""
    from scipy.integrate import quad

    shift, rate, tilt = Fraction(200, 253), Fraction("0.001194"), Fraction(10)
    transform = FixedSizeTransform(shift, rate)
    with precision(128):
        found = transform.values(transform.plan(tilt, -20.0), tilt, Fraction(1), 1)[0].real
        atom = float(transform.atom())
    m, q = float(shift), float(rate)

    def both(u: float) -> float:
        g = 1 + q * math.expm1(m * (u - m / 2))
        return math.exp(-u * u / 2) / math.sqrt(2 * math.pi) * (g**10 + g**-9)

    assert float(found.mid()) == pytest.approx(atom + quad(both, m / 2, 30)[0], rel=1e-9)
    assert float(found.rad()) < 1e-7


def test_no_step_at_all() -> None:
    """Where even one step is too much the number of steps is 0, in place of a traceback."""
    given = {"noise_multiplier": 0.5, "sample_rate": 0.1}
    found = gdp.calibrate("dpsgd", parameter="steps", target_epsilon=1, target_delta=1e-5, **given)
    assert (found.value, found.beyond) == (0, 1)
