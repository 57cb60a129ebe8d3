"""The Gaussian curve: known cases, limits, shapes, bad input, blocks and memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from gdpbridge.errors import InputError
from gdpbridge.gaussian import curve, kernels

INF = float("inf")
NAN = float("nan")

# Every public function with a good first and second argument.
TWO_ARGUMENTS: list[tuple[Callable[..., Any], float, float]] = [
    (curve.log_delta, 1.0, 0.5),
    (curve.delta, 1.0, 0.5),
    (curve.delta_complement, 1.0, 0.5),
    (curve.log_delta_complement, 1.0, 0.5),
    (curve.mu, 1.0, 1e-3),
    (curve.epsilon, 0.5, 1e-3),
    (curve.beta, 0.01, 0.5),
    (curve.beta_complement, 0.01, 0.5),
]
NAMES = [f.__name__ for f, _, _ in TWO_ARGUMENTS]


# --- known cases -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("eps", "mu", "want"),
    [
        (800.0, 20.0, -455.23859829118149720),
        (100.0, 6.0, -98.121449184621512988),
        (50.0, 1.0, -1233.8690831424055481),
    ],
)
def test_extreme_curve_values(eps: float, mu: float, want: float) -> None:
    """Case C01: no overflow past ε = 709, no cancellation, δ never nan or negative."""
    assert curve.log_delta(eps, mu) == pytest.approx(want, rel=1e-14, abs=0)
    assert curve.delta(eps, mu) == pytest.approx(np.exp(want), rel=1e-12, abs=5e-324)
    assert curve.delta(eps, mu) >= 0.0


@pytest.mark.parametrize(
    ("mu", "delta", "want"),
    [
        (50.0, 1e-5, 1462.28501596477979),  # C02
        (1.0, 1e-300, 37.4488479121391049),  # C04
        (1.0, 1e-5, 4.37717809568122463),  # C18, add or remove one
        (2.0, 1e-5, 9.9972561464343004),  # C18, replace one
    ],
)
def test_epsilon_known_values(mu: float, delta: float, want: float) -> None:
    """Cases C02, C04 and C18: no bracket limits the answer."""
    assert curve.epsilon(mu, delta) == pytest.approx(want, rel=1e-13, abs=0)


def test_epsilon_is_never_negative() -> None:
    """Case C03: δ above the total variation distance gives exactly 0."""
    assert curve.epsilon(0.25, 0.9) == 0.0
    assert curve.epsilon(0.25, 1.0) == 0.0
    assert curve.epsilon(0.25, curve.delta(0.0, 0.25) * (1 + 1e-15)) == 0.0


def test_epsilon_at_delta_zero_is_infinite() -> None:
    """Case C04: δ = 0 is answered at once, with inf for μ > 0 and 0 for μ = 0."""
    assert curve.epsilon(1.0, 0.0) == INF
    assert curve.epsilon(1.0, log_delta=-INF) == INF
    assert curve.epsilon(0.0, 0.0) == 0.0


def test_calibration_at_small_epsilon() -> None:
    """Case C12: σ = 1/μ at (0.01, 1e-5)."""
    assert 1.0 / curve.mu(0.01, 1e-5) == pytest.approx(243.785437675678029, rel=1e-13, abs=0)


def test_attack_risk_at_tiny_false_positive_rates() -> None:
    """Case C26: advantage and true-positive rates for μ = 1, none rounded to 0."""
    assert curve.delta(0.0, 1.0) == pytest.approx(0.382924922548026207, rel=1e-14, abs=0)
    got = curve.beta_complement([0.0, 1e-10, 0.001, 0.1, 1.0], 1.0)
    want = [0.0, 4.13032288436962402e-8, 0.018298468405656598, 0.389143691645360969, 1.0]
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=0)
    np.testing.assert_allclose(curve.beta([0.001, 0.1], 1.0), 1.0 - got[2:4], rtol=1e-15, atol=0)


# --- limits ------------------------------------------------------------------------------


def test_mu_zero_is_perfect_privacy() -> None:
    """μ = 0: δ = 0 at every ε, and the trade-off curve is 1 − α."""
    for eps in (0.0, 1e-12, 3.0, 1e12):
        assert curve.log_delta(eps, 0.0) == -INF
        assert curve.delta(eps, 0.0) == 0.0
        assert curve.delta_complement(eps, 0.0) == 1.0
        assert curve.log_delta_complement(eps, 0.0) == 0.0
    assert curve.beta(0.25, 0.0) == 0.75
    assert curve.epsilon(0.0, 0.5) == 0.0


@pytest.mark.parametrize(
    ("form", "none", "all_"),
    [
        ("delta", 0.0, 1.0),
        ("log_delta", -INF, 0.0),
        ("delta_complement", 1.0, 0.0),
        ("log_delta_complement", 0.0, -INF),
    ],
)
def test_mu_at_the_ends_of_delta(form: str, none: float, all_: float) -> None:
    """δ = 0 gives μ = 0 and δ = 1 gives inf, in each form and beside ordinary elements."""
    for eps in (0.0, 1e-9, 0.5, 1e12):
        got = curve.mu(eps, **{form: [none, all_, -0.7 if form.startswith("log") else 0.5]})
        assert got[0] == 0.0
        assert got[1] == INF
        assert 0.0 < got[2] < INF


def test_mu_below_the_smallest_float_is_rounded_up() -> None:
    """At ε = 0, μ = √(2π)·δ may underflow; δ > 0 never gives μ = 0."""
    tiny = 2.2250738585072014e-308
    got = curve.mu([0.0, 0.0, 1e-320, 1e-300], log_delta=[-744.0, -1e12, -1e40, -1e40])
    assert got.tolist() == pytest.approx([tiny] * 4, rel=1e-14, abs=0)
    assert curve.mu(0.0, 5e-324) == pytest.approx(tiny, rel=1e-14, abs=0)
    assert curve.mu(0.0, 1e-300) == pytest.approx(np.sqrt(2 * np.pi) * 1e-300, rel=1e-13, abs=0)


def test_the_trade_off_curve_at_its_ends() -> None:
    """f(0) = 1 and f(1) = 0, also for the largest μ, and a subnormal α is taken."""
    for mu in (0.0, 1e-12, 1.0, 1e6):
        assert curve.beta(0.0, mu) == 1.0
        assert curve.beta(1.0, mu) == 0.0
    assert curve.beta(5e-324, 38.0) == pytest.approx(0.67990, abs=1e-5)


def test_delta_complement_keeps_digits_where_delta_is_one() -> None:
    """1 − δ_μ(0) = 2Φ(−μ/2), far below the spacing of floats near 1."""
    assert curve.delta(0.0, 60.0) == 1.0
    # 2Φ(−30)
    want = 9.813427854297537e-198
    assert curve.delta_complement(0.0, 60.0) == pytest.approx(want, rel=1e-12, abs=0)
    assert curve.mu(0.0, delta_complement=want) == pytest.approx(60.0, rel=1e-13, abs=0)


def test_small_differences_of_mills_ratios_do_not_cancel() -> None:
    """At ε = 0 and small μ, δ = 2Φ(μ/2) − 1 = μ/√(2π)·(1 − μ²/24 + …)."""
    mu = np.array([1e-12, 1e-9, 1e-6, 1e-4])
    want = np.log(mu / np.sqrt(2 * np.pi)) - mu**2 / 24
    np.testing.assert_allclose(curve.log_delta(0.0, mu), want, rtol=3e-16, atol=0)


# --- shapes and types --------------------------------------------------------------------


@pytest.mark.parametrize(("function", "first", "second"), TWO_ARGUMENTS, ids=NAMES)
def test_scalars_give_a_float(function: Callable[..., Any], first: float, second: float) -> None:
    """Python and numpy scalars give a Python float, with the array's value."""
    got = function(first, second)
    assert type(got) is float
    assert function(np.float64(first), np.array(second)) == got
    assert function([first], second).tolist() == [got]


@pytest.mark.parametrize(("function", "first", "second"), TWO_ARGUMENTS, ids=NAMES)
def test_arguments_broadcast(function: Callable[..., Any], first: float, second: float) -> None:
    """Shapes broadcast as in numpy; strides, order and dtype do not matter."""
    one = first * np.linspace(0.5, 1.0, 4)[:, None]
    two = second * np.linspace(0.5, 1.0, 6)[::2]
    got = function(one, two)
    assert got.shape == (4, 3)
    assert got.dtype == np.float64
    assert got.tolist() == [[function(a, b) for b in two.tolist()] for a in one[:, 0].tolist()]
    full = np.asfortranarray(np.broadcast_to(one, (4, 3)))
    assert function(full, two).tolist() == got.tolist()
    assert function(np.empty((0, 3)), two).shape == (0, 3)


def test_integers_and_half_precision_are_taken() -> None:
    """Other real dtypes are converted, and arguments are left alone."""
    eps = np.array([1, 2, 3], dtype=np.int32)
    assert curve.delta(eps, 1).tolist() == curve.delta([1.0, 2.0, 3.0], 1.0).tolist()
    assert curve.delta(np.float16(0.5), 1) == curve.delta(0.5, 1.0)
    assert eps.tolist() == [1, 2, 3]


# --- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [NAN, -1e-300, -1.0, INF, -INF, 2e12])
def test_epsilon_argument_out_of_range(bad: float) -> None:
    """A bad ε is refused by name, alone and inside an array."""
    for function in (curve.delta, curve.log_delta, curve.delta_complement, curve.mu):
        for value in (bad, np.array([0.5, bad, 0.25])):
            with pytest.raises(InputError, match=r"eps is .*must be in \[0, 1e\+12\]") as caught:
                function(value, 0.5)
            assert caught.value.field == "eps"
            assert repr(float(caught.value.value)) == repr(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [NAN, -1e-300, 1e-13, -1.0, INF, 2e6])
def test_mu_argument_out_of_range(bad: float) -> None:
    """A bad μ is refused by name, also beside the allowed 0."""
    for function in (curve.delta, curve.log_delta_complement, curve.epsilon, curve.beta):
        for value in (bad, np.array([0.0, bad, 0.25])):
            with pytest.raises(InputError, match=r"mu is .*0 or in \[1e-12, 1e\+06\]") as caught:
                function(
                    0.5 if function is not curve.epsilon else value,
                    *((value,) if function is not curve.epsilon else (0.5,)),
                )
            assert caught.value.field == "mu"


@pytest.mark.parametrize("bad", [NAN, -1e-300, 1.0 + 1e-15, INF, -INF])
def test_probability_out_of_range(bad: float) -> None:
    """δ, 1 − δ and α must lie in [0, 1]."""
    for field, call in {
        "delta": lambda v: curve.mu(1.0, v),
        "delta_complement": lambda v: curve.mu(1.0, delta_complement=v),
        "alpha": lambda v: curve.beta(v, 1.0),
    }.items():
        with pytest.raises(InputError, match=rf"{field} is .*must be in \[0, 1\]"):
            call(bad)
    with pytest.raises(InputError, match="delta is"):
        curve.epsilon(1.0, bad)


@pytest.mark.parametrize("bad", [NAN, 1e-300, INF, -1e51])
def test_log_probability_out_of_range(bad: float) -> None:
    """A logarithm must lie in [−1e50, 0] or be −inf."""
    with pytest.raises(InputError, match=r"log_delta is .*must be in \[-1e\+50, 0\] or -inf"):
        curve.mu(1.0, log_delta=[-INF, -1.0, bad])
    with pytest.raises(InputError, match="log_delta_complement is"):
        curve.mu(1.0, log_delta_complement=bad)
    with pytest.raises(InputError, match="log_delta is"):
        curve.epsilon(1.0, log_delta=bad)


@pytest.mark.parametrize(
    "bad",
    [
        "1",
        b"1",
        1j,
        None,
        pytest.param(object(), id="object"),
        Decimal(1),
        [1.0, "2"],
        [[1.0], [1.0, 2.0]],
        10**400,
        ["x"],
    ],
    ids=str,
)
def test_what_is_not_a_real_number(bad: Any) -> None:
    """Text, complex numbers, objects and ragged lists are refused in one sentence."""
    for function, first, second in TWO_ARGUMENTS:
        with pytest.raises(InputError) as caught:
            function(bad, second)
        assert "\n" not in str(caught.value)
        if bad is not None:  # None means "not given" there
            with pytest.raises(InputError):
                function(first, bad)


def test_exactly_one_form_of_delta() -> None:
    """None, or two, of the forms are refused with the list of them."""
    with pytest.raises(InputError, match="exactly one") as caught:
        curve.mu(1.0)
    assert caught.value.field == "delta, log_delta, delta_complement, log_delta_complement"
    with pytest.raises(InputError, match="exactly one"):
        curve.mu(1.0, 0.5, log_delta=-1.0)
    assert caught.value.field == "delta, log_delta, delta_complement, log_delta_complement"
    with pytest.raises(InputError, match="delta, log_delta: give exactly one of them"):
        curve.epsilon(1.0)
    with pytest.raises(ValueError, match="exactly one"):
        curve.epsilon(1.0, 0.5, log_delta=-1.0)


def test_shapes_that_do_not_broadcast() -> None:
    """Such shapes are refused as bad input."""
    with pytest.raises(InputError, match="broadcast"):
        curve.delta([1.0, 2.0], [1.0, 2.0, 3.0])


# --- blocks, memory and import -----------------------------------------------------------


def mixed_pairs(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(ε, log δ) that take every branch of the solver."""
    rng = np.random.default_rng(5)
    eps = np.where(rng.random(n) < 0.2, 10.0 ** rng.uniform(-9, 0, n), rng.uniform(0, 20, n))
    log_delta = -np.exp(rng.uniform(np.log(1e-3), np.log(1e3), n))
    log_delta[::97] = -np.inf
    log_delta[::89] = 0.0
    return eps, log_delta


@pytest.mark.parametrize("block", [1, 7, 100])
def test_results_do_not_depend_on_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function gives the same bits however its arguments are cut into blocks."""
    eps, log_delta = mixed_pairs(301)
    mu = np.maximum(curve.mu(eps, log_delta=np.maximum(log_delta, -300.0)), 1e-3)
    mu = np.minimum(mu, 1e3)

    def everything() -> list[np.ndarray[Any, Any]]:
        forward = [f(eps, mu) for f, _, _ in TWO_ARGUMENTS[:4]]
        inverse = [curve.mu(eps, log_delta=log_delta), curve.epsilon(mu, log_delta=log_delta)]
        return [*forward, *inverse, curve.beta(np.exp(log_delta), mu)]

    whole = everything()
    monkeypatch.setattr(kernels, "_BLOCK", block)
    for one, other in zip(whole, everything(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_kernels_agree_with_the_public_functions() -> None:
    """The unvalidated kernels give the same bits, raise no warnings and leave arguments alone."""
    eps, log_delta = mixed_pairs(3000)
    log_complement = kernels.log1mexp(log_delta)
    copies = eps.copy(), log_delta.copy(), log_complement.copy()
    mu = kernels.mu_from_log(eps, log_delta, log_complement)
    np.testing.assert_array_equal(mu, curve.mu(eps, log_delta=log_delta))
    for one, other in zip(copies, (eps, log_delta, log_complement), strict=True):
        np.testing.assert_array_equal(one, other)
    mu = np.where(mu < 1e6, mu, 0.0)
    pair = kernels.log_pair(eps, mu)
    np.testing.assert_array_equal(pair[0], curve.log_delta(eps, mu))
    np.testing.assert_array_equal(pair[1], curve.log_delta_complement(eps, mu))
    back = kernels.epsilon_from_log(mu, log_delta, log_complement)
    np.testing.assert_array_equal(back, curve.epsilon(mu, log_delta=log_delta))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mu", "epsilon", "log_delta", "delta_complement", "beta"])
def test_a_million_pairs_need_little_extra_memory(name: str) -> None:
    """At most 16 MiB beyond arguments and result."""
    n = 1_000_000
    rng = np.random.default_rng(1)
    first, second = rng.uniform(0.0, 1.0, n), rng.uniform(1e-3, 1.0, n)
    function = getattr(curve, name)
    tracemalloc.start()
    try:
        result = function(first[:, None], second[:, None])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - result.nbytes < 16 * 2**20


def test_the_import_is_light() -> None:
    """The module needs numpy and scipy.special, and no optimiser."""
    code = (
        "import sys, gdpbridge.gaussian.curve;"
        "print([m for m in ('scipy.optimize', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
