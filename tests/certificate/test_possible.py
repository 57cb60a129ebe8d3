"""What is said to be a mechanism's own δ is proved to be possible, or called a bound."""

from __future__ import annotations

import json
import math
import random
import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest

import gdpbridge as gdp
from gdpbridge import InputError, profiles
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.convexity import BITS, can_be_own
from gdpbridge_verify.refusal import Malformed, OutOfWork
from gdpbridge_verify.trees import parsed

Document = dict[str, Any]
POSSIBLE = (
    "delta = 0.1*erfc(eps/4)",
    "delta = max(0, 1 - exp((eps - 2)/2))",
    "delta = 0.3*exp(-eps**2/8 - eps/4)",
    "delta = 0.2/(1 + eps)",
    "delta = 0.1",
    "log_delta = -2 - 0.1*eps",
    "delta = 0.1*exp(-eps)/(2 - exp(-eps)) + 0.1",
    "delta = 0.1*(1 + eps)**-3",
    "delta = -0.5 + 1.4*exp(-eps/100)",
    # not convex only where it is below 0
    "delta = 0.2*exp(-eps) - 0.02 + 0.001*exp(-50*(eps - 5)**2)",
)
IMPOSSIBLE = (
    "delta = 0.3*exp(-eps**2)",
    "delta = exp(-eps**2)",
    "delta = 0.5*exp(-eps)",
    "delta = 0.9*exp(-2*eps)",
    "log_delta = -0.5 - eps",
    "delta = 0.1*exp(-eps**4)",
    "delta = 1.5*exp(-eps/100)",
    "delta = max(2, 0.3*exp(-eps/4))",
    "delta = 0.3*exp(-3*eps**2/8 - eps/4)/exp(eps**2/4)",
    # convex up to 4, and 0 from 7 on
    "delta = 0.01*exp(-eps) - 0.00001 + 0.00001*exp(-50*(eps - 5)**2)",
)
# of these it is not seen either way: they are bounds
UNKNOWN = (
    "delta = min(0.2*exp(-eps), 0.2*exp(1 - 2*eps))",
    "delta = 0.1 + abs(eps - 1)/100",
    "delta = 0.2 - abs(eps - 1)/100",
    "delta = 0.1 + 0*sqrt(eps - 1)",
    "delta = 0.1 + 0*log(eps)",
    "delta = 0.1*exp(eps/100)",
    "delta = 0.1 + sqrt(0 - 1)",
    "delta = 0.1*exp(0*log(0 - 1))",
    "delta = 0.1 + 0/eps",
    "delta = 0.1 + 0*sqrt((eps - 1)**2 - 0.25)",
    "delta = 0.1 + sqrt((eps - 1)**2 - 0.25)*0",
    "delta = 0.1*exp(0*sqrt((eps - 1)**2 - 0.25))",
    "delta = 0.1*exp(sqrt(0*sqrt((eps - 1)**2 - 0.25)))",
    "log_delta = max(-1, -0.8 - eps/10)",
    "log_delta = 2*eps - 5",
    "delta = max(0.2*exp(-eps), 0.1*exp(-eps/8))",
)


def _shape(text: str, work: Work | None = None) -> bool | Fraction:
    node, is_log = parsed(text, {})
    return can_be_own(node, Arithmetic(BITS, work), is_log=is_log)


def test_shapes() -> None:
    """What is convex in e^ε and falls slowly enough is seen to be possible, what is not is not."""
    for text in POSSIBLE:
        assert _shape(text) is True, text
    for text in IMPOSSIBLE:
        assert not isinstance(_shape(text), bool), text
    for text in UNKNOWN:
        assert _shape(text) is not True, text


def _delta(text: str, eps: mpmath.mpf) -> mpmath.mpf:
    node, is_log = parsed(text, {})
    names = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
        "/": lambda a, b: a / b, "**": lambda a, b: a**b, "min": min, "max": max,
        "exp": mpmath.exp, "erfc": mpmath.erfc, "log": mpmath.log, "sqrt": mpmath.sqrt,
        "abs": abs,
    }  # fmt: skip

    def value(one: Any) -> Any:
        if one.name == "number":
            return mpmath.mpf(one.value.numerator) / one.value.denominator
        return eps if one.name == "eps" else names[one.name](*map(value, one.parts))

    found = value(node)
    return mpmath.exp(found) if is_log else max(found, mpmath.mpf(0))


def test_no_shape_that_is_accepted_is_impossible() -> None:
    """Of random formulas those that are accepted are convex in e^ε with (-1, 1), by mpmath."""
    source, accepted = random.Random(5), 0
    functions = (
        "exp(-{})", "{}*{}", "({} + {})", "exp(-{}**2)", "erfc({})", "1/(1 + {})", "max({}, {})",
        "min({}, {})", "abs({} - {})", "1 - {}", "sqrt(1 + {})", "{}**3",
    )  # fmt: skip

    def written(depth: int) -> str:
        if not depth or source.random() < 0.2:
            return source.choice(["eps", "eps", f"{source.choice([0.1, 0.25, 0.5, 1, 2])}"])
        form = source.choice(functions)
        return form.format(*(f"({written(depth - 1)})" for _ in range(form.count("{}"))))

    points = [mpmath.mpf(k) / 16 for k in range(0, 96, 3)] + [mpmath.mpf(8)]
    for _ in range(250):
        text = f"delta = {source.choice([0.05, 0.3])}*({written(3)})"
        try:
            found = _shape(text, Work(2e5)) is True
        except (OutOfWork, Malformed):
            continue
        if not found:
            continue
        accepted += 1
        rows = [(mpmath.mpf(-1), mpmath.mpf(1))]
        rows += [(mpmath.exp(eps), _delta(text, eps)) for eps in points]
        slopes = [(d - c) / (t - s) for (s, c), (t, d) in pairwise(rows)]
        assert all(one <= other + mpmath.mpf(10) ** -12 for one, other in pairwise(slopes)), text
        assert slopes[-1] <= mpmath.mpf(10) ** -12
    assert accepted > 15


def test_a_formula_that_is_proved_and_one_that_is_not() -> None:
    """The certificate calls a formula the mechanism's own where that is proved."""
    for text, own in (
        ("delta = 0.1*erfc(eps/4)", True),
        ("delta = max(0.2*exp(-eps), 0.1*exp(-eps/8))", False),
    ):
        document = gdp.measure(
            profiles.Formula(text, exact=True), tol=1e-3, eps_h=3 if not own else None
        ).certificate
        assert document is not None
        assert gdp.verify(document).valid
        assert document.claim.profile_is == ("own" if own else "bound")
        changed: Document = json.loads(document.to_json())
        changed["claim"]["profile_is"] = "bound" if own else "own"
        assert not gdp.verify(changed).valid
    for text in IMPOSSIBLE:
        with pytest.raises(InputError, match="eps"):
            gdp.measure(profiles.Formula(text, exact=True))


# each falls faster than e^{-ε}, so that F + λ·e^{-ε} is convex in e^ε from some λ on
KNIFE_EDGES = (
    *(
        text.replace("E", "-exp(-2*eps)").replace("G", "(3 - exp(-eps))")
        for text in (
            "E*G", "E/G", "E*G/2", "E*G**3", "E*G**2", "E*G**-2", "E*G**1.5", "E*2**G", "E*sqrt(G)",
            "E*log1p(G)", "E*log(1 + G)", "E*expm1(G)", "E*abs(G)", "E*abs(-G)",
            "E*(exp(-eps) - 1)", "E*(1 - exp(-eps))", "(exp(-eps) - 1)*E", "(1 - exp(-eps))*E",
            "E*max(1/(2 + eps), G)", "E*min(3 + eps, G)",
            "-erfc(1/2 + eps + eps**2/8)", "-Phi(-1/2 - eps - eps**2/4)",
        )
    ),
)  # fmt: skip
NAMES = {"exp": mpmath.exp, "sqrt": mpmath.sqrt, "log1p": mpmath.log1p, "log": mpmath.log,
         "expm1": mpmath.expm1, "abs": abs, "max": max, "min": min, "erfc": mpmath.erfc,
         "Phi": mpmath.ncdf}  # fmt: skip


@pytest.mark.parametrize("text", KNIFE_EDGES)
def test_what_is_hardly_convex_and_what_is_hardly_not(text: str) -> None:
    """The least λ is where (F' - F'')e^ε/2 is largest, by mpmath: a percent beside it is seen."""
    exact = re.sub(r"(?<![\w.])[0-9.]+", lambda found: f"mpf('{found[0]}')", text)
    code = compile(exact, "formula", "eval")

    def wanted(at: mpmath.mpf) -> mpmath.mpf:
        names = {**NAMES, "mpf": mpmath.mpf}
        series = mpmath.taylor(lambda eps: eval(code, {**names, "eps": eps}), at, 2)
        return (series[1] - 2 * series[2]) * mpmath.exp(at) / 2

    with mpmath.workdps(20):
        grid = [mpmath.mpf(k) / 20 for k in range(81)]
        top = max(range(81), key=[wanted(at) for at in grid].__getitem__)
        near = [max(grid[top] + mpmath.mpf(k) / 200, mpmath.mpf(0)) for k in range(-9, 10)]
        least = max(map(wanted, near))
    assert least > 0
    for share, expected in ((1.01, True), (0.99, False)):
        scale = mpmath.nstr(least * share, 12)
        # 0 from about 7 on, where nothing is left to prove
        found = _shape(f"delta = 0.01*({text} + {scale}*(exp(-eps) - 0.001))")
        assert (found is True) == expected, found
        assert isinstance(found, bool) == expected, found


@pytest.mark.parametrize("text", ["{c}*exp(-{k}*eps)", "{c}/2*(exp(-{k}*eps) + exp(-{k}*eps))"])
def test_a_fall_from_the_start_that_is_hardly_too_fast(text: str) -> None:
    """With δ = c·e^{-kε}, 2kc ≤ 1 - c; and δ(0) is at most 1."""
    for c in (0.25, 0.5, 0.75):
        k = (1 - c) / (2 * c)
        for share, expected in ((1 - 1e-12, True), (1 + 1e-12, False)):
            found = _shape(f"delta = {text.format(c=c, k=f'{k * share:.15f}')}")
            assert (found is True) == expected
    # where it is flat, what it begins with decides
    assert _shape("delta = 0.999 + 0*eps") is True
    assert _shape("delta = 1.001 + 0*eps") == 0
    assert _shape("log_delta = 0.001") == 0
    assert _shape("delta = 0.001*exp(-eps/8) - 0.002") is not True


def _law(pairs: list[tuple[int, float]], rest: str = "0") -> str:
    masses = (f"{place}:0x{int(mass * 2**60):x}p-60" for place, mass in pairs)
    return " ".join([f"inf:{rest}", *masses])


def test_losses_that_no_mechanism_has() -> None:
    """With Σ p·e^{-y} above 1 losses are nobody's own, by whom they may be written."""
    one = gdp.measure(profiles.PLD(remove=[[0.5, 0.7], [-0.5, 0.3]])).certificate
    assert one is not None
    document: Document = json.loads(one.to_json())
    limit = math.exp(0.5) / (1 + math.exp(0.5))
    for mass, own in ((limit + 1e-9, True), (limit + 1e-13, True), (limit - 1e-10, False)):
        found = profiles.PLD(remove=[[0.5, mass], [-0.5, 1 - mass]])
        assert (found.profile_is.value == "own") == own
        assert own or "more than 1" in " ".join(found.remarks)
    source = random.Random(3)
    for _ in range(200):
        count = source.randrange(1, 5)
        places = sorted(source.sample(range(-4, 5), count))
        cuts = [0.0, *sorted(source.random() for _ in range(count - 1)), 1.0]
        masses = [b - a for a, b in pairwise(cuts)]
        changed = json.loads(json.dumps(document))
        unit = Fraction(source.randrange(1, 20), 10)
        changed["mechanism"]["remove"] = _law(list(zip(places, masses, strict=True)))
        changed["mechanism"]["remove_unit"] = str(unit)
        changed["mechanism"].pop("bound", None)
        changed["claim"] = {
            **changed["claim"], "statement": "answers", "mu": {"low": "0", "high": "inf"},
            "profile_is": "own", "answers": [
                {"quantity": "delta", "at": "0", "low": "0", "high": "1"}],
        }  # fmt: skip
        changed["evidence"] = {
            **changed["evidence"], "witness": None, "tail_from": None,
            "directions": [{"pieces": [{"start": "0x0p+0", "tilt": "0x0p+0"}], "cells": []}],
            "points": [{}],
        }  # fmt: skip
        share = sum(
            mpmath.mpf(mass) * mpmath.exp(-mpmath.mpf(unit.numerator) / unit.denominator * place)
            for place, mass in zip(places, masses, strict=True)
        )
        assert gdp.verify(changed).valid == (share <= 1), (places, masses, unit)


def test_more_than_all_of_a_law_is_refused() -> None:
    """Probabilities that add up to more than 1 are none."""
    one = gdp.measure(profiles.PLD(remove=[[0.5, 0.7], [-0.5, 0.3]])).certificate
    document: Document = json.loads(one.to_json())  # type: ignore[union-attr]
    document["mechanism"]["remove"] = "inf:0 -1:0x1p-1 1:0x1p-1 2:0x1p-20"
    with pytest.raises(InputError, match="1 together"):
        gdp.verify(document)


@pytest.mark.parametrize("times", [1000, 10**14])
def test_what_is_missing_of_a_law_is_not_lost_in_many_runs(times: int) -> None:
    """Masses that are 2^-50 short of 1 are nothing in one run, but a tenth in 10^14."""
    one = gdp.measure(profiles.PLD(remove=[[0.5, 0.7], [-0.5, 0.3]])).certificate
    document: Document = json.loads(one.to_json())  # type: ignore[union-attr]
    law = {"kind": "pld", "remove": f"inf:0 0:0x{2**50 - 1:x}p-50", "remove_unit": "1"}
    parts = [{**law, "count": str(times)}, {"kind": "laplace", "scale": "1", "sensitivity": "1"}]
    document["mechanism"] = {"kind": "sequence", "neighbours": None} | {
        f"parts.{number}.{name}": text
        for number, part in enumerate(parts)
        for name, text in part.items()
    }
    answer = {"quantity": "delta", "at": "0", "low": "0", "high": "0.394"}
    document["claim"] |= {"statement": "answers", "mu": {"low": "0", "high": "inf"}}
    document["claim"] |= {"profile_is": None, "answers": [answer]}
    document["evidence"] |= {"directions": [{"pieces": [], "cells": []}], "points": [{}]}
    document["evidence"] |= {"witness": None, "cells": []}
    if times == 1000:
        assert gdp.verify(document).valid
        return
    with pytest.raises(InputError, match="short of 1"):
        gdp.verify(document)
