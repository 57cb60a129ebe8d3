"""Identify: is the mechanism GDP for some finite μ? Its tail alone decides.

A mechanism with δ(0) < 1 is GDP exactly when μ_t is finite, μ_t² the upper limit of
ε²/(-2 log δ(ε)) (Liu, Sun, Jiang and Kong 2022, section 3; any finite μ_t will do, and μ_t is
then a lower bound of the least μ, not its value).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

from gdpbridge.curves.constants import constant_text, interval_around
from gdpbridge.curves.tail import (
    AssumedTail,
    CertainFailureTail,
    CoarseDecayTail,
    ConstantTail,
    EstimatedTail,
    FloorTail,
    GaussianBoundTail,
    GaussianCurveTail,
    GaussianDecayTail,
    PlateauTail,
    SlowDecayTail,
    SlowerTail,
    Tail,
    UnknownTail,
)
from gdpbridge.errors import InputError
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import float_ceiling

__all__ = ["Identification", "TailStatus", "Verdict", "identify"]

_INFINITE = Interval("Infinity", "Infinity")
_ESTIMATE = 1e-6


class Verdict(StrEnum):
    """Whether some finite μ covers the whole range of ε."""

    GDP = "gdp"
    NOT_GDP = "not-gdp"
    UNKNOWN = "unknown"

    @property
    def sentence(self) -> str:
        """What the verdict says, for a reader."""
        return {
            Verdict.GDP: "Gaussian differentially private (GDP) for a finite μ: proved",
            Verdict.NOT_GDP: "not Gaussian differentially private for any finite μ: proved",
            Verdict.UNKNOWN: "unknown: the tail of the privacy profile is not known",
        }[self]


class TailStatus(StrEnum):
    """How μ_t is known."""

    PROVED = "proved"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Identification:
    """The answer of :func:`identify`.

    Attributes:
        verdict: "gdp", "not-gdp" or "unknown".
        mu_tail: an interval that holds μ_t, infinite where the mechanism is not GDP; None where
            the tail is unknown.
        reason: one sentence that says why.
        tail_status: whether μ_t is proved, estimated or unknown.
    """

    verdict: Verdict
    mu_tail: Interval | None
    reason: str
    tail_status: TailStatus


def identify(profile: Profile) -> Identification:
    """Decide from the tail of a profile whether the mechanism is GDP.

    Args:
        profile: a mechanism's privacy profile.

    Returns:
        The verdict, μ_t as an interval, and the reason in one sentence.

    Raises:
        InputError: for what is no profile.
    """
    if not isinstance(profile, Profile):
        raise InputError("profile", profile, "a profile, such as gdpbridge.profiles.Laplace(...)")
    return _of_tail(profile.tail)


def _of_tail(tail: Tail) -> Identification:
    match tail:
        case ConstantTail(start, value) if value == 0:
            reason = (
                f"the privacy loss is bounded: δ(ε) = 0 for every ε ≥ {constant_text(start)}, "
                "so that every Gaussian curve lies above the tail"
            )
            return _proved(Verdict.GDP, Interval(0, 0), reason)
        case ConstantTail(start, value):
            reason = (
                f"δ(ε) stays at {constant_text(value)} for every ε ≥ {constant_text(start)}, while "
                "every Gaussian curve falls to 0"
            )
            return _proved(Verdict.NOT_GDP, _INFINITE, reason)
        case GaussianCurveTail(mu):
            reason = f"the privacy profile is the Gaussian curve with μ = {constant_text(mu)}"
            return _proved(Verdict.GDP, interval_around(mu), reason)
        case GaussianBoundTail(mu, None):
            reason = (
                f"δ(ε) stays below the Gaussian curve with μ = {constant_text(mu)}, and falls as "
                "slowly in the limit"
            )
            return _proved(Verdict.GDP, interval_around(mu), reason)
        case GaussianBoundTail(mu, mu_t):
            assert mu_t is not None
            reason = (
                f"δ(ε) stays below the Gaussian curve with μ = {constant_text(mu)}, and falls as "
                f"slowly as the one with μ = {constant_text(mu_t)} in the limit"
            )
            return _proved(Verdict.GDP, interval_around(mu_t), reason)
        case FloorTail(value):
            reason = (
                f"δ(ε) stays above {constant_text(value)} for every ε, while every Gaussian curve "
                "falls to 0"
            )
            return _proved(Verdict.NOT_GDP, _INFINITE, reason)
        case GaussianDecayTail(_, mu_t, start):
            reason = (
                f"log δ(ε) falls like -ε²/(2·μ_t²) with μ_t = {constant_text(mu_t)} from "
                f"ε = {constant_text(start)} on, as fast as the Gaussian curve with that μ"
            )
            return _proved(Verdict.GDP, interval_around(mu_t), reason)
        case SlowDecayTail(_, rate, start):
            exponent = "ε" if rate == 1 else f"{constant_text(rate)}·ε"
            reason = (
                f"for ε ≥ {constant_text(start)}, δ(ε) stays above a multiple of "
                f"e^(-{exponent}), while every Gaussian curve falls like e^(-ε²/(2μ²))"
            )
            return _proved(Verdict.NOT_GDP, _INFINITE, reason)
        case CoarseDecayTail(_, _, start, mu_t):
            reason = (
                f"from ε = {constant_text(start)} on, -log δ(ε) grows at least like a multiple of "
                "ε², as the Gaussian curves do"
            )
            return _proved(Verdict.GDP, mu_t, reason)
        case SlowerTail(form, start):
            reason = (
                f"from ε = {constant_text(start)} on, -log δ(ε) grows like {form}, while that of "
                "every Gaussian curve grows like ε²"
            )
            return _proved(Verdict.NOT_GDP, _INFINITE, reason)
        case CertainFailureTail():
            reason = "δ(0) = 1, while every Gaussian curve is below 1"
            # this is about ε = 0: how the tail falls was not looked at
            return Identification(Verdict.NOT_GDP, None, reason, TailStatus.UNKNOWN)
        case EstimatedTail(mu_t, source):
            reason = f"the tail is not proved; μ_t is estimated by {source}"
            return Identification(
                Verdict.UNKNOWN, _around_estimate(mu_t), reason, TailStatus.ESTIMATED
            )
        case AssumedTail(mu, start, text):
            return _assumed(mu, start, text)
        case PlateauTail(start, value):
            reason = (
                f"the last guarantee is δ ≤ {constant_text(value)} at ε = {constant_text(start)}, "
                "and how δ(ε) falls beyond it is not known"
            )
            return Identification(Verdict.UNKNOWN, None, reason, TailStatus.UNKNOWN)
        case UnknownTail():
            reason = "nothing is known of δ(ε) for large ε, and no finite range decides"
            return Identification(Verdict.UNKNOWN, None, reason, TailStatus.UNKNOWN)
    assert_never(tail)


def _around_estimate(mu_t: float) -> Interval:
    """Return an interval that says no more than a float64 estimate does."""
    return Interval(mu_t * (1 - _ESTIMATE), mu_t * (1 + _ESTIMATE))


def _assumed(mu: Fraction | None, start: Fraction, text: str) -> Identification:
    """Follow a tail that the user declared; what rests on it is not proved."""
    if mu is None:
        reason = f"assumed, not proved: the tail is slower than every Gaussian curve ({text})"
        return Identification(Verdict.NOT_GDP, _INFINITE, reason, TailStatus.ESTIMATED)
    reason = (
        f"assumed, not proved: δ(ε) ≤ δ_μ(ε) with μ = {constant_text(mu)} for every "
        f"ε ≥ {constant_text(start)} ({text})"
    )
    return Identification(Verdict.GDP, Interval(0, float_ceiling(mu)), reason, TailStatus.ESTIMATED)


def _proved(verdict: Verdict, mu_tail: Interval, reason: str) -> Identification:
    return Identification(verdict, mu_tail, reason, TailStatus.PROVED)
