"""One tree, four kinds of numbers: floats, balls, series and sympy agree."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_series
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gdpbridge.expressions.asymptotics import growth_of, log_of
from gdpbridge.expressions.evaluate import Evaluation, is_non_negative
from gdpbridge.expressions.exponents import exponent_of
from gdpbridge.expressions.isolate import isolated
from gdpbridge.expressions.parse import parse_equation, parse_expression
from gdpbridge.expressions.shape import shape_of
from gdpbridge.expressions.sums import Sum, UnknownGrowthError
from gdpbridge.expressions.symbolic import to_sympy
from gdpbridge.expressions.tree import Call, Name, Node, Number, constants_folded
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, SERIES, ball

leaves = st.one_of(
    st.fractions(0, 4, max_denominator=8).map(Number), st.just(Name("eps")), st.just(Name("eps"))
)


def grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    one = st.sampled_from(
        ["exp", "neg", "log", "sqrt", "Phi", "erfc", "log1p", "expm1", "abs", "lgamma"]
    )
    two = st.sampled_from(["+", "-", "*", "/", "min", "max"])
    return st.one_of(
        st.tuples(one, inner).map(lambda t: Call(t[0], (t[1],))),
        st.tuples(two, inner, inner).map(lambda t: Call(t[0], (t[1], t[2]))),
        st.tuples(inner, st.sampled_from([-2, -1, 2, 3, Fraction(1, 2)])).map(
            lambda t: Call("**", (t[0], Number(Fraction(t[1]))))
        ),
    )


few = settings(max_examples=40)

trees = st.recursive(leaves, grown, max_leaves=8)
points = st.fractions(Fraction(1, 16), 8, max_denominator=16)


def value(node: Node, eps: Fraction) -> arb:
    found: arb = Evaluation(BALLS, {"eps": ball(eps)}).value(node)
    return found


@few
@given(trees, points)
def test_balls_hold_the_floats(node: Node, eps: Fraction) -> None:
    """Where a ball is finite and of ordinary size, the float is near it."""
    with precision(200):
        exact = value(node, eps)
    assume(exact.is_finite() and 1e-6 < abs(exact) < 1e6)
    with np.errstate(all="ignore"):
        computed = float(Evaluation(FLOATS, {"eps": np.float64(float(eps))}).value(node))
    # cancellation may cost floats all but these digits
    assume(math.isfinite(computed))
    assert abs(computed - float(exact)) <= 1e-3 * abs(float(exact)) + 1e-6 or _cancels(node)


def _cancels(node: Node) -> bool:
    if not isinstance(node, Call):
        return False
    return node.function in ("-", "neg", "log", "expm1", "+") or any(map(_cancels, node.arguments))


@few
@given(trees, points)
def test_logarithms_agree(node: Node, eps: Fraction) -> None:
    """log pushed to the leaves is the logarithm of the value."""
    with precision(300):
        plain = value(node, eps)
        assume(plain.is_finite() and plain > 0)
        pushed = Evaluation(BALLS, {"eps": ball(eps)}).log(node)
        assert pushed.overlaps(plain.log())
        if is_non_negative(node):
            assert plain >= 0 or plain.contains(0)


@few
@given(trees, points, st.integers(4, 40))
def test_series_on_a_cell_hold_every_point(node: Node, eps: Fraction, narrow: int) -> None:
    """On a cell, value and slope enclose the values and difference quotients within it."""
    width = Fraction(1, 2**narrow)
    with precision(300, 2):
        low, high = ball(eps), ball(eps + width)
        series = Evaluation(SERIES, {"eps": arb_series([low.union(high), 1], 2)}).value(node)
        assume(isinstance(series, arb_series) and series[0].is_finite() and series[1].is_finite())
        left, right = value(node, eps), value(node, eps + width)
        for end in (left, right):
            assert series[0].overlaps(end)
        assert series[1].overlaps((right - left) / ball(width))


@few
@given(trees, points, st.integers(0, 30))
def test_shapes_are_true(node: Node, eps: Fraction, step: int) -> None:
    """A sign or trend that is claimed on [0, ∞) is seen at points."""
    with precision(300):
        shape = shape_of(node, arb(0), None)
        left, right = value(node, eps), value(node, eps + step)
    assume(left.is_finite() and right.is_finite())
    if shape.sign is not None:
        assert not shape.sign * left < 0
    if shape.trend is not None:
        assert not (left < right and shape.trend <= 0)
        assert not (left > right and shape.trend >= 0)


@pytest.mark.slow
@settings(max_examples=15)
@given(trees, points)
def test_sympy_agrees(node: Node, eps: Fraction) -> None:
    """The symbolic translation has the same value."""
    sympy = pytest.importorskip("sympy")
    with precision(200):
        exact = value(node, eps)
    assume(exact.is_finite() and 1e-6 < abs(exact) < 1e6)
    symbol = sympy.Symbol("eps", positive=True)
    try:
        other = complex(to_sympy(node).subs(symbol, sympy.Rational(eps.numerator, eps.denominator)))
    except (TypeError, ZeroDivisionError, OverflowError):
        return
    assert abs(other - float(exact)) <= 1e-8 * abs(float(exact)) + 1e-12


@few
@given(trees, st.integers(0, 12))
def test_growth_encloses_values(node: Node, power: int) -> None:
    """What is said of a half-line holds at its points."""
    at = Fraction(64 * 2**power)
    with precision(300):
        try:
            growth = growth_of(node, arb(64))
        except UnknownGrowthError:
            return
        exact = value(node, at)
        assume(exact.is_finite())
        sign = arb(1) if isinstance(growth, Sum) or growth.positive else arb(-1)
        terms = growth.terms if isinstance(growth, Sum) else growth.exponent.terms
        log = ball(at).log()
        total = arb(0)
        for (p, q), c in terms.items():
            total += c * (ball(p) * log + ball(q) * log.log()).exp()
        if isinstance(growth, Sum):
            assert total.overlaps(exact)
        else:
            assume(abs(total) < arb(2) ** 200)
            assert (sign * total.exp()).overlaps(exact)


@pytest.mark.parametrize(
    "equation",
    [
        "2 = 3/eps*sqrt(log(2/delta))",
        "20 = 10*log(4/(eps*delta))",
        "3 = -2*log(delta)/eps",
        "exp(-eps) = 2*delta",
        "1 = (2*delta)**3*(1 + eps)",
        "eps = log1p(1/delta)",
        "4**eps = 1/expm1(delta)",
    ],
)
def test_isolation_solves_the_equation(equation: str) -> None:
    """The formula found for delta makes both sides equal."""
    parsed = parse_equation(equation, "text")
    solution = isolated(constants_folded(parsed.left), constants_folded(parsed.right))
    assert solution is not None
    node, is_log = solution
    with precision(200):
        for eps in (Fraction(1, 4), Fraction(1)):
            found = value(node, eps)
            delta = found.exp() if is_log else found
            at = {"eps": ball(eps), "delta": delta}
            left, right = (Evaluation(BALLS, at).value(s) for s in (parsed.left, parsed.right))
            assert left.overlaps(right)


@pytest.mark.parametrize(
    "equation", ["1 = delta + delta**2", "eps = (delta - 1/2)**2", "1 = min(delta, eps)"]
)
def test_isolation_gives_up_where_it_must(equation: str) -> None:
    """Several occurrences, and steps with two solutions, are left to the solver."""
    parsed = parse_equation(equation, "text")
    assert isolated(parsed.left, parsed.right) is None


def test_growth_of_log_gamma() -> None:
    """Stirling's bounds hold from the start on, and terms that are alike cancel exactly."""
    node = parse_expression("lgamma(eps + 3/2) - lgamma(eps + 1)", "text")
    with precision(200):
        whole, apart = (growth_of(one, arb(16)) for one in (node.arguments[0], node))
        assert isinstance(whole, Sum)
        assert isinstance(apart, Sum)
        assert max(whole.terms) == (1, 1)
        # log Γ(x + 1/2) - log Γ(x) is (log x)/2 and less
        assert max(apart.terms) == (0, 1)
        assert apart.terms[0, 1].contains(ball(Fraction(1, 2)))
    assert math.isnan(FLOATS.lgamma(np.array(-0.5)))
    assert FLOATS.lgamma(np.array(5.0)) == pytest.approx(math.log(24), rel=1e-15)
    assert BALLS.lgamma(arb(-1) / 2).is_nan()


def test_deep_but_allowed_trees_evaluate() -> None:
    """A tree as deep as the limit allows is no trouble for any recursion."""
    node = parse_expression("exp(-" * 45 + "eps" + ")" * 45, "text")
    assert value(node, Fraction(1)).is_finite()


@pytest.mark.parametrize(
    ("text", "leading"),
    [
        # what cancels is dropped, also where its factor is no float, or a multiple of a constant
        ("exp(-(eps-1/3)**2/(2*0.7**2))/exp(-eps**2/(2*0.7**2))", 1 / 3 / 0.49),
        ("0.3**(eps-1)*eps/0.3**eps", None),
        ("exp(-eps/0.7)/(1+exp(-eps/0.7))**2/exp(-(eps-1)/0.7)", None),
    ],
)
def test_growth_of_quotients(text: str, leading: float | None) -> None:
    """The logarithm of a quotient grows like its exact remainder: c·ε, or slower."""
    growth = log_of(growth_of(constants_folded(parse_expression(text, "text")), arb(16)))
    linear = growth.terms.get((Fraction(1), Fraction(0)))
    if leading is None:
        assert linear is None
    else:
        assert linear is not None
        assert float(linear) == pytest.approx(leading, rel=1e-14)
    assert (Fraction(2), Fraction(0)) not in growth.terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3*exp(-(x-2)**2/8)/sqrt(pi)", {2: Fraction(-1, 8), 1: Fraction(1, 2)}),
        ("exp(x)**2/exp(2*x+1)", {}),
        ("exp(-abs(x))", None),
        ("exp(x)+1", None),
    ],
)
def test_exponents(text: str, found: dict[int, Fraction] | None) -> None:
    """A constant times e to the power of a polynomial is recognized as that, nothing else is."""
    assert exponent_of(parse_expression(text, "text"), "x") == found
