"""The contract of a tail: what is known of δ(ε) for large ε, and what follows from it.

Each kind of tail is one case of the tail analysis. μ_t² is the upper limit of ε²/(-2 log δ(ε));
a mechanism is GDP for some μ exactly when μ_t is finite and δ(0) < 1, and μ_t is a lower
bound of that μ (Liu, Sun, Jiang and Kong 2022, tail theorem, corrected: finiteness decides).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.remade import Remade
from gdpbridge.interval import Interval

__all__ = ["Handover", "Level", "Obstacle", "Scope", "Tail", "TailStatus", "Verdict"]


class Verdict(StrEnum):
    """Whether some finite μ covers the whole range of ε."""

    GDP = "gdp"
    NOT_GDP = "not-gdp"
    UNKNOWN = "unknown"

    def sentence(self, profile_is: Nature, status: TailStatus) -> str:
        """Return what the verdict says, for a reader.

        Args:
            profile_is: what the δ(ε) is that it is about.
            status: how its tail is known.
        """
        how = "assumed, not proved" if status is TailStatus.ESTIMATED else "proved"
        match self:
            case Verdict.GDP:
                return f"Gaussian differentially private (GDP) for a finite μ: {how}"
            case Verdict.NOT_GDP if profile_is is Nature.OWN:
                return f"not Gaussian differentially private for any finite μ: {how}"
            case Verdict.NOT_GDP:
                return f"no finite μ follows from {profile_is.subject}: {how}"
            case Verdict.UNKNOWN:
                return "unknown: the tail of the privacy profile is not known"


class TailStatus(StrEnum):
    """How μ_t is known."""

    PROVED = "proved"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


class Level(NamedTuple):
    """From ``start`` on δ(ε) is at most ``value``, and no less is known of it."""

    start: Constant
    value: Constant


class Scope(NamedTuple):
    """A statement asked for: a head up to ε_h, an approximate one at p, or the whole range."""

    eps_h: Fraction | None = None
    failure: Fraction | None = None


@dataclass(frozen=True)
class Obstacle:
    """Why there is no approximate statement with a finite μ at some failure probability.

    Attributes:
        words: where none is possible, a sentence that says so; else what a failure probability
            must be, as words that follow "must be".
        is_proved: whether none is possible.
    """

    words: str
    is_proved: bool = True


@dataclass(frozen=True)
class Handover:
    """The tail's part of a whole-range statement.

    Attributes:
        end: the tail answers from here on; where it is 0, for the whole range.
        low: at most sup G, from the tail alone.
        high: for this μ, and so for every larger one, δ ≤ δ_μ on [end, ∞).
        attained_at: where G comes to ``low``, infinity in the limit.
        note: what a reader should know, as a sentence; empty for nothing.
        is_proved: whether all this is.
        in_proof: whether a certificate has to show it.
        shown_from: from where on it can, if that is later.
        is_sharp: whether a smaller width may be asked for.
    """

    end: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    attained_at: float = 0.0
    note: str = ""
    is_proved: bool = True
    in_proof: bool = False
    shown_from: Fraction | None = None
    is_sharp: bool = True


class Tail(Remade, ABC):
    """What is known of δ(ε) for large ε."""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """Whether some finite μ covers the whole range."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why, in one sentence."""

    @property
    @abstractmethod
    def mu_tail(self) -> Interval | None:
        """An interval that holds μ_t, infinite where no μ will do; None if it is unknown."""

    @property
    @abstractmethod
    def status(self) -> TailStatus:
        """How μ_t is known."""

    @abstractmethod
    def covered_from(self, largest: Callable[[], arb], tol: Fraction) -> Handover | None:
        """Return from where on the tail proves δ ≤ δ_μ, for a μ as near to sup G as it allows.

        Args:
            largest: gives a lower bound of sup G at the working precision.
            tol: the width of the interval for μ that is wanted.

        Returns:
            None where there is no such μ, or none is known.

        Raises:
            UndecidedError: if no such ε was found.
        """

    @abstractmethod
    def after_sampling(self, gamma: Fraction) -> Tail:
        """Return the tail of γ·δ(ε) as a function of ε', where ε' ≤ ε ≤ ε' - log γ."""

    @abstractmethod
    def after_failure(self, failure: Fraction) -> Obstacle | None:
        """Return what is known to keep δ(ε) from falling to p, None if nothing is."""

    # --- what few tails know, and the rest answer alike -------------------------------------

    @property
    def level(self) -> Level | None:
        """Where δ becomes constant, or nothing but a constant bound is known of it."""
        return None

    @property
    def gaussian_mu(self) -> Constant | None:
        """The μ of the Gaussian curve that the profile is, if it is one."""
        return None

    @property
    def fails_at_zero(self) -> bool:
        """Whether δ(0) = 1."""
        return False

    def ceiling(self, tol: Fraction) -> Fraction | None:
        """Return a μ that covers the whole range, close to the least one known, if there is one."""
        return None

    def ceiling_past(self, failure: Fraction, tol: Fraction) -> Fraction | None:
        """Return a μ with δ ≤ p + (1 - p)·δ_μ everywhere, for a p that δ falls to, likewise."""
        # as δ_μ ≤ p + (1 - p)·δ_μ; a failure may save little of it
        return self.ceiling(tol)

    def default_scope(self) -> Scope | None:
        """Return the statement made where none is asked for; None for a head of default length."""
        return Scope() if self.verdict is Verdict.GDP else None
