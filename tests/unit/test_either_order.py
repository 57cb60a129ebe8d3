"""Runs of which each may be worst in another order of both data sets, as with replace-one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

import gdpbridge
from gdpbridge import InputError, Nature, measure
from gdpbridge.mechanisms.densities import Densities
from gdpbridge.mechanisms.pld import PLD
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction

_P, _Q = (0.5, 0.3, 0.2), (0.6, 0.1, 0.3)
_ALONE = "replace-one", "add-remove"


def _losses(p: tuple[float, ...], q: tuple[float, ...]) -> list[list[float]]:
    return [[math.log(a / b), a] for a, b in zip(p, q, strict=True)]


def _pld(neighbours: str) -> PLD:
    return PLD(remove=_losses(_P, _Q), add=_losses(_Q, _P), neighbours=neighbours)


def _mixed(
    epsilon: float,
    orders: tuple[bool, ...],
    one: tuple[float, ...] = _P,
    other: tuple[float, ...] = _Q,
) -> float:
    """Return δ of runs in these orders, summed over all that they may give out."""
    total = 0.0
    ways = [(one, other) if order else (other, one) for order in orders]
    for answers in itertools.product(range(len(one)), repeat=len(orders)):
        p = math.prod(way[0][x] for way, x in zip(ways, answers, strict=True))
        q = math.prod(way[1][x] for way, x in zip(ways, answers, strict=True))
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


@pytest.mark.parametrize("times", [2, 5])
def test_runs_with_a_replaced_record_cover_every_mixture_of_orders(times: int) -> None:
    """The larger one of both orders of all runs does not: that is for neighbours in one order."""
    places = [Fraction(number, 10) for number in range(1, 20, 3)]
    replaced = _pld("replace-one").compose(times)
    one_way = _pld("add-remove").compose(times)
    exceeded = False
    for place in places:
        worst = max(
            _mixed(float(place), orders)
            for orders in itertools.product((False, True), repeat=times)
        )
        both = max(_mixed(float(place), (order,) * times) for order in (False, True))
        assert float(one_way.curve.delta_at(place).upper) == pytest.approx(both, abs=1e-12)
        assert float(replaced.curve.delta_at(place).lower) >= worst - 1e-12
        exceeded |= worst > both + 1e-4
    assert exceeded
    assert measure(replaced).mu.lower > measure(one_way).mu.upper
    assert (replaced.profile_is, one_way.profile_is) == (Nature.BOUND, Nature.OWN)


def test_one_run_is_as_it_is_given() -> None:
    """The two orders of one run are what the larger δ is of."""
    one, other = (measure(_pld(name)) for name in _ALONE)
    assert one.mu == other.mu
    assert _pld("replace-one").profile_is is Nature.OWN


def test_a_failure_in_one_direction_counts_for_both() -> None:
    """Beyond the losses of the one that fails the other one's losses tell no more."""
    p, q = (0.01, 0.55, 0.4393, 0.0007), (0.0, 0.4, 0.595, 0.005)
    remove = [["inf", p[0]], *_losses(p[1:], q[1:])]
    runs = PLD(remove=remove, add=_losses(q[1:], p[1:]), neighbours="replace-one").compose(3)
    for place in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(3)):
        orders = itertools.product((False, True), repeat=3)
        worst = max(_mixed(float(place), order, p, q) for order in orders)
        assert worst - 1e-12 <= float(runs.curve.delta_at(place).upper) <= 1.2 * worst


def test_densities_of_a_replaced_record_cover_every_mixture_of_orders() -> None:
    """They are a pair in two orders, too."""
    formulas = {"p": "1 + (x - 1/2)", "q": "13/12 - (x - 1/2)**2"}
    runs = [Densities(**formulas, low=0, high=1, neighbours=name).compose(6) for name in _ALONE]
    place = Fraction(1, 4)
    replaced, one_way = (one.curve.delta_at(place) for one in runs)
    assert replaced.lower > one_way.lower
    assert all(one.profile_is is Nature.BOUND for one in runs)


def test_a_tradeoff_function_of_a_replaced_record_is_taken_in_both_orders() -> None:
    """One run has the δ that it had; of several, the pair of the envelope of f and f⁻¹ is worst."""
    points = {"alpha": [0, 0.1, 1], "beta": [1, 0.4, 0]}
    one, other = (TradeoffFunction(**points, neighbours=name) for name in _ALONE)
    assert measure(one).mu == measure(other).mu
    runs, one_way = (measure(each.compose(4)) for each in (one, other))
    assert runs.mu.lower > one_way.mu.upper


def test_a_part_that_names_no_neighbours_is_asked_for_them() -> None:
    """Else it would be taken in one order."""
    parts = [PLD(remove=_losses(_P, _Q), add=_losses(_Q, _P)), _pld("replace-one")]
    with pytest.raises(InputError, match=r"parts\[0\]\.neighbours"):
        gdpbridge.mechanisms.base.profile_class("sequence")(parts=parts)


def test_runs_in_one_order_alone_have_no_certificate_with_replace_one() -> None:
    """The checker refuses what would add up one order, and none is written."""
    from gdpbridge.certificate.reach import uncertifiable_because
    from gdpbridge_verify.composition import composition_of
    from gdpbridge_verify.refusal import Malformed

    replaced, one_way = (_pld(name).compose(3) for name in _ALONE)
    assert "replace-one" in uncertifiable_because(replaced)
    assert not uncertifiable_because(one_way)
    assert composition_of(one_way.specification()).nature == "own"
    with pytest.raises(Malformed, match="replace-one"):
        composition_of(replaced.specification())
    points = TradeoffFunction(alpha=[0, 0.1, 1], beta=[1, 0.4, 0], neighbours="replace-one")
    runs = points.compose(3).specification()
    assert composition_of(runs).nature == "class"
    with pytest.raises(Malformed, match="replace-one"):
        composition_of({**runs, "base.rows": "0:1 1/10:2/5 1:0"})


def test_where_delta_is_not_known_to_fall_the_rest_counts_as_a_failure() -> None:
    """As far out on a range without end, and everywhere of a run that only ever fails."""
    formulas = {"p": "exp(-x)", "q": "exp(-x/1.5)/1.5"}
    runs = Densities(**formulas, low=0, neighbours="replace-one").compose(2)
    place = Fraction(1, 2)
    start = mpmath.mpf(1) / 2 + 2 * mpmath.log(1.5)

    def told(total: mpmath.mpf) -> mpmath.mpf:
        """Twice Q: of a sum of both answers the loss is a third, less what they begin at."""
        density = total * mpmath.exp(-total / 1.5) / 2.25
        return density * (1 - mpmath.exp(start - total / 3))

    backward = float(mpmath.quad(told, [3 * start, 15, 40, mpmath.inf]))
    assert backward <= float(runs.curve.delta_at(place).upper) <= 1.25 * backward
    only = PLD(
        remove=[["inf", 0.01], [math.log(0.99), 0.99]],
        add=[[-math.log(0.99), 1.0]],
        neighbours="replace-one",
    ).compose(3)
    assert float(only.curve.delta_at(Fraction(0)).upper) == pytest.approx(1 - 0.99**3, rel=1e-9)
