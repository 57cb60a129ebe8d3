"""The Gaussian curve in balls: directed floats bracket the truth, enclosures hold it."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb, fmpq

from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.gaussian import ball, enclosures
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Probability

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "data" / "gaussian_curve.json").read_text(encoding="utf-8")
)
# where the search that made the file stopped, instead of at the solution
FLOOR = "1.000000000000000000000000000e-12"


def exactly(text: str) -> arb:
    number = Fraction(text)
    return arb(fmpq(number.numerator, number.denominator))


def digits(text: str) -> arb:
    """A number known to 25 digits, as the ball of all it may be."""
    value = exactly(text)
    return value + arb(0, 1) * abs(value) * arb(10) ** -24


def log_delta(eps: arb, mu: arb, accuracy: int = 300) -> arb:
    """log(Φ(-x) - e^ε Φ(-y)), the definition, at as many bits as make it tight."""
    bits = 2 * accuracy
    while True:
        with precision(bits):
            x, y = eps / mu - mu / 2, eps / mu + mu / 2
            value = (upper_tail(x) - eps.exp() * upper_tail(y)).log()
        if value.rel_accuracy_bits() > accuracy:
            return value
        assert bits < 100_000, "the definition does not settle"
        bits *= 2


def upper_tail(z: arb) -> arb:
    """Φ(-z), at an exact argument, which Arb's erfc needs; |(log Φ(-z))'| ≤ 2|z| + 2."""
    root = z / arb(2).sqrt()
    spread = arb(0, 1) * (4 * abs(z) + 4) * root.rad()
    return root.mid().erfc() / 2 * (1 + spread)


# --- directed floats -------------------------------------------------------------------------


@pytest.mark.parametrize("row", REFERENCE["log_delta_mu"], ids=lambda r: f"{r['mu']}-{r['eps']}")
def test_log_delta_brackets_the_reference(row: dict[str, str]) -> None:
    """The two directed floats lie on either side of the 25-digit value, one ulp apart at most."""
    low, high = (f(row["eps"], row["mu"]) for f in (ball.log_delta_lower, ball.log_delta_upper))
    with precision(200):
        assert arb(low) <= digits(row["log_delta"]).upper()
        assert arb(high) >= digits(row["log_delta"]).lower()
    assert high <= math.nextafter(low, math.inf)


def mu_rows() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = next(
        value for key, value in REFERENCE.items() if key.startswith("mu")
    )
    return rows


@pytest.mark.parametrize("row", mu_rows(), ids=lambda r: "-".join(list(r.values())[:2]))
def test_mu_brackets_the_reference(row: dict[str, str]) -> None:
    """As for log δ; two rows of the file hold the floor of a search and not μ.

    At ε = 0, δ_μ(0) = 2Φ(μ/2) - 1, so that μ is √(2π)·δ for tiny δ: 2.5e-50 and 2.5e-200 and
    not the 1e-12 that the file says.
    """
    low, high = ball.mu_lower(row["eps"], row["delta"]), ball.mu_upper(row["eps"], row["delta"])
    with precision(200):
        truth = digits(row["mu"])
        if row["mu"] == FLOOR:
            assert (row["eps"], float(row["delta"]) < 1e-40) == ("0", True)
            truth = (2 * arb.pi()).sqrt() * digits(row["delta"])
        assert arb(low) <= truth.upper()
        assert arb(high) >= truth.lower()
    assert high <= math.nextafter(low, math.inf)


def draws(count: int) -> list[tuple[float, float]]:
    rng = random.Random(7)
    return [
        (rng.choice([0.0, 10 ** rng.uniform(-10, 2)]), 10 ** rng.uniform(-6, 1.5))
        for _ in range(count)
    ]


@pytest.mark.parametrize(("eps", "mu"), draws(60))
def test_directions_against_the_definition(eps: float, mu: float) -> None:
    """Every directed function lies on its side of the value that the definition gives."""
    if eps / mu > 100:
        mu = eps / 100  # the definition would take too many bits
    with precision(200):
        truth = log_delta(arb(eps), arb(mu))
        assert arb(ball.log_delta_lower(eps, mu)) <= truth <= arb(ball.log_delta_upper(eps, mu))
        value = truth.exp()
        assert arb(ball.delta_lower(eps, mu)) <= value <= arb(ball.delta_upper(eps, mu))
        rest = 1 - value
        if rest.rel_accuracy_bits() > 60:
            assert arb(ball.delta_complement_lower(eps, mu)) <= rest
            assert rest <= arb(ball.delta_complement_upper(eps, mu))


@pytest.mark.parametrize(("eps", "mu"), draws(30))
def test_inverses_bracket_what_they_invert(eps: float, mu: float) -> None:
    """From a bound of log δ_μ(ε), μ and ε come back on the right side."""
    low, high = ball.log_delta_lower(eps, mu), ball.log_delta_upper(eps, mu)
    assert ball.mu_lower(eps, log_delta=low) <= mu <= ball.mu_upper(eps, log_delta=high)
    assert ball.epsilon_lower(mu, log_delta=high) <= eps <= ball.epsilon_upper(mu, log_delta=low)


def test_the_scale_changes_nothing() -> None:
    """δ, text and log δ lead to the same μ."""
    assert ball.mu_lower("1", "0.125") == ball.mu_lower(1, 0.125)
    log = math.log(1e-10)
    assert ball.mu_lower(1, log_delta=log) == pytest.approx(ball.mu_lower(1, 1e-10), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: ball.mu_upper(0, 0), 0.0),
        (lambda: ball.mu_lower(3, 1), math.inf),
        (lambda: ball.mu_lower(3, log_delta=-math.inf), 0.0),
        (lambda: ball.epsilon_upper(1, 1), 0.0),
        (lambda: ball.epsilon_lower(1, 0), math.inf),
        (lambda: ball.epsilon_upper(0, 0), 0.0),
        (lambda: ball.epsilon_upper(1, 0.9), 0.0),
        (lambda: ball.log_delta_upper(1, 0), -math.inf),
        (lambda: ball.delta_complement_lower(1, 0), 1.0),
        (lambda: ball.beta_lower(0, 1), 1.0),
        (lambda: ball.beta_upper(1, 1), 0.0),
    ],
)
def test_ends_of_the_ranges(call: Callable[[], float], expected: float) -> None:
    """Where the answer is exact, both directions give it."""
    assert call() == expected


def test_epsilon_at_delta_zero_and_at_a_tiny_delta() -> None:
    """At δ = 0 the answer is infinite at once; at 1e-300 it is the known 37.4488479121391049."""
    assert ball.epsilon_lower(1, 0) == math.inf
    low, high = ball.epsilon_lower(1, "1e-300"), ball.epsilon_upper(1, "1e-300")
    assert low <= 37.4488479121391049 * (1 + 1e-12)
    assert high >= 37.4488479121391049 * (1 - 1e-12)
    assert high - low < 1e-13


@pytest.mark.parametrize(
    ("alpha", "power"),
    [
        ("1e-10", "4.13032288436962402e-8"),
        ("0.001", "0.018298468405656598"),
        ("0.1", "0.389143691645360969"),
    ],
)
def test_power_at_small_false_positive_rates(alpha: str, power: str) -> None:
    """1 - f_1(α) is not lost where α is tiny."""
    low, high = ball.beta_complement_lower(alpha, 1), ball.beta_complement_upper(alpha, 1)
    assert low <= float(power) * (1 + 1e-15)
    assert high >= float(power) * (1 - 1e-15)
    assert high - low <= 1e-15 * high
    upper = 1 - Fraction(ball.beta_lower(alpha, 1))
    assert upper >= Fraction(low)


@pytest.mark.parametrize(
    "call",
    [
        lambda: (ball.delta_lower(1e3, 1e-2), ball.delta_upper(1e3, 1e-2)),
        lambda: (ball.delta_lower(1e5, 1e-6), ball.delta_upper(1e5, 1e-6)),
        lambda: (ball.delta_complement_lower(0, 1e5), ball.delta_complement_upper(0, 1e5)),
        lambda: (ball.beta_lower(0.1, 1e5), ball.beta_upper(0.1, 1e5)),
    ],
)
def test_underflow_is_directed_and_quick(call: Callable[[], tuple[float, float]]) -> None:
    """A positive number too small for a float is 0.0 from below and 5e-324 from above."""
    assert call() == (0.0, 5e-324)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("eps", lambda v: ball.log_delta_lower(v, 1)),
        ("mu", lambda v: ball.delta_upper(1, v)),
        ("delta", lambda v: ball.mu_upper(1, v)),
        ("log_delta", lambda v: ball.mu_upper(1, log_delta=v)),
        ("alpha", lambda v: ball.beta_lower(v, 1)),
    ],
)
@pytest.mark.parametrize("value", [math.nan, math.inf, "abc", True, [1], "nan"])
def test_what_is_no_number_is_refused(
    field: str, call: Callable[[object], float], value: object
) -> None:
    """The error names the argument."""
    with pytest.raises(InputError) as caught:
        call(value)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("eps", lambda: ball.log_delta_lower(-1, 1)),
        ("mu", lambda: ball.log_delta_lower(1, -1)),
        ("delta", lambda: ball.mu_lower(1, 1.5)),
        ("log_delta", lambda: ball.mu_lower(1, log_delta=0.5)),
        ("delta and log_delta", lambda: ball.mu_lower(1)),
        ("delta and log_delta", lambda: ball.mu_lower(1, 0.5, log_delta=-1)),
    ],
)
def test_what_is_out_of_range_is_refused(field: str, call: Callable[[], float]) -> None:
    """The error names the argument."""
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == field


# --- enclosures ------------------------------------------------------------------------------

CELLS = [
    (low, low + width, mu)
    for low, width, mu in itertools.product(
        (0.0, 1e-6, 0.3, 4.0, 90.0), (1e-9, 0.01, 1.5, 40.0), (1e-4, 0.05, 1.0, 7.0, 60.0)
    )
    if (low + width) / mu < 100
]


@pytest.mark.parametrize("complement", [False, True])
def test_series_on_cells_hold_sampled_derivatives(complement: bool) -> None:
    """Value, slope and half the curvature all over a cell lie in the three coefficients.

    The samples are finite differences of the definition, with digits to spare.
    """

    def sample(eps: arb, mu: arb) -> arb:
        value = log_delta(eps, mu, 700)
        return BALLS.log1mexp(value) if complement else value

    make = enclosures.log_delta_complement_series if complement else enclosures.log_delta_series
    for low, high, mu in CELLS:
        with precision(160):
            series = make(arb(low), arb(high), arb(mu))
            tight = (high - low) * (1 + high / mu) < mu / 4
            assert not tight or all(series[k].is_finite() for k in range(3)), (low, high, mu)
        with precision(1200):
            h = arb(2) ** -150
            for share in (0, Fraction(1, 3), 1):
                point = arb(low) + (arb(high) - arb(low)) * BALLS.constant(Fraction(share))
                below, at, above = (sample((point + k * h).mid(), arb(mu)) for k in (-1, 0, 1))
                slope, curvature = (above - below) / (2 * h), (above - 2 * at + below) / (h * h)
                for k, value in enumerate((at, slope, curvature / 2)):
                    slack = arb(0, 1) * (1 + abs(value)) * arb(2) ** -60
                    enclosure = series[k] + slack
                    held = enclosure.is_nan() or enclosure.contains(value.mid())
                    assert held, (low, high, mu, k)


def test_series_at_a_point_are_tight() -> None:
    """Where the cell is a point the coefficients are known to nearly all bits."""
    with precision(200):
        for make in (enclosures.log_delta_series, enclosures.log_delta_complement_series):
            series = make(arb(1), arb(1), arb(2))
            assert all(series[k].rel_accuracy_bits() > 170 for k in range(3))


def test_the_tail_bound_lies_below_the_curve() -> None:
    """The elementary bound is a lower bound, and a close one far out."""
    rng = random.Random(3)
    with precision(200):
        for _ in range(200):
            mu = arb(10 ** rng.uniform(-3, 2))
            eps = arb(10 ** rng.uniform(-3, 4))
            bound, value = (
                enclosures.log_delta_tail_lower(eps, mu),
                enclosures.log_delta_of(eps, mu),
            )
            assert bound < value
            if eps / mu > 100 * (1 + mu):
                assert value - bound < arb(1) / 100


def fixed(log: arb, log_complement: arb) -> Probability:
    return Probability(lambda: log, lambda: log_complement)


def test_mu_is_enclosed_to_the_working_precision() -> None:
    """The enclosure is tight and holds the μ it was made from, for δ near 0, 1 and between."""
    rng = random.Random(5)
    for _ in range(60):
        eps, mu = rng.choice([0.0, 10 ** rng.uniform(-6, 3)]), 10 ** rng.uniform(-4, 2)
        with precision(400):
            value = enclosures.probability(arb(eps), arb(mu))
            known = fixed(value.log(), value.log_complement())
        with precision(200):
            found = enclosures.mu_of(arb(eps), known)
            assert found.contains(arb(mu)), (eps, mu)
            assert found.rel_accuracy_bits() > 150


@pytest.mark.parametrize("log", [arb(0, 1), arb.nan(), arb.neg_inf(), arb(0)])
def test_mu_of_an_undecided_delta_is_undecided(log: arb) -> None:
    """A δ that cannot be told from 0 or 1 gives an error, never a number."""
    with precision(100), pytest.raises(UndecidedError):
        enclosures.mu_of(arb(1), Probability.from_log(BALLS, log))


def test_probability_at_mu_zero_is_zero() -> None:
    """δ_0 is 0 everywhere."""
    value = enclosures.probability(arb(1), arb(0))
    assert value.log() == arb.neg_inf()
    assert value.log_complement().is_zero()


def test_mills_ratio_is_continuous_where_its_form_changes() -> None:
    """On both sides of the switch to the asymptotic series log δ agrees with the definition."""
    with precision(128):
        for mu in (1.0, 0.01):
            for z in (255.9, 256.1):
                eps = arb((z + mu / 2) * mu)
                value, truth = enclosures.log_delta_of(eps, arb(mu)), log_delta(eps, arb(mu), 120)
                assert value.overlaps(truth)
                assert value.rel_accuracy_bits() > 100
