"""Rényi curves as profiles: the exact one of the class, its tail, and sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.guarantees.boundary import Bound
from gdpbridge.guarantees.renyi import divergence_of
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball
from gdpbridge.transformations.tuned import Tuned

P = gdp.profiles
ORDERS = [2, 4, 8]


def of_zcdp(rho: float, orders: list[int] = ORDERS) -> gdp.profiles.Renyi:
    return P.Renyi(orders=orders, epsilons=[rho * one for one in orders])


def test_against_mpmath() -> None:
    """δ(0) is that of randomized response with D_α = ε_α at the order that binds, α = 2."""
    with mpmath.workdps(30):

        def excess(p: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(p**2 / (1 - p) + (1 - p) ** 2 / p) - 1

        p = mpmath.findroot(excess, 0.7)
        mu = -2 * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)
        delta = 2 * p - 1
    # higher orders say more of randomized response than order 2 here
    alone = P.Renyi(orders=[2], epsilons=[1])
    low, high = alone.delta_bounds(0.0)
    assert low <= float(delta) * (1 + 1e-15)
    assert float(delta) * (1 - 1e-15) <= high
    assert float(of_zcdp(0.5).delta(0.0)) < float(delta)
    assert float(mu) > 0


def test_it_lies_between() -> None:
    """Above what attains the divergences, and below the usual conversion, at every ε."""
    curve = of_zcdp(0.5)
    eps = np.array([0.0, 0.5, 2.0, 5.0])
    conversion = np.min(
        [np.exp((a - 1) * (a / 2 - eps)) / a * (1 - 1 / a) ** (a - 1) for a in ORDERS],
        axis=0,
    )
    delta = np.asarray(curve.delta(eps))
    assert (np.asarray(P.Gaussian(sigma=1).delta(eps)) <= delta).all()
    assert (np.asarray(P.ZCDP(rho=0.5).delta(eps)) <= delta * (1 + 1e-12)).all()
    assert (delta <= np.minimum(conversion, 1)).all()


@pytest.mark.parametrize("orders", [[1.5, 2], [2, 4, 32], [5]])
def test_tail(orders: list[float]) -> None:
    """δ stays above the declared exponential from its start on, and no finite μ covers it."""
    profile = P.Renyi(orders=orders, epsilons=[one / 3 for one in orders])
    tail = profile.tail
    assert gdp.identify(profile).verdict == "not-gdp"
    assert tail.rate == Fraction(str(orders[-1])) - 1
    with precision(300):
        for eps in (tail.start, tail.start + 1, 20 * tail.start):
            log = profile.curve.enclose(arb(float(eps))).log()
            bound = tail.log_factor() - float(tail.rate) * float(eps)
            assert log > bound
            assert log < bound + 4 + 2 * float(tail.rate)


@pytest.mark.slow
def test_statements() -> None:
    """Without being asked, all but a failure probability; a head where one is asked for."""
    profile = of_zcdp(0.5)
    found = gdp.measure(profile)
    assert (found.statement, found.certified) == ("approximate", True)
    assert found.failure_probability == 1e-10
    # that of δ(0), which is where G is largest
    delta = float(profile.delta(0.0))
    assert float(found.mu.low) == pytest.approx(2 * math.sqrt(2) * float(mpmath.erfinv(delta)))
    assert gdp.measure(profile, eps_h=3).statement == "head"


@pytest.mark.slow
def test_sums() -> None:
    """Runs, ρ's and μ's add up order by order, and so do divergences of other losses."""
    twice = of_zcdp(1)
    eps = [0.0, 1.0, 4.0]
    expected = twice.delta_bounds(eps)
    for same in (
        of_zcdp(0.5).compose(2),
        P.Sequence(parts=(of_zcdp(0.5), of_zcdp(0.5, [2, 4, 8, 16]))),
        P.Sequence(parts=(of_zcdp(0.5), P.ZCDP(rho=0.5))),
        P.Sequence(parts=(of_zcdp(0.5), P.Gaussian(sigma=1))),
    ):
        assert np.allclose(same.delta_bounds(eps), expected, rtol=1e-12)
        assert same.profile_is == "bound"
    nested = P.Sequence(parts=(of_zcdp(0.25).compose(2), of_zcdp(0.5))).compose(2)
    assert np.allclose(nested.delta_bounds(eps), of_zcdp(2).delta_bounds(eps), rtol=1e-12)
    mixed = P.Sequence(parts=(of_zcdp(0.5), P.Laplace(scale=1)))
    assert (np.asarray(mixed.delta(eps)) > np.asarray(of_zcdp(0.5).delta(eps))).all()


@pytest.mark.parametrize("alpha", [1.5, 2, 8])
def test_divergences_of_losses(alpha: float) -> None:
    """D_α of a loss is the known closed form, rounded up."""
    tilt = Fraction(str(alpha)) - 1
    inside = alpha / (2 * alpha - 1) * math.exp(alpha - 1)
    outside = (alpha - 1) / (2 * alpha - 1) * math.exp(-alpha)
    laplace = math.log(inside + outside) / (alpha - 1)
    found = divergence_of(P.Laplace(scale=1).privacy_losses(), tilt)
    assert found is not None
    assert float(found) == pytest.approx(laplace, rel=1e-13)
    gaussian = P.Gaussian(sigma=2).renyi_divergence(tilt)
    assert Fraction(str(alpha)) / 8 <= gaussian <= Fraction(str(alpha)) / 8 + Fraction(1, 10**18)
    assert P.ApproxDP(epsilon=1, delta=1e-6).renyi_divergence(tilt) is None


def test_files_and_plain_data(tmp_path: Path) -> None:
    """A CSV or JSON file and arrays are the same; infinite divergences say nothing."""
    text = tmp_path / "curve.csv"
    text.write_text("alpha,epsilon\n4,2\n2,1\n8,4\n16,inf\n")
    data = tmp_path / "curve.json"
    data.write_text('[{"order": 2, "rdp": 1}, {"order": 4, "rdp": 2}, {"order": 8, "rdp": 4}]')
    arrays = P.Renyi(orders=np.array(ORDERS), epsilons=np.array([1.0, 2.0, 4.0]))
    assert P.Renyi(str(text)).bounds == P.Renyi(str(data)).bounds == arrays.bounds
    assert gdp.load_profile(arrays.model_dump()) == P.Renyi(**arrays.model_dump())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"orders": [1], "epsilons": [1]}, "α in row 1 is 1: must be a number above 1"),
        ({"orders": [2, 3], "epsilons": [1]}, "epsilons is [1]: must be as many numbers"),
        ({"orders": [2], "epsilons": [-1]}, "ε in row 1 is -1: must be a number > 0"),
        ({"orders": [2], "epsilons": ["x"]}, "ε in row 1 is 'x': must be a number > 0"),
        ({"orders": [2], "epsilons": [math.inf]}, "the number of orders is 0: must be from 1"),
        ({}, "file and orders"),
    ],
)
def test_bad_input(given: dict[str, object], words: str) -> None:
    """One sentence names the row and what is allowed."""
    with pytest.raises(gdp.InputError) as caught:
        P.Renyi(**given)
    assert words in str(caught.value)


def test_parts_that_have_no_divergence() -> None:
    """A part without finite divergences, or without a common order, is refused in words."""
    with pytest.raises(gdp.InputError, match=r"parts\[1\].kind is 'approx-dp'.*pure-dp with δ"):
        P.Sequence(parts=(of_zcdp(1), P.ApproxDP(epsilon=1, delta=1e-5)))
    with pytest.raises(gdp.InputError, match="Rényi curves at the same orders"):
        P.Sequence(parts=(of_zcdp(1), of_zcdp(1, [3])))
    with pytest.raises(gdp.InputError, match=r"parts\[1\].kind is 'icea'"):
        P.Sequence(parts=(of_zcdp(1), P.ICEA(messages=20, users=4)))


def test_what_gives_nothing_away() -> None:
    """Beside a curve it adds nothing; tuned it is refused, as a bound would say that it did."""
    alone = of_zcdp(1)
    for nothing in (P.PureDP(epsilon=0), P.GDP(mu=0)):
        found = P.Sequence(parts=(alone, nothing))
        assert found.delta_bounds(0.5) == alone.delta_bounds(0.5)
        with pytest.raises(gdp.InputError, match="one that gives nothing away"):
            nothing.tune(5)


@pytest.mark.parametrize(
    "base",
    [gdp.profiles.PureDP(epsilon=0.3), gdp.profiles.DiscreteLaplace(scale=3)],
    ids=lambda base: base.kind,
)
def test_the_order_that_binds_next_is_told_with_all_digits(base: gdp.Profile) -> None:
    """Of large orders that floats do not tell apart the wrong one broke those that it skipped."""
    tuned = Tuned(base=base, mean=10, distribution="poisson")
    known = {tilt: tuned.renyi_divergence(tilt) for tilt in sorted(tuned.renyi_orders)}
    orders = [Bound(tilt, value) for tilt, value in known.items() if value]
    with precision(320):
        starts = [BALLS.constant(piece.start) for piece in tuned.curve.pieces]
        assert all(certainly(one < other) for one, other in itertools.pairwise(starts))
        for start in starts[1:]:
            # δ is known on either side, where all orders are obeyed
            for eps in (start - arb(2) ** -40, start + arb(2) ** -40):
                assert tuned.curve.enclose(eps.mid()).log().is_finite()
        # randomized response at the first corner: each order by its formula
        most = tuned.curve.enclose(arb(0)).log().exp()
        p = (1 + most) / 2
        for one in orders:
            power = ball(one.tilt)
            log = ((p / (1 - p)) ** power * p + ((1 - p) / p) ** power * (1 - p)).log()
            assert not certainly(log / power > ball(one.value))
