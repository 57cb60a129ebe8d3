"""The region of two-outcome events that finitely many Rényi divergences allow."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb

from gdpbridge import profiles
from gdpbridge.curves.pieces import Piece
from gdpbridge.guarantees.boundary import Bound, obeys_at_corner, renyi_pieces, zcdp_boundary
from gdpbridge.guarantees.events import Event
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS

# D_α ≤ α/2 at these α: a corner, arcs, and a corner of two orders at least
ORDERS = (2, 4, 8)


def bounds(orders: tuple[int, ...]) -> tuple[Bound, ...]:
    """What 0.5-zCDP says at some orders."""
    return tuple(Bound(Fraction(one - 1), Fraction(one, 2)) for one in orders)


def delta(pieces: tuple[Piece, ...], eps: float) -> float:
    """The proved δ(ε), which must be sharp."""
    with precision(160):
        starts = [BALLS.constant(piece.start) for piece in pieces]
        piece = [one for one, start in zip(pieces, starts, strict=True) if start <= eps][-1]
        found = piece.formula(arb(eps), BALLS).log().exp()
        assert found.rad() < 1e-20
        return float(found)


def gains(eps: float, orders: tuple[int, ...], log_q: np.ndarray) -> np.ndarray:
    """The largest p - e^ε q for each q, over the p that obey every bound in both orders."""
    q = np.exp(log_q)
    low, high = q.copy(), np.full(q.size, 1 - 1e-12)
    for _ in range(50):
        p = (low + high) / 2
        worst = np.full(q.size, -np.inf)
        for alpha in orders:
            for one, two in ((p, q), (q, p)):
                total = one**alpha * two ** (1 - alpha)
                total = total + (1 - one) ** alpha * (1 - two) ** (1 - alpha)
                worst = np.maximum(worst, np.log(total) / (alpha - 1) - alpha / 2)
        low, high = np.where(worst <= 0, p, low), np.where(worst <= 0, high, p)
    return low - np.exp(eps) * q


def by_search(eps: float, orders: tuple[int, ...]) -> float:
    """The largest p - e^ε q over a grid of events, made finer about the best one."""
    log_q = np.linspace(-25, np.log(0.5), 1000)
    for _ in range(4):
        found = gains(eps, orders, log_q)
        best = int(np.argmax(found))
        log_q = np.linspace(log_q[max(best - 1, 0)], log_q[min(best + 1, log_q.size - 1)], 101)
    return float(found.max())


@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0, 2.2, 3.0, 5.3])
def test_it_is_the_best_event(eps: float) -> None:
    """δ(ε) is the largest p - e^ε q over the region, on corners and on arcs."""
    pieces = renyi_pieces(bounds(ORDERS))
    assert len(pieces) == 6
    assert delta(pieces, eps) == pytest.approx(by_search(eps, ORDERS), rel=2e-6)


def test_more_orders_say_more() -> None:
    """δ falls with every order that is added, down to that of zCDP, which has them all."""
    whole = profiles.ZCDP(rho=0.5)
    few, more = (renyi_pieces(bounds(one)) for one in ((2, 8), (2, 3, 4, 5, 6, 8)))
    for eps in (0.1, 1.0, 3.0, 5.0):
        least = whole.delta_bounds(eps)[1]
        assert least < delta(more, eps) <= delta(few, eps)


@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 2), Fraction(64, 25)])
def test_an_arc_says_nothing_where_another_bound_binds(rho: Fraction) -> None:
    """Before an arc begins, and after it ends, its event breaks a bound, and δ is not a number."""
    with precision(128):
        _, divergence, order = pieces = zcdp_boundary(rho).pieces
        first, turn = (BALLS.constant(piece.start).mid() for piece in pieces[1:])
        for piece, eps in ((divergence, 0.9 * first), (divergence, 1.05 * turn), (order, turn / 2)):
            assert piece.formula(eps.mid(), BALLS).log().is_nan()
        for piece, eps in ((divergence, (first + turn) / 2), (order, 2 * turn)):
            assert piece.formula(eps.mid(), BALLS).log().is_finite()


def test_an_arc_of_one_order_says_nothing_where_another_binds() -> None:
    """Far past its end, the event at which the first order binds breaks the next one's bound."""
    with precision(128):
        arcs = [piece for piece in renyi_pieces(bounds(ORDERS)) if piece.by_chords]
        for arc, after in pairwise(arcs):
            far = (2 * BALLS.constant(after.start)).mid()
            assert arc.formula(far, BALLS).log().is_nan()


def test_a_corner_is_held_against_every_other_bound() -> None:
    """Randomized response with ε₀ = 1 has D₂ = log(cosh(3/2)/cosh(1/2)) = 0.7353."""
    event = Event(arb(1), arb(2), arb(0))
    for value, obeyed in ((Fraction(7352, 10**4), False), (Fraction(7354, 10**4), True)):
        assert obeys_at_corner((Bound(Fraction(1), value),))(event) is obeyed
