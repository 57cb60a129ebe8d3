"""Certificates of formulas: proved, small, and false ones are not accepted."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import truth
from changes import beside, changes, documents_of, outcome, put, structural

import gdpbridge as gdp
from gdpbridge import InputError, profiles
from gdpbridge_verify import check
from gdpbridge_verify.arithmetic import Arithmetic
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.taylor import Taylor
from gdpbridge_verify.trees import isolated, parsed, sides_of

Document = dict[str, Any]
mpf = mpmath.mpf


# δ = B·e^{-(sε/A)²} and e^{sε/k}
TRADEOFF, SLOW = "s = A*sqrt(log(B/delta))/eps", "s = k*log(delta)/eps"
QUOTIENT = "s = A/eps*sqrt(log(B/delta))"
SGD = "delta = B*exp(-(eps/A)**2)"
EXAMPLES = {
    "whole": (profiles.Formula(SGD, set={"A": 0.7, "B": 0.9}), {}),
    "head": (profiles.Formula("delta = 3/eps*exp(-5)"), {"eps_h": 4}),
    "approximate": (profiles.Formula("log_delta = -0.5 - eps"), {"failure": 0.01}),
    "error function": (profiles.Formula("delta = 0.5*erfc(eps)"), {}),
    "largest": (
        profiles.Formula("delta = max(exp(-eps**2)/3, exp(-eps - 1))"),
        {"failure": 0.01},
    ),
    "trade-off": (profiles.Tradeoff(TRADEOFF, set={"s": 1, "A": 0.7, "B": 0.9}), {}),
    "quotient": (
        profiles.Tradeoff(QUOTIENT, set={"s": 2, "A": 2, "B": 1}),
        {},
    ),
    "trade-off head": (profiles.Tradeoff(SLOW, set={"s": 4, "k": -2}), {"eps_h": 2}),
    "exact": (profiles.Formula("delta = 0.3*exp(-eps**2 - 1.1*eps)", exact=True), {}),
}


text_of, fresh = documents_of(EXAMPLES, tol=1e-9)


def value_of(text: str, known: dict[str, str]) -> Callable[[mpf], mpf]:
    """The formula by Python's own parser, with mpmath."""
    left, right = text.split("=")
    right = re.sub(r"(?<![\w.])[0-9.]+", lambda found: f"mpf('{found[0]}')", right)
    names = {"exp": mpmath.exp, "log": mpmath.log, "erfc": mpmath.erfc, "mpf": mpf}
    names |= {name: mpf(value) for name, value in known.items()}

    def value(eps: mpf) -> mpf:
        try:
            found = eval(right, {**names, "eps": eps})
        except ZeroDivisionError:
            return mpmath.inf
        return mpmath.exp(found) if "log" in left else found

    return value


def profile_of(spec: dict[str, str | None]) -> Callable[[mpf], mpf]:
    """δ(ε): what the formula implies, or itself."""
    known = {name[4:]: str(text) for name, text in spec.items() if name.startswith("set.")}
    if spec["kind"] == "tradeoff":
        s, A, B, k = (mpf(known.get(name, "nan")) for name in ("s", "A", "B", "k"))
        closed = {
            **dict.fromkeys(
                (TRADEOFF, QUOTIENT), lambda eps: B * mpmath.exp(-((s * eps / A) ** 2))
            ),
            SLOW: lambda eps: mpmath.exp(s * eps / k),
        }
        naive = closed[str(spec["text"])]
    else:
        naive = value_of(str(spec["text"]), known)
    found = naive if spec.get("exact") == "true" else truth.refined(naive)
    return lambda eps: min(max(found(eps), mpf(0)), mpf(1))


def is_true(document: Document) -> bool:
    """Whether the claim is true, up to errors far below its digits."""
    document = json.loads(json.dumps(document))
    claim, spec = document["claim"], document["mechanism"]
    if claim["verdict"] == "unknown":
        if claim["mu_tail"] != {"low": "0", "high": "inf"} or claim["statement"] == "whole":
            return False
        claim |= {"verdict": "gdp", "mu_tail": {"low": "0", "high": "0"}}
        return truth.is_true(document, profile_of, lambda _: mpf(0))
    A, s = (spec.get(f"set.{name}", 1) for name in ("A", "s"))
    return truth.is_true(document, profile_of, lambda _: mpf(A) / mpf(s) / mpmath.sqrt(2))


def every_change(name: str) -> Iterator[tuple[str, Document]]:
    """All changes of one field, and of numbers within the text."""
    document = fresh(name)
    yield from changes(document)
    yield from structural(document)
    text = document["mechanism"]["text"]
    for found in re.finditer(r"(?<![\w.])[0-9.]+", text):
        for other in (Fraction(found[0]) * Fraction(k, 100) for k in (50, 99, 101, 200)):
            new = f"{text[: found.start()]}{float(other)}{text[found.end() :]}"
            yield new, put(document, ("mechanism", "text"), new)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """Each is accepted, small, true by another way, and refused when its interval is moved."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)
    assert len(text_of(name)) < 10_000
    for changed in beside(document, Fraction(1, 10**8)):
        assert not is_true(changed)
        assert outcome(changed) != "valid"


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    changes = list(every_change(name))
    tried = [*random.Random(name).sample(changes[:-4], 40), *changes[-4:]]
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


def test_a_formula_that_dips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula is a guarantee at every ε: where it is small in between, δ is so from there on."""
    monkeypatch.setattr(check, "MAX_WORK", 2e5)
    document = fresh("whole")
    dip = "delta = B*exp(-(eps/A)**2)*(eps - 2)**2"
    assert outcome(put(document, ("mechanism", "text"), dip)) != "valid"


@pytest.mark.parametrize(
    "text",
    [
        "", "delta", "delta =", "delta = eps eps", "delta = (eps", "delta = eps)", "beta = eps",
        "delta = __import__('os')", "delta = exp", "delta = exp(eps, 2)", "delta = x",
        "delta = " + "(" * 200 + "eps" + ")" * 200, "delta = " + "-" * 300 + "eps",
        "delta = max eps", "delta = max(eps,", "delta = delta", "delta = 1e9999",
        "log(delta = eps", "delta = eps +", "delta = 2 ** ", "delta = 1.2.3", "delta = ½",
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    """What is no formula of eps is malformed, quickly and without a crash."""
    with pytest.raises(Malformed):
        parsed(text, {})
    changed = put(fresh("exact"), ("mechanism", "text"), text)
    with pytest.raises(InputError):
        gdp.verify(changed)


@pytest.mark.parametrize(
    "text",
    ["exp(-eps**2)", "-eps**2 + 3*eps", "2 - 3 - 4*eps", "8/4/2/(1 + eps)", "2**-eps", "eps**0.5",
     "sqrt(1 + eps)", "log1p(eps)/eps", "expm1(-eps)", "(1 + eps)**(-3)", "2**3**eps", "-2**2*eps",
     "1·eps − 2", "max(eps, 2*eps, 1)", "min(eps, 1 + eps**2)", "abs(1 - eps)", "erfc(eps)",
     "Phi(-eps**2)"],
)  # fmt: skip
def test_values_and_slopes_are_those_of_python(text: str) -> None:
    """Series of the checker's parser hold what mpmath finds for Python's."""
    node, is_log = parsed(f"delta = {text}", {})
    assert not is_log
    of = Arithmetic(120)
    plain_text = text.replace("·", "*").replace("−", "-")
    names = {"exp": mpmath.exp, "log1p": mpmath.log1p, "sqrt": mpmath.sqrt, "expm1": mpmath.expm1}
    names |= {"erfc": mpmath.erfc, "Phi": mpmath.ncdf}
    found = Taylor(of, 1).about(node, of.exactly(Fraction(5, 4)))
    with mpmath.workdps(40):
        function = lambda e: eval(plain_text, {**names, "eps": e})  # noqa: E731
        wanted = mpmath.taylor(function, mpf(1.25), 1)
        for one, value in zip(found, wanted, strict=True):
            assert abs(mpf(str(one.low)) - value) < mpf(10) ** -12
            assert mpf(str(one.high)) - mpf(str(one.low)) < mpf(10) ** -25


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 = eps*log1p(delta)", "expm1(1/eps)"), ("expm1(delta) = 1/eps", "log1p(1/eps)"),
        ("2/(eps*delta**2) = 3", "(2/eps/3)**0.5"), ("eps - exp(delta) = -4", "log(eps + 4)"),
        ("1/2 = -(delta - eps)/(-eps)", "eps + eps/2"), ("sqrt(delta)*eps = 1", "1/eps**2"),
        ("1/eps = 2/(2 + delta)", "2*eps - 2"), ("delta**(1 + 2) = eps", "eps**(1/3)"),
        ("delta**(2*3) = eps", "eps**(1/6)"),
    ],
)  # fmt: skip
def test_equations_are_solved(text: str, wanted: str) -> None:
    """What is done to delta is undone; at ε = 3/2."""
    node, is_log = isolated(text, *sides_of(text, {}))
    of = Arithmetic(120)
    taylor, at = Taylor(of, 0), of.exactly(Fraction(3, 2))
    found, right = (taylor.about(one, at)[0] for one in (node, parsed(f"delta = {wanted}", {})[0]))
    assert not is_log
    assert abs(float((found - right).low)) < 1e-30


@pytest.mark.parametrize(
    "text",
    [
        "1 = 1", "eps = 1", "delta = delta", "delta*log(delta) = eps", "delta + delta = eps",
        "1 = abs(delta)", "max(delta, eps) = 1", "sqrt(delta) = eps - 1", "sqrt(delta) = -1",
        "delta**2 = eps - 1", "(delta - eps)**2 = 1", "delta/(eps - 1) = 1", "0/delta = 1",
        "delta/0 = 1", "delta/(eps - eps) = 1", "2**delta = eps", "erfc(delta) = 1", "delta = ",
        "sqrt(delta) = eps*(eps - 1)",
    ],
)  # fmt: skip
def test_equations_without_one_solution_are_refused(text: str) -> None:
    """Where a step back has no solution or several ones, or what is divided by may be 0."""
    with pytest.raises(Malformed):
        isolated(text, *sides_of(text, {}))


def test_what_a_formula_is_of() -> None:
    """δ, or its logarithm in either spelling, and nothing else."""
    for text in ("log_delta = -eps", "log(delta) = -eps", "log(δ) = -ε"):
        assert parsed(text, {}) == (parsed("delta = -eps", {})[0], True)
    for text in ("log(eps) = -eps", "log() = -eps", "log(delta = -eps", "eps = -eps", "= -eps"):
        with pytest.raises(Malformed):
            parsed(text, {})


@pytest.mark.parametrize(
    "rest", ["eps", "eps, 2", "eps < 1", "eps < 1, 3, eps", "eps, 3, eps < 1, 2", "eps < 1, 3,"]
)
def test_conditions_that_are_none_are_not_read(rest: str) -> None:
    """Each is a comparison, and a value stands last."""
    with pytest.raises(Malformed):
        parsed(f"delta = piecewise(1, {rest})", {})


def test_a_name_that_is_read_as_another_one_is_refused() -> None:
    """σ is read as sigma: a second value for it would be shown, and not be used."""
    document = fresh("whole")
    text = {"text": SGD.replace("A", "σ"), "set.sigma": document["mechanism"].pop("set.A")}
    document["mechanism"] |= text
    assert outcome(document) == "valid"
    document["mechanism"]["set.σ"] = "2"
    assert outcome(document) != "valid"


def test_a_solution_below_zero_is_none() -> None:
    """Of a formula a negative δ is 0; of a trade-off nothing is known then."""
    document = fresh("trade-off head")
    for text, valid in (("delta = 0.4 - eps", True), ("0.4 - eps = delta", False)):
        changed = json.loads(json.dumps(document))
        kind = "formula" if valid else "tradeoff"
        changed["mechanism"] = {"kind": kind, "neighbours": None, "text": text}
        changed["claim"] |= {"mu": {"low": "0", "high": "5"}, "eps_h": "2"}
        changed["evidence"] |= {"event": None, "touching": None, "witness": None}
        assert (outcome(changed) == "valid") is valid
