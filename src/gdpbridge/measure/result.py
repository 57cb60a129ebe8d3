"""What a measurement says: a statement, an interval for μ, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from gdpbridge.certificate.proof import Proof
from gdpbridge.curves.nature import Nature
from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure.method import PROVED, TRUSTED, Assurance, Method, method_named
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_text, exact
from gdpbridge.showing import Shown

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["Measurement", "Standing", "Statement", "no_certificate_because"]


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
class Standing:
    """How far an interval for μ is proved: the one source of what is said of that.

    Attributes:
        proved: whether both ends are proved in ball arithmetic.
        certificate: whether there is a certificate of it, for someone else to check.
        why: what the ends rest on, and why there is no certificate where there is none.
    """

    proved: bool
    certificate: bool
    why: str


def no_certificate_because(profile: Profile, method_of: Callable[[], Method]) -> str:
    """Return why no certificate will come of a measurement, before it is made; empty if one may.

    Args:
        profile: what is measured.
        method_of: how; asked for last, as the form of a curve may be dear to know.
    """
    from gdpbridge.certificate.reach import uncertifiable_because

    if why := uncertifiable_because(profile):
        return why
    method = method_of()
    if method.no_certificate:
        return method.no_certificate
    if method.assurance is not PROVED:
        return _not_proved(method)
    if profile.tail.status is TailStatus.ESTIMATED:
        return "there is no certificate where the tail is assumed"
    return ""


def _not_proved(method: Method) -> str:
    return f"the answer of method {method.name} is not proved"


@dataclass(frozen=True, repr=False)
class Measurement(Shown):
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
        certified: whether both ends of the interval are proved in ball arithmetic; false where
            they rest on floating point or on trust. Whether there is a certificate to show is
            another question, which :attr:`certificate` answers; see :attr:`proof` for both.
        method: the method used.
        evaluations: how many times the profile was evaluated, on a point or on a range.
        cells: how many cells cover the range.
        seconds: the time it took.
        notes: what a careful reader should know, a sentence each.
        by_failure: μ for other failure probabilities too, where the default statement needs one;
            pairs of a probability and an interval, the probabilities falling.
        failure: the failure probability as an exact upper bound.
        evidence: what proves the interval; None where it rests on floating point.
        undecided: the failure probabilities of ``by_failure`` at which μ could not be found within
            the stated limits; the intervals there are mere bounds.
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
    evidence: Proof | None = field(repr=False)
    undecided: tuple[float, ...] = ()

    @property
    def profile_is(self) -> Nature:
        """What the measured δ(ε) is: "own", "class" or "bound".

        Of an upper bound, the lower end of μ says that no smaller μ covers this bound. From a bound
        that is not convex in e^ε, as every profile is, a smaller μ may follow.
        """
        return self.profile.profile_is

    @property
    def verdict_sentence(self) -> str:
        """What the verdict says, for a reader."""
        return self.verdict.sentence(self.profile_is, self.tail_status)

    @property
    def proof(self) -> Standing:
        """How far the interval is proved, and whether there is a certificate."""
        absent = self.uncertified_because
        why = self.assurance.basis
        if self.certified and absent:
            why = f"{why}; {absent}"
        return Standing(self.certified, not absent, why)

    @property
    def how(self) -> Method:
        """The method used, with what it says of itself."""
        return method_named(self.method)

    @property
    def assurance(self) -> Assurance:
        """What stands behind the ends of the interval."""
        if self.certified:
            return PROVED
        own = self.how.assurance
        # what a method proves is not, where the tail or the profile is taken on trust
        return TRUSTED if self.profile.assumptions or own is PROVED else own

    @property
    def uncertified_because(self) -> str:
        """Why there is no certificate; empty if there is one."""
        if why := no_certificate_because(self.profile, lambda: self.how):
            return why
        if self.statement is Statement.WHOLE:
            from gdpbridge.certificate.reach import hides_far_out

            if hides_far_out(self.profile.certified_as):
                return "there is no certificate yet of its whole range: the checker knows no tail"
        return "" if self.evidence is not None else _not_proved(self.how)

    @cached_property
    def certificate(self) -> Certificate | None:
        """A document that proves the interval to someone else; None if there is none.

        A proved interval may have none: :attr:`proof` says why.
        """
        if self.uncertified_because or self.evidence is None:
            return None
        # the checker's models are slow to load, and most runs need none
        from gdpbridge.certificate.write import range_of, write
        from gdpbridge_verify.document import Claim

        lemmas = None
        if self.profile.certified_as.kind == "tuned":
            from gdpbridge.certificate.write_answers import lemmas_of_delta

            lemmas = lemmas_of_delta(self.profile.certified_as)
        return write(
            self.profile,
            claim=Claim(
                verdict=self.verdict.value,
                statement=self.statement.value,
                mu=range_of(self.mu),
                eps_h=None if self.eps_h is None else decimal_text(exact(self.eps_h)),
                failure_probability=decimal_text(self.failure),
                mu_tail=range_of(self.mu_tail or Interval(0, math.inf)),
                profile_is=self.profile_is.value,
            ),
            proof=self.evidence,
            lemmas=lemmas,
        )
