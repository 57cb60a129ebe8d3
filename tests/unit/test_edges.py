"""Where proofs end and begin: the very place is on the safe side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

import gdpbridge as gdp
from gdpbridge.curves import tradeoff
from gdpbridge.curves.binomial import BinomialLines
from gdpbridge.curves.handover import decay_handover
from gdpbridge.curves.linear import LinearCurve
from gdpbridge.curves.pieces import Piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tails import (
    AssumedTail,
    CoarseDecayTail,
    ConstantTail,
    GaussianDecayTail,
    SlowDecayTail,
)
from gdpbridge.curves.tradeoff import errors_at, proved_errors
from gdpbridge.errors import UndecidedError
from gdpbridge.expressions.parse import parse_expression
from gdpbridge.gaussian import ball as doors
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.guarantees.decay import proved_tail
from gdpbridge.measure import statements
from gdpbridge.measure.methods import breakpoints, certified
from gdpbridge.measure.problem import Problem
from gdpbridge.numeric.decide import MorePrecisionError
from gdpbridge.numeric.exact import exact
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Operations, Probability, ball, to_fraction

_TOL = Fraction(1, 10**9)


def _root(number: int) -> Callable[[], arb]:
    return lambda: arb(number).sqrt()


# --- where a decaying tail takes over --------------------------------------------------------


def _handover(
    log_factor: Fraction, width: Any, start: Any, linear: Fraction, largest: arb
) -> tuple[Fraction, Fraction, Fraction]:
    return decay_handover(
        log_factor, width, start, linear, largest=lambda: largest, tol=Fraction(1, 10**9)
    )


def test_a_tail_does_not_begin_before_its_start() -> None:
    """A bound that holds from √8 on proves nothing before; μ is at least √2, the width at most."""
    end, low, high = _handover(Fraction(-20), _root(2), _root(8), Fraction(0), arb(2))
    assert 8 <= end**2 < 8 + Fraction(1, 10**60)
    assert 2 - Fraction(1, 10**60) < low**2 <= 2
    assert high == 2
    high = _handover(Fraction(-20), _root(2), Fraction(10), Fraction(0), arb(0))[2]
    assert 2 <= high**2 < 2 + Fraction(1, 10**60)


def test_a_tail_takes_over_at_its_start_beyond_one() -> None:
    """A start beyond 1 is kept, one before 1 is moved to where the inequality holds."""
    assert _handover(Fraction(-20), Fraction(1), Fraction(3), Fraction(0), arb(2))[0] == 3
    assert 3 < _handover(Fraction(-20), Fraction(1), Fraction(0), Fraction(0), arb(0))[0] < 4


def test_a_tail_needs_the_largest_mu_seen() -> None:
    """The μ that covers the tail is at least the largest G that is known."""
    _, low, high = _handover(
        Fraction(3), Fraction(1), Fraction(2), Fraction(0), (arb(5) / 3).lower()
    )
    assert low == 1
    assert Fraction(5, 3) - Fraction(1, 10**12) < high <= Fraction(5, 3)


@pytest.mark.parametrize("log_factor", [5, 50])
def test_beyond_the_handover_the_curve_is_above(log_factor: int) -> None:
    """From the place that is returned on, log δ_μ is above the bound, which it is not before."""
    end, _, mu = _handover(Fraction(log_factor), Fraction(1), Fraction(1), Fraction(0), arb(2))
    with precision(256):

        def gap(eps: arb) -> arb:
            return gaussian.log_delta_of(eps, ball(mu)) - (log_factor - eps * eps / 2)

        assert all(gap(ball(end) * factor) >= 0 for factor in (1, 2, 5, 100))
        assert gap(arb(1)) < 0


def test_a_tail_as_wide_as_the_curve_must_fall_faster() -> None:
    """With κ = 1/2 and w = μ the bound never falls below the curve for good."""
    with pytest.raises(UndecidedError, match="could not be shown"):
        _handover(Fraction(-10), Fraction(1), Fraction(1), Fraction(1, 2), arb(0))


def test_a_tail_after_sampling_begins_late_enough() -> None:
    """It begins where the bound falls, not before 1, and not before its own start."""

    def start(log_start: Fraction, linear: Fraction, mu_t: Fraction) -> arb:
        tail = GaussianDecayTail(Fraction(0), mu_t, log_start, linear)
        with precision(128):
            return BALLS.constant(tail.after_sampling(Fraction(1, 2)).start)

    assert start(Fraction(0), Fraction(0), Fraction(1)) >= 1
    assert start(Fraction(0), Fraction(1, 2), Fraction(4)) >= 8
    with precision(128):
        assert abs(start(Fraction(30), Fraction(0), Fraction(1)) - 30 + arb(2).log()) < 1e-12


def test_an_assumed_mu_is_not_rounded_down() -> None:
    """μ = 1/10 as an upper bound is a float that is not below it."""
    tail = AssumedTail(Fraction(1, 10) + Fraction(1, 10**30), Fraction(100), "gaussian")
    assert Fraction(tail.mu_tail.high) > Fraction(1, 10)


# --- tails of formulas -----------------------------------------------------------------------


def _tail(text: str) -> Any:
    return proved_tail(parse_expression(text, "text"), True, Fraction(0))


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("-1.0005*eps", lambda eps: -1.0005 * eps),
        ("-eps - 2*log(eps)", lambda eps: -eps - 2 * math.log(eps)),
        ("-eps/1000 - 1/eps", lambda eps: -eps / 1000 - 1 / eps),
    ],
)
def test_a_slow_tail_is_above_its_bound(text: str, log: Callable[[float], float]) -> None:
    """log δ ≥ log factor - rate·ε from the start on, with the rate rounded up."""
    tail = _tail(text)
    assert isinstance(tail, SlowDecayTail)
    begin, rate = float(tail.start), float(tail.rate)
    for eps in (begin, 1.5 * begin, 10 * begin, 1e6 * begin):
        assert log(eps) >= float(tail.log_factor) - rate * eps
    assert rate <= 1.5


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("-eps**3/7", lambda eps: -(eps**3) / 7),
        ("-eps**2*log(eps)", lambda eps: -(eps**2) * math.log(eps)),
        ("-eps**2/3 - eps**1.75", lambda eps: -(eps**2) / 3 - eps**1.75),
        ("-exp(eps/200)", lambda eps: -math.exp(min(eps / 200, 700))),
    ],
)
def test_a_coarse_tail_is_below_its_bound(text: str, log: Callable[[float], float]) -> None:
    """log δ ≤ log factor - ε²/(2w²) from the start on, with the width rounded up."""
    tail = _tail(text)
    if isinstance(tail, GaussianDecayTail):
        with precision(128):
            assert abs(BALLS.constant(tail.mu_t) - (arb(3) / 2).sqrt()) < 1e-12
        return
    assert isinstance(tail, CoarseDecayTail)
    begin, width = float(tail.start), float(tail.width)
    for eps in (begin, 1.5 * begin, 10 * begin):
        assert log(eps) <= float(tail.log_factor) - eps * eps / (2 * width * width)


@pytest.mark.parametrize("text", ["-eps**3 + 1e9*eps**2", "-((1+exp(-100))-1)*eps**2 + 1e12*eps"])
def test_a_tail_that_rises_at_first_is_not_claimed(text: str) -> None:
    """Where even the last start is too early for the leading term, nothing is said."""
    assert _tail(text) is None


def test_a_tail_parameter_is_within_its_interval() -> None:
    """μ_t = √(3/2) lies strictly between the ends, which agree in nineteen digits."""
    tail = _tail("-eps**2/3 - eps**1.75")
    around = tail.mu_t if isinstance(tail, CoarseDecayTail) else tail.mu_tail
    assert Fraction(around.low) ** 2 < Fraction(3, 2) < Fraction(around.high) ** 2


# --- where curves end ------------------------------------------------------------------------


def _decay(eps: Any, ops: Operations) -> Probability:
    return Probability.from_log(ops, -eps - 1)


def test_at_an_end_that_is_not_told_apart_delta_may_be_either() -> None:
    """About an irrational end δ is between 0 and the piece's value; beyond it is 0, before not."""
    end = _root(2)
    tail = ConstantTail(end, Fraction(0))
    curve = SmoothCurve((Piece(Fraction(0), _decay),), tail, end)
    with precision(64):
        at = arb(2).sqrt().mid()
        found = curve.enclose(at)
        assert found.log().is_nan()
        complement = found.log_complement()
        assert complement.contains(0)
        assert complement.contains((1 - (-at - 1).exp()).log().mid())
        before, beyond = curve.enclose(at - arb(2) ** -40), curve.enclose(at + arb(2) ** -40)
        assert before.log() < -2
        assert beyond.log() == arb.neg_inf()


def test_about_a_breakpoint_both_pieces_count() -> None:
    """Between pieces δ may be either's; on both sides it is its own."""

    def lower(eps: Any, ops: Operations) -> Probability:
        return Probability.from_log(ops, -eps - 3)

    pieces = (Piece(Fraction(0), _decay), Piece(_root(2), lower))
    curve = SmoothCurve(pieces, ConstantTail(Fraction(10), Fraction(0)), Fraction(10))
    with precision(64):
        at = arb(2).sqrt().mid()
        found = curve.enclose(at).log()
        assert found.contains((-at - 1).mid())
        assert found.contains((-at - 3).mid())
        assert abs(curve.enclose(at - arb(2) ** -40).log() + at + 1) < 1e-9
        assert abs(curve.enclose(at + arb(2) ** -40).log() + at + 3) < 1e-9


# --- the ends of an interval -----------------------------------------------------------------


def _gaussian(mu: Fraction) -> SmoothCurve:
    """Return δ_μ as any smooth curve."""

    def delta(eps: Any, ops: Operations) -> Probability:
        width = ops.constant(mu)
        if ops is BALLS:
            return gaussian.probability(eps, width)
        low, high = eps[0].lower(), eps[0].upper()
        return Probability(
            lambda: gaussian.log_delta_series(low, high, width),
            lambda: gaussian.log_delta_complement_series(low, high, width),
        )

    return SmoothCurve((Piece(Fraction(0), delta),), ConstantTail(Fraction(3), Fraction(0)))


@pytest.mark.parametrize("below", [True, False])
def test_a_mu_a_hair_from_a_decimal_is_within_the_interval(below: bool) -> None:
    """μ = 1/2 ± 1e-50, which the precision does not tell from 1/2, is between both ends."""
    hair = Fraction(1, 10**50)
    mu = Fraction(1, 2) + (-hair if below else hair)
    problem = Problem(_gaussian(mu), Fraction(1), _TOL)
    with precision(159):
        attempt = certified._Proof(problem)
        attempt._accept(arb(1) / 2)
        assert attempt.low < mu < attempt.low + _TOL
        assert to_fraction(attempt.candidate) > attempt.low + _TOL / 3


# --- the failure probability of a statement --------------------------------------------------


def test_the_failure_of_a_head_is_not_rounded_down() -> None:
    """δ(ε_h) = 1/10 + 1e-80 is more than 1/10, and so is p, in twenty digits; log p as well."""
    row = "0.1" + "0" * 78 + "1"
    found = gdp.measure(gdp.profiles.Table(pairs=[("1", row), ("2", "0.01")]), eps_h=1)
    delta = Fraction(row)
    assert delta < found.failure <= delta + Fraction(1, 10**19)
    assert Fraction(found.failure_probability) >= found.failure
    with precision(512):
        assert arb(found.log_failure_probability) >= ball(delta).log()
        assert arb(found.log_failure_probability) < ball(delta).log() + arb(2) ** -50


def test_a_tiny_failure_of_a_head_is_not_lost() -> None:
    """δ(ε_h) = e^-50000 is below what is written out: p is 1e-4000, and its logarithm right."""
    found = gdp.measure(gdp.profiles.Formula("delta = exp(-eps**2/2)"), eps_h=320, tol=1e-3)
    assert 1 <= found.failure * 10**4000 < 1 + Fraction(1, 10**18)
    assert found.failure_probability == math.ulp(0.0)
    assert -51_200 <= found.log_failure_probability < -51_199.9


@pytest.mark.parametrize("p", ["0.1" + "0" * 40 + "1", "1e-5", "0.3333333333333333333333"])
def test_a_failure_that_is_asked_for_is_not_rounded_down(p: str) -> None:
    """p and log p are reported as floats that are at least what was asked for."""
    profile = gdp.profiles.ApproxDP(epsilon=1, delta=1e-6)
    found = gdp.measure(profile, failure=p)
    assert found.failure == Fraction(p)
    nearest = exact(found.failure_probability)
    assert Fraction(p) <= nearest or Fraction(found.failure_probability) >= Fraction(p)
    with precision(256):
        assert arb(found.log_failure_probability) >= ball(Fraction(p)).log()
        assert arb(found.log_failure_probability) < ball(Fraction(p)).log() + arb(2) ** -48


def test_an_interval_that_is_as_wide_as_asked_for_is_given() -> None:
    """Ends that are apart by the tolerance itself are near enough; any more is refused."""
    for profile in (gdp.profiles.Laplace(scale=1), gdp.profiles.DiscreteLaplace(scale=1)):
        found = gdp.measure(profile, tol=1e-6)
        assert 0 < found.mu.high - found.mu.low <= Decimal("1.02e-6")


# --- bounds of the trade-off function --------------------------------------------------------


def test_perfect_privacy_is_within_its_own_bounds() -> None:
    """f(α) = 1 - α exactly, which the bounds hold although they are rounded."""
    alpha = np.array([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])
    low, high = proved_errors(zero_curve(), alpha)
    assert all(low <= 1 - alpha)
    assert all(1 - alpha <= high)
    assert all(high - low < 1e-14)


@pytest.mark.parametrize("mu", [0.25, 1.0, 3.0])
def test_bounds_of_f_hold_that_of_a_gaussian(mu: float) -> None:
    """f_μ(α) = Φ(Φ⁻¹(1 - α) - μ) lies between the bounds, which are close."""
    alpha = np.array([1e-6, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99])
    low, high = proved_errors(gdp.profiles.GDP(mu=mu).curve, alpha)
    for number, level in enumerate(alpha.tolist()):
        assert low[number] <= doors.beta_upper(level, mu)
        assert doors.beta_lower(level, mu) <= high[number]
    assert all(high - low < 1e-11)


@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
def test_bounds_of_f_hold_that_of_randomized_response(eps: float) -> None:
    """f of ε₀-randomized response is a line to its corner at 1/(1 + e^ε₀), and one back."""
    profile = gdp.profiles.PureDP(epsilon=eps)
    corner = 1 / (1 + math.exp(eps))
    alpha = np.array([corner / 3, corner / 2, 0.9 * corner, 1.1 * corner, (1 + corner) / 2])
    low, high = proved_errors(profile.curve, alpha)
    exact = np.where(alpha < corner, 1 - np.exp(eps) * alpha, (1 - alpha) * np.exp(-eps))
    assert all(low <= exact + 1e-15)
    assert all(exact - 1e-15 <= high)
    assert all(high - low < 1e-6)


# --- which lines apply -----------------------------------------------------------------------


def test_lines_are_counted_up_to_an_epsilon() -> None:
    """Three randomized responses have losses 1 and 3: one line up to 1, the other up to 3."""
    lines = BinomialLines(Fraction(1), 3)
    with precision(128):
        hair = arb(2) ** -60  # less than a float tells from 1
        places = [arb(0.5), 1 - hair, arb(1), 1 + hair, arb(2.5), arb(3), arb(100)]
        assert [lines.until(eps) for eps in places] == [1, 1, 1, 2, 2, 2, 2]


def test_at_a_loss_that_is_not_told_apart_both_lines_apply() -> None:
    """An ε that may be on either side of the loss 1 belongs to both lines, others to one."""
    lines = BinomialLines(Fraction(1), 3)
    with precision(128):
        assert lines.owners(arb(1) + arb(0, 1) * arb(2) ** -70) == [0, 1]
        assert [lines.owners(arb(at)) for at in (0.5, 1, 2, 3)] == [[0], [0], [1], [1]]


def test_beyond_the_last_loss_delta_is_what_is_left() -> None:
    """Past the loss 3 δ is 0; about it, it may be what the line has left; before, it is more."""
    lines = BinomialLines(Fraction(1), 3)
    with precision(128):
        assert lines.formula(arb(3.5), BALLS).log_complement().is_zero()
        assert lines.formula(arb(2.5), BALLS).log() > -6
        about = lines.formula(arb(3) + arb(0, 1) * arb(2) ** -40, BALLS).log_complement()
        assert about.contains(0)
        assert about.lower() < -(arb(2) ** -44)


def test_a_level_between_floats_is_bounded_closely() -> None:
    """α = 1/3 is no float: f is bounded at both of its neighbours, and hardly further apart."""
    low, high = errors_at(gdp.profiles.GDP(mu=1).curve, [Fraction(1, 3)])
    assert Fraction(low[0]) <= Fraction(doors.beta_upper("0.33333333333333333333", 1))
    assert Fraction(high[0]) >= Fraction(doors.beta_lower("0.33333333333333333334", 1))
    assert high[0] - low[0] < 1e-12


@pytest.mark.parametrize("mu", [0.5, 2.0])
@pytest.mark.parametrize("apart", [0.3, 0.03])
def test_an_upper_bound_of_f_holds_about_any_place(mu: float, apart: float) -> None:
    """Four points about a place that is not the best one bound f as well, if less closely."""
    curve, level = gdp.profiles.GDP(mu=mu).curve, 0.1
    best = tradeoff.touching(curve, np.array([level]))
    offsets = np.linspace(-1.6, 1.6, 17) * apart
    found = tradeoff._ceilings(curve, best + offsets, np.full(17, level), apart)
    assert all(found >= doors.beta_lower(level, mu))
    # in the middle it is closer than nothing
    assert found[8] < doors.beta_upper(level, mu) + apart


# --- witnesses on lines ----------------------------------------------------------------------


def _search(end: Fraction) -> breakpoints._Search:
    curve = gdp.profiles.DiscreteLaplace(scale=1, sensitivity=3).curve
    assert isinstance(curve, LinearCurve)
    return breakpoints._Search(Problem(curve, end, _TOL), curve)


def test_lines_are_proved_to_the_end_and_witnesses_are_before_it() -> None:
    """Of an end that is no ball, what is proved reaches beyond, and a witness does not."""
    with precision(64):
        search = _search(Fraction(1, 3))
        assert to_fraction(search.last_witness) < Fraction(1, 3) < to_fraction(search.end)
        assert to_fraction(search.end) - Fraction(1, 3) < Fraction(1, 10**18)


def test_a_witness_is_worth_its_lower_end() -> None:
    """Of a μ that may be just below 1/2 the lower end is taken, and one too wide is refused."""
    with precision(128):
        search = _search(Fraction(1))
        search._raise(arb(0.5) + arb(0, 1) * arb(2) ** -100, arb(0))
        assert search.low < Fraction(1, 2) < search.low + _TOL / 10
        assert to_fraction(search.candidate) > Fraction(1, 2)
        with pytest.raises(MorePrecisionError):
            search._raise(arb(0.75) + arb(0, float(_TOL)), arb(0))
        with pytest.raises(MorePrecisionError):
            search._raise(arb.nan(), arb(0))


@pytest.mark.parametrize("eps_h", [0.05, 0.3, 1.5])
@pytest.mark.parametrize(
    "profile",
    [
        gdp.profiles.DiscreteGaussian(sigma=2),
        gdp.profiles.DiscreteLaplace(scale=0.7, sensitivity=3),
        gdp.profiles.Laplace(scale=0.5),
    ],
)
def test_a_head_is_measured_up_to_its_end_only(profile: gdp.Profile, eps_h: float) -> None:
    """What lies beyond ε_h does not count: another method finds the same."""
    found = gdp.measure(profile, eps_h=eps_h, tol=1e-6)
    other = gdp.measure(profile, eps_h=eps_h, tol=1e-4, method="adaptive")
    assert found.mu.low <= other.mu.high
    assert other.mu.low <= found.mu.high
    assert found.attained_at <= eps_h


def test_a_head_may_be_better_than_the_whole() -> None:
    """Where δ falls slowly to 0, G is largest far out: a short head has a smaller μ."""
    profile = gdp.profiles.Formula("delta = max(0.1 - eps/100, 0)")
    assert gdp.measure(profile, eps_h=0.5).mu.high < gdp.measure(profile).mu.low


def test_a_failure_is_rounded_up_from_its_ball() -> None:
    """p = 1/10 + 1e-80, whose logarithm is that of 1/10 to 256 bits, gives more than 1/10."""
    delta = Fraction(1, 10) + Fraction(1, 10**80)
    with precision(256):
        found = statements._failure_up_to(ball(delta).log())
    assert delta < found.exact < delta + Fraction(1, 10**19)
    assert Fraction(found.probability) >= found.exact


# --- a candidate that is too small is not proved ---------------------------------------------

_TOO_SMALL = [
    (gdp.profiles.Laplace(scale=0.5), 1),
    (gdp.profiles.Laplace(scale=0.05), 20),
    (gdp.profiles.Formula("delta = exp(-eps**2)/3"), 3),
    (gdp.profiles.Formula("delta = 0.1*exp(-eps/10)"), 3),
    (gdp.profiles.Formula("delta = 0.97 - eps/200"), 3),
    (gdp.profiles.Formula("delta = piecewise(0.3*exp(-eps), eps < log(2), 0.3*exp(-2*eps))"), 2),
    (gdp.profiles.SGDFamily(A=1, B=1, sigma=1), 4),
]


@pytest.mark.parametrize("share", [0.5, 0.99, 0.999999])
@pytest.mark.parametrize(("profile", "end"), _TOO_SMALL)
def test_cells_do_not_prove_too_little(profile: gdp.Profile, end: int, share: float) -> None:
    """From a μ that is too small the cells lead to a better witness, and to one that is right."""
    least = gdp.measure(profile, eps_h=end, tol=1e-9).mu.low
    with precision(256):
        attempt = certified._Proof(Problem(profile.curve, Fraction(end), _TOL))
        attempt.candidate = arb(share * float(least))
        attempt._cover()
        assert to_fraction(attempt.candidate) >= Fraction(least)
        assert attempt.low >= Fraction(least) - 2 * _TOL


@pytest.mark.parametrize("share", [0.5, 0.99, 0.999999])
@pytest.mark.parametrize("end", [Fraction(1, 3), Fraction(2), Fraction(10)])
@pytest.mark.parametrize(
    "profile",
    [
        gdp.profiles.DiscreteLaplace(scale=1, sensitivity=3),
        gdp.profiles.DiscreteGaussian(sigma=0.8, sensitivity=1),
        gdp.profiles.Table(pairs=[(0.0, 0.1), (0.5, 0.05), (1.0, 0.04), (2.5, 0.001)]),
        gdp.profiles.Table(pairs=[(0.0, 0.9), (0.5, 0.8), (1.0, 0.7)]),
        gdp.profiles.PureDP(epsilon=1).compose(3),
    ],
)
def test_lines_do_not_prove_too_little(profile: gdp.Profile, end: Fraction, share: float) -> None:
    """Nor do blocks of lines, or what lies beyond the last one."""
    least = gdp.measure(profile, eps_h=str(float(end)), tol=1e-9).mu.low
    curve = profile.curve
    assert isinstance(curve, LinearCurve)
    with precision(256):
        search = breakpoints._Search(Problem(curve, end, _TOL), curve)
        search.candidate = arb(share * float(least))
        try:
            search._cover()
        except MorePrecisionError:
            return  # what is too high is at an end of the range, which is no line's own
        assert to_fraction(search.candidate) >= Fraction(least) - Fraction(1, 10**8)


def test_chords_lie_above_the_curve() -> None:
    """A chord over lines, up to an end beyond the last one, is nowhere below δ."""
    profile = gdp.profiles.Table(pairs=[(0.0, 0.1), (0.5, 0.05), (1.0, 0.04), (2.5, 0.001)])
    curve = profile.curve
    assert isinstance(curve, LinearCurve)
    with precision(128):
        for end in (Fraction(2), Fraction(5, 2), Fraction(6)):
            search = breakpoints._Search(Problem(curve, end, _TOL), curve)
            last = search.count - 1
            for first in range(search.count):
                chord = search._chord(first, last)
                low, high = (
                    float(curve.lines.start(first)),
                    float(curve.lines.end(last).min(ball(end))),
                )
                for eps in np.linspace(low, high, 9)[1:-1].tolist():
                    delta = curve.enclose(arb(eps)).log().exp()
                    assert chord.at(arb(eps).exp()).upper() >= delta.lower()


def _blurred(eps: Any, ops: Operations) -> Probability:
    """δ = e^-(1+ε), known to six digits only."""
    blur = arb(0, 1e-6) if ops is BALLS else 0
    return Probability.from_log(ops, -eps - 1 + blur)


def test_a_witness_is_not_beyond_the_end() -> None:
    """Of an end that is no ball, a witness is before it; the cells reach beyond it."""
    problem = Problem(_gaussian(Fraction(1, 2)), Fraction(1, 3), _TOL)
    with precision(64):
        attempt = certified._Proof(problem)
        attempt._accept(arb(1))
        assert to_fraction(attempt.witness) < Fraction(1, 3)
        assert to_fraction(attempt._ranges()[-1].high) > Fraction(1, 3)


def test_a_witness_that_is_known_too_coarsely_asks_for_more_precision() -> None:
    """Where μ is known to six digits and nine are wanted, it is no witness yet."""
    curve = SmoothCurve((Piece(Fraction(0), _blurred),), ConstantTail(Fraction(3), Fraction(0)))
    with precision(128):
        attempt = certified._Proof(Problem(curve, Fraction(1), _TOL))
        with pytest.raises(MorePrecisionError):
            attempt._accept(arb(0.5))
        coarse = certified._Proof(Problem(curve, Fraction(1), Fraction(1, 1000)))
        coarse._accept(arb(0.5))
        assert coarse.low > 0


@pytest.mark.parametrize("end", [Fraction(at) for at in ("1/2", "1", "4/3", "3", "7")])
def test_ranges_cover_the_whole_head(end: Fraction) -> None:
    """They follow one another from 0 to the end, each within one piece or about a breakpoint."""
    starts: list[Any] = [Fraction(0), Fraction(1), Fraction(1), _root(2), Fraction(5)]
    pieces = tuple(Piece(start, _decay) for start in starts)
    curve = SmoothCurve(pieces, ConstantTail(Fraction(9), Fraction(0)), Fraction(9))
    with precision(128):
        cells = certified._Proof(Problem(curve, end, _TOL))._ranges()
        assert cells[0].low.is_zero()
        assert all(one.high == other.low for one, other in itertools.pairwise(cells))
        assert end <= to_fraction(cells[-1].high) < end + Fraction(1, 10**30)
        root = arb(2).sqrt()
        for cell in cells:
            assert cell.low < cell.high
            if cell.formula is not None:
                assert not (cell.low < root < cell.high)
                assert not (cell.low < 1 and arb(1) < cell.high)
            else:
                assert cell.high - cell.low < arb(2) ** -60


@pytest.mark.parametrize("slope", [-3, -0.5, 0, 0.25, 3])
@pytest.mark.parametrize("curvature", [-2, -0.01, 0, 0.01, 0.5, 2])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (-0.25, 0.5), (0, 1), (-2, 0)])
def test_the_least_value_of_a_parabola(
    slope: float, curvature: float, low: float, high: float
) -> None:
    """It is at an end or at the vertex, wherever that is; the bound is the value."""
    found = certified._least_of_quadratic(arb(slope), arb(curvature), arb(low), arb(high))
    at = np.linspace(low, high, 4001)
    least = float((slope * at + curvature * at * at).min())
    assert least - 1e-6 < float(found.lower())
    assert float(found.lower()) <= least


@pytest.mark.parametrize(("witness", "wanted"), [(0.0, 1.0625), (1.03125, 1.03125), (5.0, 1.0625)])
def test_the_centre_of_a_cell_is_in_it(witness: float, wanted: float) -> None:
    """The witness is the centre of its own cell, and of no other one."""
    curve = _gaussian(Fraction(1, 2))
    with precision(128):
        attempt = certified._Proof(Problem(curve, Fraction(3), _TOL))
        attempt.candidate, attempt.witness = arb(1), arb(witness)
        cell = certified.Cell(arb(1), arb(1.125), curve.pieces[0].formula)
        centre = attempt._mean_value_centre(cell)
        assert centre == wanted


# --- solutions that nothing but their ends proves ---------------------------------------------


@pytest.mark.parametrize("share", [1 - 1e-9, 1 - 1e-3, 1, 1 + 1e-3, 1 + 1e-9])
@pytest.mark.parametrize("eps", [0, 1, 20])
def test_a_wrong_candidate_for_mu_is_found_out(
    monkeypatch: pytest.MonkeyPatch, share: float, eps: int
) -> None:
    """However far off Newton's method ends, the ball that is returned holds μ."""
    monkeypatch.setattr(gaussian._Scale, "newton", lambda *_: (arb(0.75) * arb(share), arb(0)))
    with precision(128):
        found = gaussian.mu_of(arb(eps), gaussian.probability(arb(eps), arb(0.75)))
        assert found.lower() <= 0.75 <= found.upper()


@pytest.mark.parametrize("off", [-0.5, -1e-3, 1e-3, 0.5])
@pytest.mark.parametrize("eps", [0.25, 1, 20])
def test_a_wrong_candidate_for_epsilon_is_found_out(
    monkeypatch: pytest.MonkeyPatch, off: float, eps: float
) -> None:
    """Nor does an ε rest on where Newton's method begins or ends."""
    monkeypatch.setattr(gaussian, "_MAX_NEWTON_STEPS", 0)
    monkeypatch.setattr(gaussian, "_quantile", lambda _: arb(0.375) - arb(eps) * (1 + off) / 0.75)
    with precision(128):
        found = gaussian.epsilon_of(arb(0.75), gaussian.probability(arb(eps), arb(0.75)))
        assert found.lower() <= eps <= found.upper()


def test_a_width_is_rounded_up_to_its_last_digit() -> None:
    """For δ = e^(-ε³/7) the bound is as good as equal at its start E: w² is 7/(2E), and no less."""
    tail = _tail("-eps**3/7")
    assert isinstance(tail, CoarseDecayTail)
    least = Fraction(7) / (2 * Fraction(str(tail.start)))
    assert least <= tail.width**2 < least * (1 + Fraction(1, 10**18))


@pytest.mark.parametrize("sign", ["+", "-"])
def test_a_tail_parameter_a_hair_from_a_decimal_is_within_its_interval(sign: str) -> None:
    """μ_t = 1 ± 1e-70, which 192 bits do not tell from 1, lies strictly inside."""
    tail = _tail(f"-eps**2/(2 {sign} 4*10**-70) + eps**1.75")
    assert isinstance(tail, CoarseDecayTail)
    square = 1 + (2 if sign == "+" else -2) * Fraction(1, 10**70)
    assert Fraction(tail.mu_t.low) ** 2 < square < Fraction(tail.mu_t.high) ** 2


def test_a_tail_parameter_is_rounded_outward() -> None:
    """μ_t = √(3/2) is between decimals of twenty digits."""
    tail = _tail("-eps**2/3 + eps**1.75")
    assert isinstance(tail, CoarseDecayTail)
    low, high = Fraction(tail.mu_t.low), Fraction(tail.mu_t.high)
    assert low**2 < Fraction(3, 2) < high**2
    assert high - low == Fraction(1, 10**19)
