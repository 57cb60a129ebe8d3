"""The plan of clip and rectify, its mechanism on OpenDP, and the table of what it costs."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import gdpbridge as gdp
from gdpbridge.amplify.clip_rectify import ClipRectifyPlan, clip_and_rectify
from gdpbridge.amplify.tradeoff import clipping_tradeoff
from gdpbridge.errors import InputError, MissingExtraError

ICEA = gdp.profiles.ICEA(messages=20, users=4)

# what a correct sampler fails once in a million runs
SIGNIFICANCE = 1e-6


@pytest.fixture(scope="module")
def plan() -> ClipRectifyPlan:
    """Bounds and ε_h of the issue that led to the test."""
    return clip_and_rectify(ICEA, eps_h=8, lower=-1, upper=3)


def test_plan(plan: ClipRectifyPlan) -> None:
    """Scale (y⁺ - y⁻)/ε_h, the theorem's μ, and a smaller one from the joint profile."""
    assert plan.scale == 0.5
    assert plan.sensitivity == 4
    assert plan.mean_absolute_error == 0.5
    assert plan.standard_deviation == pytest.approx(math.sqrt(0.5), rel=1e-15)
    assert plan.verdict == "gdp"
    assert plan.measurement.statement == "whole"
    assert plan.head_mu == gdp.measure(ICEA, eps_h=8).mu
    assert plan.mu.high < plan.head_mu.low


def test_plan_of_the_paper() -> None:
    """icea(20, 4) at ε_h = 10: 3.3124228 by the theorem, 3.0727409 by the joint profile."""
    plan = clip_and_rectify(ICEA, eps_h="10", lower=0, upper=1)
    assert "3.31242283115696897" in plan.head_mu
    assert "3.07274090096111686" in plan.mu
    assert plan.scale == 0.1


def test_plan_for_a_vector() -> None:
    """The sensitivity of a vector is the L1 diameter of its box, and a note says so."""
    plan = clip_and_rectify(ICEA, eps_h=10, lower=[0, 0, -1], upper=[1, 2, 1])
    assert (plan.sensitivity, plan.scale) == (5, 0.5)
    assert any("L1 diameter" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lower": 1, "upper": 1}, "upper is 1.0: must be above lower, which is 1"),
        ({"lower": [0, 1], "upper": 1}, "upper is 1: must be of the same length as lower"),
        ({"lower": [], "upper": []}, "lower is empty: must be a finite number"),
        ({"lower": math.nan, "upper": 1}, "lower is nan: must be a finite number"),
        ({"lower": 0, "upper": math.inf}, "upper is inf: must be a finite number"),
        ({"lower": "a", "upper": 1}, "lower is 'a': must be a finite number"),
        ({"lower": 0, "upper": True}, "upper is True: must be a finite number"),
        ({"lower": 0, "upper": 1, "eps_h": 0}, "eps_h is 0.0: must be a number > 0"),
        ({"lower": 0, "upper": 1, "eps_h": "x"}, "eps_h is 'x': must be a number > 0"),
        ({"lower": 0, "upper": 1, "profile": 1}, "profile is 1: must be a profile"),
    ],
)
def test_bad_input(given: dict[str, Any], message: str) -> None:
    """What is not allowed is refused in one sentence."""
    arguments = {"profile": ICEA, "eps_h": 10, **given}
    with pytest.raises(InputError, match=message):
        clip_and_rectify(arguments.pop("profile"), **arguments)


def test_without_the_extra(plan: ClipRectifyPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenDP the plan still stands, and the mechanism names the pip command."""
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gdpbridge\[mechanisms\]'"):
        plan.mechanism(float)


# --- the mathematics of the modules' texts --------------------------------------------------


@pytest.mark.parametrize(("steps", "per_step"), [(1, 0.3), (2, 0.5), (7, 0.2), (40, 0.05)])
def test_profile_of_discrete_noise(steps: int, per_step: float) -> None:
    """Discrete Laplace noise has at most the continuous profile with λ²/4 more of ε."""
    x = np.arange(-4000, 4000 + steps + 1)
    low = np.tanh(per_step / 2) * np.exp(-per_step * np.abs(x))
    high = np.tanh(per_step / 2) * np.exp(-per_step * np.abs(x - steps))
    shift = steps * per_step
    for eps in np.linspace(0, shift, 101):
        delta = np.maximum(low - np.exp(eps) * high, 0).sum()
        bound = -math.expm1((eps - shift - per_step**2 / 4) / 2)
        assert delta <= bound * (1 + 1e-9) + 1e-15
    # and exactly the continuous one on the grid of its losses
    for j in range(steps // 2 + 1):
        eps = per_step * (steps - 2 * j)
        delta = np.maximum(low - np.exp(eps) * high, 0).sum()
        assert delta == pytest.approx(-math.expm1(-per_step * j), abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.3, 2.0), (2.5, 0.1)])
def test_profile_of_two_coordinates(first: float, second: float) -> None:
    """Noise on two coordinates has at most the profile of all the shift on one of them."""
    grid = np.linspace(-40, 45, 85 * 40 + 1)
    width = grid[1] - grid[0]
    centre = (grid[:-1] + grid[1:]) / 2
    density = lambda shift: np.exp(-np.abs(centre - shift)) / 2 * width  # noqa: E731
    losses = [np.abs(centre - shift) - np.abs(centre) for shift in (first, second)]
    loss = losses[0][:, None] + losses[1][None, :]
    mass = density(0)[:, None] * density(0)[None, :]
    for eps in np.linspace(0, first + second, 9):
        delta = (mass * np.maximum(-np.expm1(eps - loss), 0)).sum()
        assert delta <= -math.expm1((eps - first - second) / 2) + 1e-3


# --- the mechanism --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dp() -> Any:
    """OpenDP, which the extra ``mechanisms`` brings."""
    return pytest.importorskip("opendp.prelude")


def test_distribution_of_the_noise(dp: Any) -> None:
    """A hundred thousand draws are Laplace about the clipped answer, at the plan's scale."""
    size = 1000
    plan = clip_and_rectify(ICEA, eps_h=4000, lower=[0.0] * size, upper=[2.0] * size)
    assert plan.scale == 0.5
    mechanism = plan.mechanism(lambda data: data)
    answers = np.linspace(-0.5, 2.5, size)
    noise = np.concatenate([mechanism(answers) - np.clip(answers, 0, 2) for _ in range(100)])
    assert noise.size == 100_000
    assert stats.kstest(noise, stats.laplace(scale=0.5).cdf).pvalue > SIGNIFICANCE
    for wrong in (0.45, 0.55):
        assert stats.kstest(noise, stats.laplace(scale=wrong).cdf).pvalue < SIGNIFICANCE


def test_outputs_lie_on_one_grid(plan: ClipRectifyPlan, dp: Any) -> None:
    """Outputs for all inputs are multiples of one power of two, and not only of twice it."""
    mechanism = plan.mechanism(float)
    assert math.frexp(mechanism.grid)[0] == 0.5
    assert mechanism.grid == 2.0**-41
    for answer in (0.0, 1.0, 0.1):
        multiples = [Fraction(mechanism(answer)) / Fraction(mechanism.grid) for _ in range(400)]
        assert all(multiple.denominator == 1 for multiple in multiples)
        # by chance all are even once in 2^400 runs
        assert any(multiple.numerator % 2 for multiple in multiples)


def test_scale_satisfies_opendps_map(plan: ClipRectifyPlan, dp: Any) -> None:
    """OpenDP's map of the noise is below ε_h, by what the grid needs, and the scale no waste."""
    mechanism = plan.mechanism(float)
    assert plan.scale < mechanism.scale < plan.scale * (1 + 1e-11)
    assert mechanism.measurement.map(1) == 8
    step = Fraction(mechanism.grid) / Fraction(mechanism.scale)
    # the rounding of the input may add one step to the shift
    assert 4 / Fraction(mechanism.scale) + step + step * step / 4 <= 8


@pytest.mark.parametrize(
    "answer",
    [math.nan, None, "0.7", b"1", [1.0], object(), 1j],
    ids=["nan", "none", "text", "bytes", "list", "object", "complex"],
)
def test_what_is_no_number_counts_as_the_lower_bound(
    plan: ClipRectifyPlan, dp: Any, answer: object
) -> None:
    """No answer shows through an error: it is as if the function had said y⁻."""
    released = plan.mechanism(lambda _: answer)(None)
    # exp(-80) is the chance that the noise alone goes there
    assert abs(released - -1) < 40
    assert Fraction(released) % Fraction(2) ** -41 == 0


def test_errors_and_infinities_do_not_show(dp: Any) -> None:
    """An exception counts as y⁻; infinities and huge integers are clipped to the nearer bound."""
    plan = clip_and_rectify(ICEA, eps_h=10_000, lower=-1, upper=1)

    def fails(_: object) -> float:
        raise ZeroDivisionError

    assert plan.mechanism(fails)(None) == pytest.approx(-1, abs=0.02)
    for answer, expected in [
        (math.inf, 1),
        (-math.inf, -1),
        (10**400, 1),
        (-(10**400), -1),
        (True, 1),
        (np.float32(0.5), 0.5),
    ]:
        released = plan.mechanism(lambda _, answer=answer: answer)(None)
        assert released == pytest.approx(expected, abs=0.02)


def test_vectors(dp: Any) -> None:
    """Each coordinate is clipped on its own; a wrong length counts as the lower corner."""
    plan = clip_and_rectify(ICEA, eps_h=20_000, lower=[0, 10], upper=[1, 20])
    mechanism = plan.mechanism(lambda data: data)
    assert mechanism((5, math.nan)) == pytest.approx([1, 10], abs=0.03)
    assert mechanism(np.array([0.5, 12.0])) == pytest.approx([0.5, 12], abs=0.03)
    assert mechanism([1]) == pytest.approx([0, 10], abs=0.03)


def test_around_an_opendp_measurement(plan: ClipRectifyPlan, dp: Any) -> None:
    """An OpenDP measurement is taken as it is, and keeps its domain and metric."""
    script = """
import opendp.prelude as dp
import gdpbridge as gdp
from gdpbridge.amplify.clip_rectify import clip_and_rectify
dp.enable_features("contrib")
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
inner = dp.m.make_laplace(*space, scale=1.0)
plan = clip_and_rectify(gdp.profiles.Laplace(scale=1), eps_h=8, lower=-1, upper=3)
mechanism = plan.mechanism(inner, example=1.0)
assert isinstance(mechanism.measurement, dp.Measurement)
assert mechanism.measurement.input_domain == inner.input_domain
assert mechanism.measurement.map(1.0) == 8.0
print(type(mechanism(1.0)).__name__, *sorted(dp.GLOBAL_FEATURES if hasattr(dp, "GLOBAL_FEATURES")
      else __import__("opendp.mod").mod.GLOBAL_FEATURES))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # the features that the user did not ask for are off again
    assert done.stdout.split() == ["float", "contrib"]


def test_example_finds_mistakes(plan: ClipRectifyPlan, dp: Any) -> None:
    """On an example, what would be swallowed on private data is an error."""
    assert plan.mechanism(sum, example=[1.0]).plan is plan
    with pytest.raises(InputError, match="inner: it cannot answer the example with"):
        plan.mechanism(len, example=3)
    with pytest.raises(InputError, match="inner: its answer to the example is not"):
        plan.mechanism(lambda _: math.nan, example=3)
    with pytest.raises(InputError, match="inner is 3: must be an OpenDP measurement or a function"):
        plan.mechanism(3)  # type: ignore[arg-type]


# --- choosing the bounds --------------------------------------------------------------------


def test_tradeoff_of_a_uniform_distribution() -> None:
    """On exact quantiles of a uniform distribution the errors are those of its integrals."""
    values = (np.arange(100_000) + 0.5) / 100_000
    table = clipping_tradeoff(values, [2, 4], [(0, 1), (0, 0.5)], profile=ICEA)
    whole, half = table.rows[:2]
    assert (whole.clipped_share, whole.bias, whole.clipping_error) == (0, 0, 0)
    assert whole.noise_error == pytest.approx(math.sqrt(2) / 2)
    assert half.clipped_share == 0.5
    assert half.bias == pytest.approx(-0.125, rel=1e-6)
    assert half.clipping_error == pytest.approx(math.sqrt(0.125 / 3), rel=1e-6)
    assert half.total_error == pytest.approx(math.hypot(half.clipping_error, math.sqrt(2) / 4))
    assert whole.mu == gdp.measure(gdp.profiles.Laplace(scale=0.5)).mu
    assert table.best(2) is half
    lines = str(table).splitlines()
    assert len(lines) == 5
    assert len({len(line) for line in lines}) == 1


def test_tradeoff_of_a_sampler() -> None:
    """A function that draws is called once, with the number of draws."""
    asked: list[int] = []

    def draw(count: int) -> np.ndarray:
        asked.append(count)
        return np.zeros(count)

    row = clipping_tradeoff(draw, [1], [(-1, 1)], draws=7).rows[0]
    assert asked == [7]
    assert row.mu is None
    assert row.total_error == row.noise_error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outputs": []}, "outputs"),
        ({"outputs": [math.nan]}, "outputs"),
        ({"outputs": ["a"]}, "outputs"),
        ({"outputs": [[1.0]]}, "outputs"),
        ({"eps_h": []}, "eps_h"),
        ({"eps_h": [0]}, "eps_h"),
        ({"bounds": []}, "bounds"),
        ({"bounds": [(1, 1)]}, "bounds"),
        ({"bounds": [(0, 1, 2)]}, "bounds"),
        ({"outputs": np.zeros, "draws": 0}, "draws"),
    ],
)
def test_tradeoff_refuses(given: dict[str, Any], message: str) -> None:
    """What is not allowed is refused in one sentence."""
    arguments = {"outputs": [0.0], "eps_h": [1], "bounds": [(0, 1)], **given}
    with pytest.raises(InputError, match=f"^{message}( is .*: must be |: give at least one)"):
        clipping_tradeoff(**arguments)


def test_tradeoff_has_no_best_of_an_unknown_eps_h() -> None:
    """Asking for a row that is not there names those that are."""
    table = clipping_tradeoff([0.0], [1, 2], [(0, 1)])
    with pytest.raises(InputError, match="eps_h is 3: must be one of 1, 2"):
        table.best(3)


def test_decimals_are_taken() -> None:
    """A decimal as text or as a Decimal is taken for the number it is."""
    plan = clip_and_rectify(ICEA, eps_h=Decimal("10"), lower="0", upper=Decimal(1))  # type: ignore[arg-type]
    assert plan.scale == 0.1
