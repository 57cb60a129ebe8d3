"""Profiles written as formulas: checked, refined, measured, and refused with a reason."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.curves.tails import ConstantTail, EstimatedTail, SlowDecayTail, SlowerTail
from gdpbridge.errors import InputError
from gdpbridge.expressions.parse import parse_expression
from gdpbridge.guarantees import envelope
from gdpbridge.guarantees.estimate import estimated_tail
from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.formula import Formula
from gdpbridge.mechanisms.tradeoff import Tradeoff


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("delta = 1 - exp((eps - 2)/2)", gdp.profiles.Laplace(scale=0.5)),
        ("delta = max(1 - exp((eps - 2)/2), 0)", gdp.profiles.Laplace(scale=0.5)),
        ("delta = (exp(2) - exp(eps))/(1 + exp(2))", gdp.profiles.PureDP(epsilon=2)),
        ("delta = exp(-eps**2)", gdp.profiles.SGDFamily(A=1, B=1, sigma=1)),
        ("log_delta = -eps**2 - log(2)", gdp.profiles.SGDFamily(A=1, B=0.5, sigma=1)),
        ("delta = piecewise(1 - eps, eps < 1, 0)", gdp.profiles.PureDP(epsilon=1)),
    ],
)
def test_formula_of_a_known_kind_measures_the_same(text: str, profile: Profile) -> None:
    """The same mechanism as a formula has the same μ, proved."""
    written, known = gdp.measure(Formula(text)), gdp.measure(profile)
    assert written.certified
    assert written.verdict is known.verdict
    assert max(written.mu.low, known.mu.low) <= min(written.mu.high, known.mu.high)
    assert written.mu.width <= 1e-9
    assert written.certificate is None or gdp.verify(written.certificate).valid


def test_refinement_agrees_with_brute_force() -> None:
    """The refined profile is the least line over many pairs, to what their spacing allows."""
    profile = Formula("delta = max(exp(-3*eps), exp(-eps)/4)/(1 + eps)")
    later = np.linspace(0, 30, 300_001)
    naive = np.maximum(np.exp(-3 * later), np.exp(-later) / 4) / (1 + later)
    heights = np.maximum.accumulate(((1 - naive) / (1 + np.exp(later)))[::-1])[::-1]
    at = slice(0, 100_000, 1000)
    expected = 1 - (1 + np.exp(later[at])) * heights[at]
    assert np.asarray(profile.delta(later[at])) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("text", "verdict", "mu_t"),
    [
        ("delta = exp(-eps**2)", Verdict.GDP, 0.5**0.5),
        ("delta = exp(-eps**2/2 + eps)*3", Verdict.GDP, 1.0),
        ("delta = Phi(1/4 - eps/2)", Verdict.GDP, 2.0),
        ("delta = exp(-eps**3)", Verdict.GDP, 0.0),
        ("delta = exp(-exp(eps))", Verdict.GDP, 0.0),
        ("delta = 4/eps*exp(-2)", Verdict.NOT_GDP, float("inf")),
        ("delta = 1e-5 + exp(-eps**2)", Verdict.NOT_GDP, float("inf")),
        ("delta = exp(-eps**1.5)", Verdict.NOT_GDP, float("inf")),
        ("delta = exp(-eps*log(1 + eps))", Verdict.NOT_GDP, float("inf")),
        ("delta = 0", Verdict.GDP, 0.0),
    ],
)
def test_tail_is_proved(text: str, verdict: Verdict, mu_t: float) -> None:
    """The growth of the formula decides, and μ_t is in the interval given for it."""
    found = gdp.identify(Formula(text))
    assert (found.verdict, found.tail_status) == (verdict, TailStatus.PROVED)
    assert found.mu_tail is not None
    assert found.mu_tail.lower - 1e-12 <= mu_t <= found.mu_tail.upper + 1e-12


def test_kinds_of_tails() -> None:
    """Bounded, exponential and in-between decay are told apart."""
    assert isinstance(Formula("delta = 1 - eps").tail, ConstantTail)
    assert isinstance(Formula("delta = exp(-eps)").tail, SlowDecayTail)
    assert isinstance(Formula("delta = exp(-eps**1.5)").tail, SlowerTail)


@pytest.mark.slow
def test_declared_tail_is_named_and_not_certified() -> None:
    """Where no tail is proved, the declared one gives a whole statement, marked as assumed."""
    text = "sigma = 2*sqrt(log(1.25/delta) + eps*delta)/eps"
    found = gdp.measure(Tradeoff(text, set={"sigma": 2}, tail="gaussian:3"), tol=1e-6)
    assert found.verdict is Verdict.GDP
    assert found.tail_status is TailStatus.ESTIMATED
    assert not found.certified
    assert any("assumed" in note for note in found.notes)
    assert found.mu.high == Decimal(3)


@pytest.mark.slow
def test_estimate_is_called_one() -> None:
    """A symbolic limit gives μ_t without proof, in a process that is ended if it takes long."""
    pytest.importorskip("sympy")
    found = estimated_tail(parse_expression("-eps**2", "text"), True)
    assert isinstance(found, EstimatedTail)
    assert found.mu_t == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    "text",
    [
        "delta = eps",
        "delta = exp(-(eps - 1)**2)",
        "delta = eps*exp(-eps)",
        "delta = abs(eps - 1)/2",
        "delta = piecewise(0.1, eps < 1, 0.2)",
        "delta = min(eps, exp(-eps))",
    ],
)
def test_a_rise_is_reported_with_numbers(text: str) -> None:
    """A formula that rises with eps is refused, with two points that show it."""
    with pytest.raises(
        InputError, match=r"does not rise with eps: it is .* at eps = .* and .* (at|just)"
    ):
        gdp.measure(Formula(text))


def test_what_holds_at_one_eps_alone_counts() -> None:
    """A formula for one ε alone bounds all beyond it: it must not be below them, and may be 1."""
    for text, at in [
        ("piecewise(0.3, eps <= 0, exp(-eps**2))", "0.3 at eps = 0 and 1 just beyond"),
        ("piecewise(0.3, eps < 1, 0.1, eps <= 1, exp(-eps**2)/2)", "0.1 at eps = 1 and 0.18"),
    ]:
        with pytest.raises(InputError, match=at):
            gdp.measure(Formula(f"delta = {text}"))
    plain, tol = gdp.measure(Formula("delta = exp(-eps**2)/2"), tol=1e-6), 1e-6
    for first in ("1", "0.5", "1/eps"):
        profile = Formula(f"delta = piecewise({first}, eps <= 0, exp(-eps**2)/2)")
        found = gdp.measure(profile, tol=tol)
        assert abs(found.mu.high - plain.mu.high) < tol
        # a checker that reads formulas on ranges is not told of this one
        assert found.certificate is None
    # of what has no value at 0 the bound there is one of what is beyond, which goes up to 1
    capped = Formula("delta = piecewise(0.3, eps <= 0, (1-exp(-1/eps))*exp(-eps**2))")
    assert capped.delta(0.0) <= 0.3 + 1e-15
    with pytest.raises(InputError, match="not at one alone"):
        gdp.measure(
            Tradeoff("sigma = piecewise(-log(delta), eps <= 0, -log(delta)/eps)", set={"sigma": 2})
        )


@pytest.mark.parametrize(
    "text",
    [
        "(exp(1)-exp(eps))/(1+exp(1))",
        "max(0, 1-(1+exp(eps))/(1+exp(1)))",
        "piecewise((exp(1)-exp(eps))/(1+exp(1)), eps < 1/2, 1-(1+exp(eps))/(1+exp(1)))",
        "max(1-exp(eps-1), 0)",
    ],
)
def test_a_line_that_is_all_it_implies(text: str) -> None:
    """Where h is a number, or as good as one, the formula is refined, with a certificate."""
    found = gdp.measure(Formula(f"delta = {text}"))
    # of randomized response with ε₀ = 1, as 1-DP
    assert abs(found.mu.high - gdp.measure(gdp.profiles.PureDP(epsilon=1)).mu.high) < 2e-9
    assert not found.notes
    assert found.certificate is not None
    assert gdp.verify(found.certificate).valid


@pytest.mark.parametrize("text", ["delta = log(eps - 1)", "delta = 1/0", "delta = sqrt(1 - eps)"])
def test_a_formula_without_a_value_is_refused(text: str) -> None:
    """A formula that is undefined somewhere is refused, with the place."""
    with pytest.raises(InputError, match="it has none at eps = "):
        gdp.measure(Formula(text))


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("sigma = 3", {}),
        ("delta = x", {}),
        ("delta = delta", {}),
        ("delta = exp(-eps)", {"set": {"A": 1}}),
        ("delta = exp(-A*eps)", {"set": {"A": float("nan")}}),
        ("delta = exp(-A*eps)", {"set": {"A": "1"}}),
        ("delta = exp(-eps)", {"tail": "gaussian"}),
        ("delta = exp(-eps)", {"tail": "gaussian:-1"}),
        ("delta = exp(-eps)", {"naive": 7}),
        ("delta = piecewise(1, eps**2 < 2, 0)", {}),
        ("delta = 9**9**9**9", {}),
    ],
)
def test_bad_input_is_refused_when_the_profile_is_made(
    text: str, parameters: dict[str, object]
) -> None:
    """Nothing has to be measured for a mistake to be seen."""
    with pytest.raises(InputError):
        Formula(text, **parameters)


def test_naive_shows_the_formula_as_it_stands() -> None:
    """Without refinement δ(0) = 1, and no μ will do."""
    found = gdp.measure(Formula("delta = exp(-eps**2)", naive=True))
    assert found.mu.high.is_infinite()
    assert gdp.measure(Formula("delta = exp(-eps**2)/2", naive=True)).mu.upper < 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "delta = exp(-exp(exp(exp(exp(eps)))))",
        "delta = 2**(-2**(2**(2**eps)))",
        "delta = erfc(exp(exp(exp(eps))))",
        "delta = exp(exp(exp(exp(exp(99)))))",
        "delta = exp(-((eps**1000)**1000)**1000)",
    ],
)
def test_towers_of_exponentials_do_not_hang(
    text: str, at_most_calls: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers beyond any size are given up soon, with an answer or an error of ours."""
    monkeypatch.setattr(envelope, "_MAX_CELLS", 500)
    with at_most_calls(500_000), contextlib.suppress(gdp.GdpBridgeError):
        gdp.identify(Formula(text))


@pytest.mark.slow
def test_a_formula_is_followed_as_far_as_it_is_proved() -> None:
    """Where cancellation hides the slope, the rest of the formula is not used, and that is said."""
    found = gdp.measure(
        Formula("delta = Phi(1/2 - eps) - exp(eps)*Phi(-eps - 1/2)"), eps_h=1, tol=0.05
    )
    assert 1.0 <= found.mu.upper <= 1.05
    assert found.verdict is Verdict.UNKNOWN
    assert any("proved up to" in note for note in found.notes)


def test_a_formula_that_says_nothing_is_refused() -> None:
    """δ = 1 as far as anyone can ask is no guarantee, and no proof that there is no better one."""
    for text in ("delta = 1", "delta = exp(1000 - 1e-12*eps**2)"):
        with pytest.raises(InputError, match="falls below 1"):
            gdp.identify(Formula(text))


def test_a_late_part_has_its_tail_from_where_it_begins() -> None:
    """A formula that applies from 1000 on says nothing of the tail before that."""
    profile = Formula("delta = piecewise(exp(-eps), eps < 1000, exp(-eps**3/1e6))")
    found = gdp.measure(profile)
    assert found.verdict is Verdict.GDP
    # before 1000 the profile is that of exponential decay, and its G is large at the end
    near = float(profile.gdpt(999.0))
    assert found.mu.upper >= near > 18
    assert found.mu.lower >= near - 1e-6


@pytest.mark.parametrize("text", ["delta = -1", "delta = -exp(-eps)"])
def test_a_slip_of_a_sign_is_not_perfect_privacy(text: str) -> None:
    """A formula that is negative at ε = 0 is refused, not taken for δ = 0."""
    with pytest.raises(InputError, match="delta"):
        _ = Formula(text).curve
