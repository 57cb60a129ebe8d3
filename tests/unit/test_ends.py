"""How δ falls by the losses at the ends of two densities: each bound is on its own side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from gdpbridge.curves.tails import CoarseDecayTail, SlowDecayTail, SlowerTail
from gdpbridge.expressions.sums import Exponential, Monomial, Sum, UnknownGrowthError
from gdpbridge.expressions.tree import Name
from gdpbridge.guarantees import decay, ends
from gdpbridge.guarantees.ends import End, Losses, tail_of
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction

SPREAD = arb(0, 0.25)
LEAST = Fraction(16)


def growing(*terms: tuple[int, int, object], start: Fraction = LEAST) -> Sum:
    """The sum of c·y^p·(log y)^q, each given as (p, q, c)."""
    made: dict[Monomial, arb] = {(Fraction(p), Fraction(q)): arb(c) for p, q, c in terms}
    return Sum(made, ball(start))


def losses(loss: Sum, log_p: Sum) -> Losses:
    """Those of which only P's density is asked about."""
    return Losses(loss, log_p, log_p)


def test_the_exponent_is_the_least_that_balls_allow() -> None:
    """L ≤ 1.25·y and -log p ≥ 1.5·y² leave 15/16 of 1.5/1.25² of ε², of 1/16 of 16 each a mass."""
    found = tail_of([losses(growing((1, 0, 1 + SPREAD)), growing((2, 0, -2 + 2 * SPREAD)))], arb(0))
    assert isinstance(found, CoarseDecayTail)
    width = 1 / (2 * 15 / 16 * 1.5 / 1.25**2)
    # radii of balls have some thirty bits
    assert width <= float(found.width) ** 2 < width * (1 + 1e-7)
    # c²/(2d): from .75²/5 to 1.25²/3
    assert float(found.mu_t.low) ** 2 <= 0.75**2 / 5
    assert float(found.mu_t.high) ** 2 >= 1.25**2 / 3
    with precision(96):
        assert ball(found.log_factor) >= (arb(2) / 16).log()


@pytest.mark.parametrize("beyond", [0.25, 5])
def test_what_is_told_of_ends_is_rounded_outward(
    beyond: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slowest end counts, whatever its ball; and from 1, or the losses elsewhere, on."""
    third = arb(1) / 3
    rates = iter([(third + SPREAD / 2, third - SPREAD, third + SPREAD), (arb(2), arb(0), arb(0))])
    monkeypatch.setattr(ends, "_rate", lambda _: next(rates))
    one = losses(growing((1, 0, 1)), growing((2, 0, -1)))
    found = tail_of([one, one], arb(beyond) + SPREAD)
    assert isinstance(found, CoarseDecayTail)
    steepness = Fraction(1, 3) - Fraction(1, 8)
    assert found.width**2 >= 1 / (2 * steepness)
    assert Fraction(found.mu_t.low) <= Fraction(1, 12)
    assert Fraction(found.mu_t.high) >= Fraction(1, 3) + Fraction(1, 4)
    with precision(96):
        assert ball(found.start) >= max(1, beyond + 0.25)


def test_a_tail_parameter_is_enclosed_in_decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a number with more digits."""
    third = (arb(1) / 3).mid()
    monkeypatch.setattr(ends, "_rate", lambda _: (third, third, third))
    found = tail_of([losses(growing((1, 0, 1)), growing((2, 0, -1)))], arb(0))
    assert isinstance(found, CoarseDecayTail)
    assert Fraction(found.mu_t.low) < to_fraction(third) < Fraction(found.mu_t.high)


@pytest.mark.parametrize(
    ("loss", "log_p", "decided"),
    [
        # 1/16 of .3·16² is less than 2 log 16, of .4·16² it is more
        (growing((1, 0, 1)), growing((2, 0, arb(-0.4, 0.1))), False),
        (growing((1, 0, 1)), growing((2, 0, arb(-0.45, 0.05))), True),
        # y⁴ over y²·log⁶ y falls up to log y = 3
        (growing((1, 3, 1)), growing((4, 0, -1)), False),
        (growing((1, 3, 1), start=Fraction(21)), growing((4, 0, -1), start=Fraction(21)), True),
        # it may be below 0 at 16
        (growing((1, 0, 1), (0, 0, -17)), growing((2, 0, -1)), False),
        # that is no density
        (growing((1, 0, 1)), growing((1, 0, 0.5)), False),
        (growing((1, 0, 1)), growing((2, 0, 0.5)), False),
    ],
)
def test_what_is_not_certain_is_not_decided(loss: Sum, log_p: Sum, decided: bool) -> None:
    """A tail is told of only where formulas prove it from where they begin."""
    found = tail_of([losses(loss, log_p)], arb(0))
    assert isinstance(found, CoarseDecayTail) if decided else found is None


@pytest.mark.parametrize(("c", "least"), [(arb(2) + SPREAD, 36), (arb("1.003"), 16.048)])
def test_a_slow_end_begins_where_the_loss_is_that_large(c: arb, least: float) -> None:
    """-log p ~ y of a loss ~ c·y is of the order ε, not ε²."""
    found = tail_of([losses(growing((1, 0, c)), growing((1, 0, -1)))], arb(0))
    assert isinstance(found, SlowerTail)
    with precision(96):
        assert ball(found.start) >= least - 1e-12


def test_ends_cover_the_cells_next_to_them() -> None:
    """All x up to 2/35 away have a y = 1/x of at least 17."""
    assert End.next_to(Fraction(0), Fraction(2, 35), upwards=True).start == 17


# --- formulas of δ far out ------------------------------------------------------------------------


def test_a_slow_tail_falls_no_faster_than_is_told() -> None:
    """log δ ≥ -kε, k rounded up; never below 0."""
    for c, least in ((arb(-1.2345) + SPREAD, 1.4845), (arb(-1.0005), 1.0005), (arb(0.5), 0.0)):
        tail = decay._slow(growing((1, 0, c)), 16)
        assert isinstance(tail, SlowDecayTail)
        assert least <= tail.rate <= least + 1


def test_a_square_that_is_hardly_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """log δ ≤ -(1 - ¼)·ε², and μ_t is 1/√2 with more digits than are told."""
    start = decay._STARTS[-1]
    known = growing((2, 0, -1), start=Fraction(start))
    monkeypatch.setattr(decay, "_growth", lambda *_: known)
    rough = growing((2, 0, arb(-1) + SPREAD), start=Fraction(start))
    with precision(192):
        tail = decay._gaussian(Name("eps"), rough, start)
    assert isinstance(tail, CoarseDecayTail)
    assert tail.width**2 >= Fraction(2, 3)
    assert Fraction(tail.mu_t.low) ** 2 < Fraction(1, 2) < Fraction(tail.mu_t.high) ** 2
    # a square that may not fall bounds nothing
    doubtful = Sum({**rough.terms, (Fraction(2), Fraction(-1)): arb(0, 99)}, ball(start))
    with pytest.raises(UnknownGrowthError):
        decay._gaussian(Name("eps"), doubtful, start)


def test_what_falls_faster_falls_no_faster_than_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """log δ ≤ -e^{cε} is at most -e^{10}·ε² from where cε - 2 log ε is 10 on."""
    start = decay._FAST_START
    c = (10 + 2 * math.log(start)) / start
    known = Exponential(positive=False, exponent=growing((1, 0, c), start=Fraction(start)))
    monkeypatch.setattr(decay, "_growth", lambda *_: known)
    tail = decay._faster(Name("eps"), 16)
    assert isinstance(tail, CoarseDecayTail)
    assert float(tail.width) ** 2 >= math.exp(-10) / 2 * (1 - 1e-9)
    assert tail.start == start
