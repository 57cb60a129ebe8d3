"""Privacy loss distributions: exact sums, and numbers that are not quite probabilities."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import binomial, exp, mp, mpf, nstr

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.profiles import PLD, Gaussian, Sequence


def delta(pairs: list[tuple[float, float]], eps: float) -> float:
    """δ(ε) of one direction, by its definition."""
    return math.fsum(
        mass * -math.expm1(eps - loss) if loss < math.inf else mass
        for loss, mass in pairs
        if loss > eps
    )


def test_randomized_response_file(tmp_path: Path) -> None:
    """51 losses with 20 digits: the fifty-fold randomized response, to 1e-12."""
    mp.dps = 30
    p = exp(mpf("0.2")) / (1 + exp(mpf("0.2")))
    rows = [
        f"{nstr((2 * ups - 50) * mpf('0.2'), 10)},"
        f"{nstr(binomial(50, ups) * p**ups * (1 - p) ** (50 - ups), 20)}"
        for ups in range(51)
    ]
    file = tmp_path / "losses.csv"
    file.write_text("loss,probability\n" + "\n".join(rows) + "\n")
    found = gdp.measure(PLD(str(file)), tol=1e-13)
    assert found.mu.lower == pytest.approx(1.42007917667459628, abs=1e-12)
    assert (found.method, found.certified) == ("breakpoints", True)


masses = st.lists(st.integers(1, 1000), min_size=1, max_size=8)


@given(masses, masses, st.randoms(use_true_random=False))
@pytest.mark.slow
def test_larger_direction(one: list[int], other: list[int], random: Any) -> None:
    """δ is the larger direction's at every ε, on floats, and no line is below it."""
    sides = []
    for weights in one, other:
        losses = sorted(random.sample(range(-20, 40), len(weights)))
        total = sum(weights) * 1.6
        # losses that are mostly positive keep the other distribution's total below 1
        pairs = [
            (0.05 * loss, weight / total) for loss, weight in zip(losses, weights, strict=True)
        ]
        rest = 1 - math.fsum(mass for _, mass in pairs)
        if math.fsum(mass * math.exp(-loss) for loss, mass in pairs) > 1:
            return
        sides.append([*pairs, (math.inf, rest)])
    profile = PLD(remove=sides[0], add=sides[1])
    for eps in np.linspace(0, 2.1, 43):
        expected = max(delta(side, float(eps)) for side in sides)
        assert profile.delta(float(eps)) == pytest.approx(expected, rel=1e-9, abs=1e-14)
        low, high = profile.delta_bounds(float(eps))
        assert low * (1 - 1e-12) <= expected <= high * (1 + 1e-12)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0.1, 0.5), (0.2, -0.01)], r"remove.probabilities\[1\] is -0.01"),
        ([(math.nan, 0.5)], r"remove.losses\[0\] is nan"),
        ([(-math.inf, 0.5)], r"remove.losses\[0\] is -inf"),
        ([(0.1, 0.9), (0.2, 0.9)], "add up to 1.8"),
        ([(-1.0, 0.5), (0.2, 0.5)], "under the other distribution"),
        ([(0.1, "x")], "pairs of a loss and its probability"),
        ([], "pairs of a loss and its probability"),
        (3, "pairs of a loss and its probability"),
    ],
)
def test_refused(pairs: Any, message: str) -> None:
    """What is no distribution is refused in one sentence that names it."""
    with pytest.raises(gdp.InputError, match=message) as caught:
        PLD(remove=pairs)
    assert "\n" not in str(caught.value)


def test_repairs_are_said() -> None:
    """Tiny negative masses and what is missing: handled, and said."""
    share = math.exp(0.2) / (1 + math.exp(0.2))
    good = gdp.measure(PLD(remove=[(-0.2, 1 - share), (0.2, share)])).mu
    negative = gdp.measure(PLD(remove=[(-0.2, 1 - share), (0.1, -1e-13), (0.2, share)]))
    assert any("negative mass" in note for note in negative.notes)
    assert negative.mu.high >= good.low
    missing = gdp.measure(PLD(remove=[(-0.2, 1 - share), (0.2, share - 1e-3)]))
    assert missing.failure_probability >= 1e-3
    assert any("missing from 1" in note for note in missing.notes)
    assert missing.verdict is gdp.Verdict.NOT_GDP


def test_losses_beside_a_lattice_are_not_moved_to_it() -> None:
    """±1 with 1 a little larger: moved to the lattice, fifty runs would end below the least μ."""
    share = math.e / (1 + math.e)
    masses = {-1.0: 1 - share, 1.0: share}
    on = PLD(remove=list(masses.items()))
    beside = PLD(remove=[(-1.0, masses[-1.0]), (1.0000000009, masses[1.0])])
    assert (on.directions[0].spacing, beside.directions[0].spacing) == (1, None)
    assert gdp.measure(on.compose(50)).certified
    found = gdp.measure(beside.compose(50), tol=1e-3)
    # its exact sums, and G at the best ε, worked out in 60 digits
    assert found.mu.low <= Decimal("6.96670683544") <= found.mu.high
    truth = delta([(-1.0, masses[-1.0]), (1.0000000009, masses[1.0])], 1.0000000003)
    low, high = beside.delta_bounds(1.0000000003)
    assert low <= truth * (1 + 1e-6)
    assert high >= truth * (1 - 1e-6) > 0


def test_multiples_as_floats_hold_them() -> None:
    """The floats nearest to multiples of 0.1 are read as these; those an ulp off are not moved."""
    nearest = [float(Fraction(k, 10)) for k in range(-5, 8)]
    products = [k * 0.1 for k in range(-5, 8)]
    masses = [1 / 13] * 13
    weights = [mass * min(1.0, math.exp(loss)) for mass, loss in zip(masses, nearest, strict=True)]
    rest = [(math.inf, 1 - math.fsum(weights))]
    for losses, spacing in ((nearest, Fraction(1, 10)), (products, None)):
        profile = PLD(remove=[*zip(losses, weights, strict=True), *rest])
        assert profile.directions[0].spacing == spacing
        written = [Fraction(repr(loss)) for loss in losses]
        assert list(profile.directions[0].exact_losses) == written


def test_mass_at_infinity() -> None:
    """A tenth at infinity is not GDP; 1e-15, which a tool cut off, leaves it unknown."""
    found = gdp.measure(PLD(remove=[(0.0, 0.9), (math.inf, 0.1)]))
    assert (found.verdict, found.failure_probability) == (gdp.Verdict.NOT_GDP, 0.1)
    tiny = gdp.measure(PLD(remove=[(-0.1, 0.45), (0.1, 0.55 - 1e-15), (math.inf, 1e-15)]))
    assert tiny.verdict is gdp.Verdict.UNKNOWN
    assert tiny.statement is gdp.Statement.HEAD


def test_composition_by_both_ways() -> None:
    """Beside a Gaussian of next to no loss, lines give what the exact lattice does."""
    profile = PLD(remove=[(-0.1, 0.5), (0.3, 0.5)], add=[(-0.3, 0.36), (0.1, 0.3), (0.4, 0.34)])
    exact = profile.compose(20)
    blurred = Sequence(parts=[exact, Gaussian(sigma=1000)])
    assert (exact.curve.form, blurred.curve.form) == (Form.LINEAR, Form.COMPOSED)
    for eps in (0.0, 0.55, 1.0, 2.5):
        assert blurred.delta_bounds(eps)[0] == pytest.approx(exact.delta(eps), rel=1e-3)


def test_files(tmp_path: Path) -> None:
    """CSV with directions, TSV, and JSON say the same."""
    rows = [("remove", -0.1, 0.4), ("remove", 0.1, 0.6), ("add", -0.1, 0.4), ("add", 0.1, 0.6)]
    csv = tmp_path / "a.csv"
    csv.write_text("direction,loss,probability\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    tsv = tmp_path / "a.tsv"
    tsv.write_text("Loss\tProbability\n-0.1\t0.4\n0.1\t0.6\n")
    data = tmp_path / "a.json"
    data.write_text(json.dumps([{"loss": b, "probability": c} for _, b, c in rows[:2]]))
    values = {PLD(str(file)).delta(0.05) for file in (csv, tsv, data)}
    assert len(values) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "file is empty"),
        ("a,b\n1,2\n", "the first row is 'a, b'"),
        ("loss,probability\n1\n", "row 2 is of 1 cells"),
        ("loss,probability\n1,x\n", "row 2 is 'x'"),
        ("direction,loss,probability\nup,1,1\n", "row 2 is 'up'"),
        ("direction,loss,probability\nadd,1,1\n", "file: give losses for removal"),
        ("[1]", "file is JSON of another shape"),
        ("[", "JSON that breaks off"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    """One sentence that names the row."""
    file = tmp_path / "a.csv"
    file.write_text(content)
    with pytest.raises(gdp.InputError, match=message.replace("[", r"\[")):
        PLD(str(file))


@pytest.mark.slow
def test_two_hundred_thousand_losses() -> None:
    """Many losses are summed from the top, without nan."""
    losses = np.sort(np.random.default_rng(1).normal(0.5, 1, 200_000))
    weights = np.full(losses.size, 1.0)
    weights /= max(weights.sum(), (weights * np.exp(-losses)).sum())
    profile = PLD(remove=list(zip(losses, weights, strict=True)))
    found = gdp.measure(profile, tol=1e-4, eps_h=3)
    assert found.mu.width <= 1e-4
    assert math.isfinite(profile.log_delta(4.0))
