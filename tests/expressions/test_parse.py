"""The grammar: what it reads, what it refuses and how it says so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdpbridge.errors import InputError
from gdpbridge.expressions.parse import parse_equation, parse_expression
from gdpbridge.expressions.tree import (
    Call,
    Name,
    Number,
    TooLargeError,
    constants_folded,
    size,
    text,
)

MALFORMED = {
    "": 1,
    "delta": 6,
    "delta =": 8,
    "= 3": 1,
    "delta = exp(": 13,
    "delta = exp(eps": 16,
    "delta = eps)": 12,
    "delta = 2eps": 10,
    "delta = eps ** ": 16,
    "delta = eps + * 2": 15,
    "delta = foo(eps)": 9,
    "delta = exp(1, 2)": 9,
    "delta = max(1)": 9,
    "delta = exp": 9,
    "delta = __import__('os')": 9,
    "delta = eps < 3": 13,
    "delta = min(eps < 1, 2)": 9,
    "delta = piecewise(1, eps)": 9,
    "delta = 1e999": 9,
    "delta = eps[0]": 12,
    "delta = eps.real": 12,
    "delta = 1 = 2": 11,
    "delta == 1": 8,
    "delta = 3 $ 4": 11,
    "delta\n= 1": 6,
}


@pytest.mark.parametrize(("written", "column"), MALFORMED.items())
def test_malformed_text_names_the_column(written: str, column: int) -> None:
    """One sentence, with the 1-based column at which the text goes wrong."""
    with pytest.raises(InputError, match=rf"at column {column}: ") as caught:
        parse_equation(written, "text")
    assert "\n" not in str(caught.value)
    assert caught.value.field == "text"


@pytest.mark.parametrize(
    "written",
    [
        "(" * 10_000 + "1" + ")" * 10_000,
        "(" * 900 + "1" + ")" * 900,
        "-" * 1500 + "1",
        "+".join("1" * 900),
        "2" + "**2" * 600,
        "1" * 1000,
        "x" * 3000,
    ],
)
def test_limits_are_checked_at_once(written: str, at_most_calls: Callable) -> None:
    """Texts beyond a limit are refused with little work, without a recursion error."""
    with at_most_calls(1_000_000), pytest.raises(InputError):
        parse_expression(written, "text")


@pytest.mark.parametrize("written", ["9**9**9**9", "2**1001", "eps**-2000", "(9**900)**900"])
def test_large_constants_are_refused(written: str) -> None:
    """Constants that no arithmetic below could hold are refused, not computed."""
    with pytest.raises(TooLargeError):
        constants_folded(parse_expression(written, "text"))


def test_precedence() -> None:
    """Powers bind to the right and before a minus sign, the rest to the left."""
    assert constants_folded(parse_expression("-2**-2**2", "text")) == Number(Fraction(-1, 16))
    assert constants_folded(parse_expression("1-2-3/4/5", "text")) == Number(Fraction(-23, 20))


def test_greek_and_mathematical_signs() -> None:
    """σ, ε, δ and the signs · ÷ − read like their plain spellings."""
    assert parse_equation("σ = −A/ε·sqrt(log(B÷δ))", "t") == parse_equation(
        "sigma = -A/eps*sqrt(log(B/delta))", "t"
    )


nodes = st.recursive(
    st.one_of(
        st.integers(0, 50).map(lambda n: Number(Fraction(n))),
        st.sampled_from(["eps", "delta", "A"]).map(Name),
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/"]), inner, inner).map(
            lambda t: Call(t[0], (t[1], t[2]))
        ),
        st.tuples(st.sampled_from(["exp", "neg", "log", "sqrt", "Phi"]), inner).map(
            lambda t: Call(t[0], (t[1],))
        ),
        st.tuples(inner, inner).map(lambda t: Call("**", t)),
        st.lists(inner, min_size=2, max_size=3).map(lambda t: Call("max", tuple(t))),
    ),
    max_leaves=12,
)


@given(nodes)
def test_text_of_a_tree_parses_to_it(node: Call) -> None:
    """Printing and parsing are inverse."""
    assert parse_expression(text(node), "text") == node


@settings(max_examples=300)
@given(
    st.text(st.sampled_from("()+-*/.,<>= 0123456789eEpsdltaxlogPhimn_εδ−·^%[]{}'\"\\"), max_size=60)
)
def test_any_text_is_read_or_refused(written: str) -> None:
    """Whatever is typed gives a tree within the limits, or an InputError."""
    with contextlib.suppress(InputError):
        assert size(parse_expression(written, "text"))[1] <= 100
