"""Certificates of formulas that end, or change at some ε."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from changes import accepted

import gdpbridge as gdp
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.ranges import Range, formulas_of, on_ranges
from gdpbridge_verify.refusal import Malformed, Undecided
from gdpbridge_verify.trees import parsed

P = gdp.profiles
LAPLACE = "1 - exp((eps - 1)/2)"
OF_LAPLACE = [
    f"delta = {LAPLACE}",
    f"delta = max(0, {LAPLACE})",
    f"delta = piecewise({LAPLACE}, eps < 1, 0)",
    f"delta = piecewise({LAPLACE}, eps <= 0.3, {LAPLACE} + 0)",
    f"delta = piecewise(0, eps > exp(0), {LAPLACE}, log(2) > eps, {LAPLACE})",
    f"delta = piecewise({LAPLACE}, eps < 1, 7, eps < -2, 0)",
]


def document_of(profile: gdp.Profile, **how: Any) -> dict[str, Any]:
    """The certificate of a mechanism's μ."""
    found = gdp.measure(profile, tol=1e-9, **how).certificate
    assert found is not None
    document: dict[str, Any] = json.loads(found.to_json())
    return document


def with_text(document: dict[str, Any], text: str) -> dict[str, Any]:
    """The same of another formula."""
    return {**document, "mechanism": {**document["mechanism"], "text": text}}


@pytest.mark.parametrize("text", OF_LAPLACE)
@pytest.mark.parametrize("how", [{}, {"eps_h": 0.75}, {"failure": 0.01}], ids=str)
def test_laplace_in_other_words(text: str, how: dict[str, float]) -> None:
    """The μ is that of Laplace noise, and a formula that is larger somewhere is refused."""
    document, laplace = document_of(P.Formula(text), **how), document_of(P.Laplace(scale=1), **how)
    assert gdp.verify(document).valid
    for end in ("low", "high"):
        both = (Fraction(one["claim"]["mu"][end]) for one in (document, laplace))
        assert abs(next(both) - next(both)) <= Fraction(1, 10**8) or end == "low"
    assert Fraction(document["claim"]["mu"]["high"]) >= Fraction(laplace["claim"]["mu"]["low"])
    if not how:
        assert document["claim"]["verdict"] == "gdp"
        for other in ("0x1p-1", "0x1fffp-13", "0x0p+0"):
            changed = json.loads(json.dumps(document))
            changed["evidence"]["tail_from"] = other
            assert not accepted(changed)
    assert not accepted(with_text(document, text.replace("/2", "/3")))
    for changed in (
        f"delta = piecewise({LAPLACE} + 0.001, eps < 0.0001, {LAPLACE})",
        f"delta = piecewise({LAPLACE}, eps < 0.5, {LAPLACE} + 0.4)",
        "delta = piecewise(0.5, eps < log(3), 0)",
    ):
        assert not accepted(with_text(document, changed)), changed


def test_steps() -> None:
    """Of steps δ is at most what a table of them says, and the μ at least that of the table."""
    steps = "delta = piecewise(0.4, eps < 0.5, 0.1, eps < log(3), 0.02, eps < 2, 0)"
    document = document_of(P.Formula(steps))
    assert gdp.verify(document).valid
    rows = [(0, 0.4), (0.5, 0.1), (1.0986122886681098, 0.02), (2, 0)]
    table = document_of(P.Table(pairs=rows))
    high = Fraction(document["claim"]["mu"]["high"])
    assert high >= Fraction(table["claim"]["mu"]["low"]) - Fraction(1, 10**9)
    for text in (
        steps.replace("0.5,", "0.51,"), steps.replace("log(3)", "1.1"), steps.replace("2,", "3,")
    ):  # fmt: skip
        # a step that is later: the line from there is higher, if it matters
        wider = document_of(P.Formula(text))
        assert Fraction(wider["claim"]["mu"]["high"]) >= high - Fraction(1, 10**9)
        if Fraction(wider["claim"]["mu"]["low"]) > high:
            assert not accepted(with_text(document, text))
    smaller = json.loads(json.dumps(document))
    # what δ is between the steps, as it is convex, the checker sees as well
    below_table = float(Fraction(table["claim"]["mu"]["low"])) * 0.9999
    smaller["claim"]["mu"] = {"low": "0", "high": str(below_table)}
    assert not accepted(smaller)


def test_an_event_beyond_a_step_is_refused() -> None:
    """What one formula would allow, another one farther out does not."""
    before = document_of(P.Formula(f"delta = {LAPLACE}"), eps_h=0.75)
    assert Fraction(before["claim"]["mu"]["low"]) > 0
    assert accepted(with_text(before, f"delta = piecewise({LAPLACE}, eps < log(2), {LAPLACE})"))
    low = f"delta = piecewise({LAPLACE}, eps < log(2), 0.001)"
    assert not accepted(with_text(before, low))
    assert not accepted(with_text(before, low.replace("log(2)", "0.7")))


def test_ranges_are_found_in_order() -> None:
    """The first condition that holds tells; numbers that are not above 0 part nothing."""
    text = "delta = piecewise(1, eps < 1, 2, 3 > eps, 3, eps < 0, 4, eps < 3, 5)"
    found = formulas_of(parsed(text, {})[0], Arithmetic(96))
    assert [(start[0], node.value) for start, node in found] == [(0, 1), (1, 2), (3, 5)]
    known = [Range(*start, node, is_log=False) for start, node in found]
    assert [one.formula.value for one in on_ranges(known, Fraction(1), Fraction(1))] == [2]
    assert [one.formula.value for one in on_ranges(known, Fraction(0), Fraction(1))] == [1, 2]
    rooted = "delta = piecewise(1, eps < log(3), 2)"
    known = [
        Range(*start, node, is_log=False)
        for start, node in formulas_of(parsed(rooted, {})[0], Arithmetic(96))
    ]
    within = (known[1].low + known[1].high) / 2
    assert [one.formula.value for one in on_ranges(known, within, within)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("piecewise(1, eps < log(4), 2, eps < 2*log(2), 3)", Undecided),
        # of what may be 0, and is: a formula for ε = 0 alone bounds δ from there on
        ("piecewise(1, eps <= min(0, sqrt(2)*sqrt(2) - 2), 2)", Undecided),
        ("piecewise(2, eps > -abs(log(2) + log(3) - log(6)), 1)", Undecided),
        ("piecewise(1, eps <= max(0, sqrt(2)*sqrt(2) - 2), 2)", Undecided),
        ("piecewise(1, eps < eps, 2)", Malformed),
        ("piecewise(1, 2 < 3, 2)", Malformed),
        ("piecewise(1, eps < piecewise(1, eps < 1, 2), 2)", Malformed),
        ("piecewise(1, eps, 2)", Malformed),
        ("piecewise(1, eps < 1)", Malformed),
        ("piecewise(1)", Malformed),
        ("1 < eps", Malformed),
        ("piecewise(eps < 1, eps < 1, 2)", Malformed),
        ("min(1 < eps, 2)", Malformed),
    ],
)
def test_what_is_no_range(text: str, error: type[Exception]) -> None:
    """Conditions are of eps and a number, and two numbers are told apart."""
    with pytest.raises(error):
        formulas_of(parsed(f"delta = {text}", {})[0], Arithmetic(96))


def test_tradeoff_with_ranges() -> None:
    """An equation that changes at some ε is undone on each range."""
    text = "sigma = piecewise(-2*log(delta)/eps, eps < 2, -log(delta))"
    document = document_of(P.Tradeoff(text, set={"sigma": 4}), eps_h=4)
    assert gdp.verify(document).valid
    changed = text.replace("-log(delta)", "-3*log(delta)")
    assert not accepted(with_text(document, changed))
    own = {**document["mechanism"], "set.piecewise": "1"}
    assert not accepted({**document, "mechanism": own})
