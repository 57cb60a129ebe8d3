"""What a method of auditing is given, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.hypotheses import Hypothesis

__all__ = ["Claim", "Evidence", "Finding", "Method", "Progress", "Task"]

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Claim:
    """What is claimed of a mechanism.

    Attributes:
        text: the claim in words, such as "μ = 1".
        hypothesis: its trade-off function, or a lower bound of it.
        epsilon_at: an upper bound of its ε at a δ.
    """

    text: str
    hypothesis: Hypothesis
    epsilon_at: Callable[[float], float]


@dataclass(frozen=True)
class Evidence:
    """Scores of canaries.

    Attributes:
        scores: the attacker's scores, shape (n,), none of them nan.
        members: which canaries were in, shape (n,).
        inclusion: the probability with which each was in.
    """

    scores: NDArray[np.float64]
    members: NDArray[np.bool_]
    inclusion: Fraction = Fraction(1, 2)


@dataclass(frozen=True)
class Task:
    """A question to a method.

    Attributes:
        evidence: the scores.
        level: the probability allowed that a bound exceeds the truth.
        delta: the δ at which ε is asked for.
        claim: what to test, if anything.
        seed: of the random halves.
        held_out: the share of scores that the choice of a threshold is made on.
        progress: told how far the work is.
    """

    evidence: Evidence
    level: Fraction
    delta: float
    claim: Claim | None
    seed: int
    held_out: float
    progress: Progress


@dataclass(frozen=True)
class Finding:
    """What one method found.

    Attributes:
        method: its name.
        mu_low: a lower bound of μ.
        epsilon_low: a lower bound of ε at the δ asked for.
        p_value: the probability at most, were the claim true, of so strong an attack; None
            without a claim.
        attack: what the attacker achieved, in words.
        counts: the same in numbers.
        theorem: what the bounds rest on, with its source.
        assumptions: what must be so for them to hold.
    """

    method: str
    mu_low: float
    epsilon_low: float
    p_value: float | None
    attack: str
    counts: dict[str, int | float]
    theorem: str
    assumptions: tuple[str, ...]


class Method(ABC):
    """A way from an attacker's scores to lower bounds."""

    name: str
    theorem: str
    assumptions: tuple[str, ...]

    @abstractmethod
    def find(self, task: Task) -> Finding:
        """Return the bounds that the scores prove at the task's level."""
