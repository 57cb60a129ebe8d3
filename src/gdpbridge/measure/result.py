"""What a measurement says: a statement, an interval for μ, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from gdpbridge.certificate.proof import Proof
from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_text, exact

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["Measurement", "Statement"]


class Statement(StrEnum):
    """What a measured μ covers."""

    WHOLE = "whole"
    HEAD = "head"
    APPROXIMATE = "approximate"

    @property
    def sentence(self) -> str:
        """What the statement says, for a reader."""
        return {
            Statement.WHOLE: "δ(ε) ≤ δ_μ(ε) for every ε ≥ 0: the mechanism is μ-GDP",
            Statement.HEAD: "δ(ε) ≤ δ_μ(ε) for every ε in [0, ε_h]; nothing is said beyond ε_h",
            Statement.APPROXIMATE: (
                "δ(ε) ≤ p + (1 - p)·δ_μ(ε) for every ε ≥ 0: as safe as a μ-GDP mechanism that "
                "fails outright with probability p"
            ),
        }[self]


@dataclass(frozen=True)
class Measurement:
    """The answer of :func:`gdpbridge.measure`.

    Attributes:
        profile: the mechanism measured.
        verdict: whether some finite μ covers every ε ≥ 0.
        reason: why, in one sentence.
        statement: what :attr:`mu` covers: everything, a head, or all but a failure.
        mu: an interval that holds the least μ for which the statement is true.
        attained_at: an ε at which the lower end is attained; inf where μ is the tail parameter.
        eps_h: the end of the head, for a head statement.
        failure_probability: δ(ε_h) for a head statement, p for an approximate one, else 0;
            rounded up.
        log_failure_probability: its logarithm, which does not underflow; rounded up.
        whole_range_mu: an interval that holds the least μ on [0, ∞); infinite if there is none,
            None if that is unknown.
        mu_tail: an interval that holds the tail parameter μ_t; None if it is unknown.
        tail_status: whether μ_t is proved, estimated or unknown.
        certified: whether the interval is proved; false where it rests on floating point.
        method: the method used.
        evaluations: how many times the profile was evaluated, on a point or on a range.
        cells: how many cells cover the range.
        seconds: the time it took.
        notes: what a careful reader should know, a sentence each.
        by_failure: μ for other failure probabilities too, where the default statement needs one;
            pairs of a probability and an interval, the probabilities falling.
        failure: the failure probability as an exact upper bound.
        proof: what proves the interval; None where it rests on floating point.
    """

    profile: Profile
    verdict: Verdict
    reason: str
    statement: Statement
    mu: Interval
    attained_at: float
    eps_h: float | None
    failure_probability: float
    log_failure_probability: float
    whole_range_mu: Interval | None
    mu_tail: Interval | None
    tail_status: TailStatus
    certified: bool
    method: str
    evaluations: int
    cells: int
    seconds: float
    notes: tuple[str, ...]
    by_failure: tuple[tuple[float, Interval], ...]
    failure: Fraction = field(repr=False)
    proof: Proof | None = field(repr=False)

    @property
    def uncertified_because(self) -> str:
        """Why there is no certificate; empty if there is one."""
        if self.method == "composed":
            return "there is no certificate for numerically composed privacy losses yet"
        if self.proof is None:
            return f"the answer of method {self.method} is not proved"
        if not self.profile.certifiable:
            return f"there is no certificate for a mechanism of kind {self.profile.kind} yet"
        if self.verdict is Verdict.UNKNOWN or self.mu_tail is None:
            return "there is no certificate where the tail is not known"
        return ""

    @cached_property
    def certificate(self) -> Certificate | None:
        """A document that proves the interval to someone else; None if it is not certified."""
        if self.uncertified_because or self.proof is None or self.mu_tail is None:
            return None
        # the checker's models are slow to load, and most runs need none
        from gdpbridge.certificate.model import Claim
        from gdpbridge.certificate.write import range_of, write

        return write(
            self.profile,
            claim=Claim(
                verdict="gdp" if self.verdict is Verdict.GDP else "not-gdp",
                statement=self.statement.value,
                mu=range_of(self.mu),
                eps_h=None if self.eps_h is None else decimal_text(exact(self.eps_h)),
                failure_probability=decimal_text(self.failure),
                mu_tail=range_of(self.mu_tail),
            ),
            proof=self.proof,
        )
