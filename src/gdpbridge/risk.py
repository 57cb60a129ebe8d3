"""What a μ means for an attacker who tells two neighbouring datasets apart.

Under μ-GDP the best test of one dataset against its neighbour is as good as telling N(0,1) from
N(μ,1) by one draw (Dong, Roth and Su 2022). An approximate statement (μ, p) adds an outright
failure with probability p. All figures are upper bounds, rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gdpbridge.errors import InputError
from gdpbridge.gaussian import ball
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import ceiling_to_places, decimal_ceiling, decimal_text, float_ceiling
from gdpbridge.showing import Shown

__all__ = ["FALSE_POSITIVE_RATES", "OperatingPoint", "Risk", "risk"]

# of a rate that is rounded up
_DIGITS = 40
# of a number in words
_SHOWN = 6

FALSE_POSITIVE_RATES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


@dataclass(frozen=True)
class OperatingPoint:
    """The best an attacker can do at one false-positive rate.

    Attributes:
        false_positive_rate: the rate α.
        true_positive_rate: at most 1 - f(α).
        posterior: the probability, at most, that a record is there when the attacker says so.
    """

    false_positive_rate: float
    true_positive_rate: float
    posterior: float


@dataclass(frozen=True, repr=False)
class Risk(Shown):
    """What (μ, p) allows an attacker.

    Attributes:
        mu: the GDP parameter.
        failure_probability: p.
        prior: the probability, before the release, that the record is there.
        advantage: at most the true-positive rate minus the false-positive rate; δ(0).
        accuracy: at most the share of right guesses on a fair coin, (1 + advantage)/2.
        points: the best true-positive rate and posterior at low false-positive rates.
        sentence: the same for a lay reader.
    """

    mu: float
    failure_probability: float
    prior: float
    advantage: float
    accuracy: float
    points: tuple[OperatingPoint, ...]
    sentence: str


def risk(
    mu: Real,
    failure: Real = 0.0,
    prior: Real = 0.5,
    false_positive_rates: Sequence[Real] = FALSE_POSITIVE_RATES,
) -> Risk:
    """Say what a μ allows an attacker, as upper bounds.

    Args:
        mu: μ ≥ 0; like every number here, a float stands for the decimal that it prints as.
        failure: the failure probability p of an approximate statement, in [0, 1).
        prior: the attacker's prior probability that the record is there, in (0, 1).
        false_positive_rates: rates α in [0, 1] to tabulate.

    Raises:
        InputError: for an argument outside its range.

    Source: Dong, Roth and Su (2022), section 2. (μ, p) gives everything away with probability p,
    and without a false alarm, so that all of α is left for the other cases: the power is at most
    p + (1 - p)·(1 - f_μ(α/(1 - p))).
    """
    width = _checked("mu", mu, "a finite number ≥ 0")
    p = _checked("failure", failure, "a number in [0, 1)", below=Fraction(1))
    before = _checked("prior", prior, "a number in (0, 1)", below=Fraction(1))
    if before == 0:
        raise InputError("prior", prior, "a number in (0, 1)")
    # the decimal that a float stands for
    text = decimal_text(width)
    advantage = _mixed(ball.delta_upper(0, text) if width else 0.0, p)
    points = tuple(_point(rate, text, p, before) for rate in false_positive_rates)
    return Risk(
        mu=float(mu),
        failure_probability=float(failure),
        prior=float(prior),
        advantage=float_ceiling(advantage),
        accuracy=float_ceiling((1 + advantage) / 2),
        points=points,
        sentence=_sentence(width, p, (1 + advantage) / 2),
    )


def _point(rate: Real, mu: str, p: Fraction, prior: Fraction) -> OperatingPoint:
    alpha = _checked("false_positive_rates", rate, "numbers in [0, 1]", below=None, most=1)
    level = decimal_ceiling(alpha / (1 - p), _DIGITS)
    power = Fraction(1)
    if level < 1:
        power = min(_mixed(ball.beta_complement_upper(level, mu), p), Fraction(1))
    hits, alarms = prior * power, (1 - prior) * alpha
    posterior = hits / (hits + alarms) if hits + alarms else prior
    return OperatingPoint(float(rate), float_ceiling(power), float_ceiling(posterior))


def _mixed(chance: float, p: Fraction) -> Fraction:
    """The chance of a mixture that fails outright with probability p."""
    # rounding up must not make a chance more than certain
    return p + (1 - p) * min(Fraction(chance), Fraction(1))


def _checked(
    field: str, value: Real, allowed: str, below: Fraction | None = None, most: int | None = None
) -> Fraction:
    number = exact_between(field, value, 0, most, allowed)
    if below is not None and number >= below:
        raise InputError(field, value, allowed)
    return number


def _sentence(mu: Fraction, failure: Fraction, accuracy: Fraction) -> str:
    text = (
        f"Finding out whether one record was used is at least as hard as telling a draw of N(0,1) "
        f"from a draw of N({_up(mu)},1): the best guess is right "
    )
    share = ceiling_to_places(100 * accuracy, 2)
    text += f"at most {share} times in a hundred on a fair coin" if share < 100 else "almost always"
    return (
        f"{text}, an outright failure of probability {_up(failure)} included."
        if failure
        else text + "."
    )


def _up(value: Fraction) -> str:
    """A number in a few digits, rounded up, as what is said of it is an upper bound."""
    return f"{float(decimal_ceiling(value, _SHOWN)):g}" if value else "0"
