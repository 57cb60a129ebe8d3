"""What a profile declares about δ(ε) as ε grows: the facts that decide "GDP or not".

Each class is one case of the tail analysis. μ_t² is the upper limit of ε²/(-2 log δ(ε));
a mechanism is GDP for some μ exactly when μ_t is finite and δ(0) < 1, and μ_t is a lower
bound of that μ (Liu, Sun, Jiang and Kong 2022, tail theorem, corrected: finiteness decides).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gdpbridge.curves.constants import Constant
from gdpbridge.interval import Interval

__all__ = [
    "AssumedTail",
    "CertainFailureTail",
    "CoarseDecayTail",
    "ConstantTail",
    "EstimatedTail",
    "FloorTail",
    "GaussianBoundTail",
    "GaussianCurveTail",
    "GaussianDecayTail",
    "PlateauTail",
    "SlowDecayTail",
    "SlowerTail",
    "Tail",
    "UnknownTail",
]


@dataclass(frozen=True)
class ConstantTail:
    """δ(ε) = value for every ε ≥ start: bounded losses where value is 0, a mass at infinity else.

    Attributes:
        start: where the constant part begins.
        value: the constant, in [0, 1]; 0 as a fraction.
    """

    start: Constant
    value: Constant


@dataclass(frozen=True)
class GaussianDecayTail:
    """log δ(ε) ≤ log_factor + linear·ε - ε²/(2 mu_t²) for every ε ≥ start.

    It is an upper bound, but μ_t is exact: no smaller one would do, whatever the factor.

    Attributes:
        log_factor: log B.
        mu_t: the tail parameter, positive.
        start: where the bound begins to hold.
        linear: the factor κ of ε, at most 1/2.
    """

    log_factor: Constant
    mu_t: Constant
    start: Constant
    linear: Constant = Fraction(0)


@dataclass(frozen=True)
class GaussianCurveTail:
    """δ(ε) = δ_μ(ε) for every ε ≥ 0: the profile is a Gaussian curve.

    Attributes:
        mu: its parameter, possibly 0.
    """

    mu: Constant


@dataclass(frozen=True)
class GaussianBoundTail:
    """δ(ε) ≤ δ_μ(ε) for every ε ≥ 0; where μ_t = μ, the least μ for the whole range is this one.

    Attributes:
        mu: the parameter of the bound, positive.
        mu_t: the tail parameter, where it is smaller than μ; else None.
    """

    mu: Constant
    mu_t: Constant | None = None


@dataclass(frozen=True)
class FloorTail:
    """δ(ε) ≥ value for every ε ≥ 0, while every Gaussian curve falls to 0.

    Attributes:
        value: the bound, positive.
    """

    value: Fraction


@dataclass(frozen=True)
class SlowDecayTail:
    """δ(ε) ≥ factor · e^{-rate·ε} for every ε ≥ start: slower than every Gaussian curve.

    Attributes:
        log_factor: logarithm of the factor.
        rate: the exponential rate.
        start: where the bound begins to hold.
    """

    log_factor: Constant
    rate: Fraction
    start: Constant


@dataclass(frozen=True)
class CoarseDecayTail:
    """log δ(ε) ≤ log_factor - ε²/(2 width²) for every ε ≥ start, with a width of at least μ_t.

    Attributes:
        log_factor: logarithm of the factor.
        width: the parameter of the bound.
        start: where the bound begins to hold.
        mu_t: an interval that holds the tail parameter, 0 for what falls faster.
    """

    log_factor: Constant
    width: Fraction
    start: Constant
    mu_t: Interval


@dataclass(frozen=True)
class SlowerTail:
    """-log δ(ε) grows like a function that is small beside ε²: slower than every Gaussian curve.

    Attributes:
        form: that function, as text.
        start: where a multiple of it begins to be a bound.
    """

    form: str
    start: Constant


@dataclass(frozen=True)
class CertainFailureTail:
    """δ(0) = 1, and δ falls only afterwards: no Gaussian curve lies above it near 0."""


@dataclass(frozen=True)
class EstimatedTail:
    """μ_t is known without proof, by a limit that a computer algebra system found.

    Attributes:
        mu_t: the estimate, possibly infinite.
        source: what it comes from, as words that follow "by".
    """

    mu_t: float
    source: str


@dataclass(frozen=True)
class AssumedTail:
    """δ(ε) ≤ δ_μ(ε) for every ε ≥ start because the user says so; or, without μ, no such μ exists.

    Attributes:
        mu: the parameter of the bound, or None.
        start: where it is said to begin to hold.
        text: the words that the user gave.
    """

    mu: Fraction | None
    start: Fraction
    text: str


@dataclass(frozen=True)
class PlateauTail:
    """δ(ε) ≤ value for every ε ≥ start, and nothing more is known: the end of a finite table.

    Attributes:
        start: where the last guarantee is.
        value: what it guarantees, positive.
    """

    start: Constant
    value: Constant


@dataclass(frozen=True)
class UnknownTail:
    """Nothing is known beyond what evaluation shows."""


Tail = (
    ConstantTail
    | GaussianDecayTail
    | GaussianCurveTail
    | GaussianBoundTail
    | SlowDecayTail
    | PlateauTail
    | UnknownTail
    | AssumedTail
    | EstimatedTail
    | CertainFailureTail
    | SlowerTail
    | CoarseDecayTail
    | FloorTail
)
