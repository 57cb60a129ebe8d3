"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gdpbridge.auditing.task import Finding
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import decimal_ceiling, floor_to_places
from gdpbridge.showing import Shown

__all__ = ["Audit", "Roc", "p_text", "sentence_of"]


@dataclass(frozen=True)
class Roc:
    """The measured errors of the attack, threshold by threshold.

    The band holds the true curve, at every point at once and with the audit's confidence, where the
    scores are independent (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart
    1990); in one run they may depend on each other, and it only shows how many they are.

    Attributes:
        alpha: rates of false positives, shape (n,), rising.
        beta: rates of false negatives there, shape (n,).
        low: the lower end of the band, shape (n,).
        high: its upper end, shape (n,).
    """

    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """Lower bounds of a mechanism's μ and ε from what an attacker achieved.

    Each of the bounds holds with the stated confidence, in finite samples, where the assumptions of
    its methods are met. It says what the program that ran gave away at least: an attack that fails
    proves nothing. As a data frame it has a row for each method.

    Attributes:
        mu: from the lower bound of μ to infinity.
        epsilon: from the lower bound of ε at ``delta`` to infinity.
        delta: the δ of ``epsilon``.
        confidence: the probability at least that a bound is below the truth.
        method: the methods' names, joined by +.
        claim: what was claimed, in words; None if nothing was.
        contradicts: whether the audit contradicts the claim at its confidence.
        p_value: the probability at most, were the claim true, of so strong an attack; None without
            a claim.
        epsilon_claimed: an upper bound of the ε that the claim allows at ``delta``; None without
            a claim.
        canaries: how many scores there were.
        members: how many of them were of canaries that were in.
        findings: what each method found; with several, each has a share of 1 - confidence.
        roc: the measured errors; None for counts.
        sentence: the outcome for a person who decides.
        notes: what a careful reader should know.
        seconds: how long it took.
    """

    mu: Interval
    epsilon: Interval
    delta: float
    confidence: float
    method: str
    claim: str | None
    contradicts: bool
    p_value: float | None
    epsilon_claimed: float | None
    canaries: int
    members: int
    findings: tuple[Finding, ...]
    roc: Roc | None
    sentence: str
    notes: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, in the form of the JSON document."""
        return {
            "mu": {"low": self.mu.lower},
            "epsilon": {"low": self.epsilon.lower},
            "delta": self.delta,
            "confidence": self.confidence,
            "method": self.method,
            "claim": self.claim,
            "contradicts": self.contradicts,
            "p_value": self.p_value,
            "epsilon_claimed": self.epsilon_claimed,
            "canaries": self.canaries,
            "members": self.members,
            "findings": [
                {
                    "method": one.method,
                    "mu": {"low": one.mu_low},
                    "epsilon": {"low": one.epsilon_low},
                    "p_value": one.p_value,
                    "attack": one.attack,
                    "counts": one.counts,
                    "theorem": one.theorem,
                    "assumptions": list(one.assumptions),
                }
                for one in self.findings
            ],
            "sentence": self.sentence,
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def _columns(self) -> dict[str, list[Any]]:
        """Return a row for each method, and in each row what holds of the whole audit."""
        own = ("method", "mu_low", "epsilon_low", "p_value", "attack", "theorem")
        columns: dict[str, list[Any]] = {
            name: [getattr(one, name) for one in self.findings] for name in own
        }
        columns["assumptions"] = ["; ".join(one.assumptions) for one in self.findings]
        for name in ("delta", "confidence", "contradicts", "claim"):
            columns[name] = [getattr(self, name)] * len(self.findings)
        return columns


def sentence_of(
    mu_low: float, confidence: float, claim: str | None, contradicts: bool, p_value: float | None
) -> str:
    """Return the outcome in one sentence."""
    sure = f"{100 * confidence:.12g} %"
    bound = f"{floor_to_places(Fraction(mu_low), 4):f}"
    leaks = (
        f"the program that ran gives away at least as much as a Gaussian mechanism of μ = {bound}"
        if float(bound) > 0
        else "the attack found nothing that the program that ran gives away"
    )
    if claim is None or p_value is None:
        return f"With {sure} confidence, {leaks}."
    if contradicts:
        return (
            f"The audit contradicts {claim} (p = {p_text(p_value)}): the program, or the "
            f"description of it, is wrong; with {sure} confidence, {leaks}."
        )
    return (
        f"The audit does not contradict {claim} (p = {p_text(p_value)}), which does not prove it; "
        f"with {sure} confidence, {leaks}."
    )


def p_text(p_value: float) -> str:
    """Return a p-value in words of two digits, rounded up."""
    return f"{float(decimal_ceiling(Fraction(p_value), 2)):g}"
