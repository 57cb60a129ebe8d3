"""What a report's statement rests on: what is proved, and what is assumed, a sentence each."""

from __future__ import annotations

import math
from fractions import Fraction

from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.measure import Measurement, Statement
from gdpbridge.numeric.exact import decimal_ceiling
from gdpbridge.profiles.release import Release
from gdpbridge.profiles.title import number_text

__all__ = ["NOT_STATED", "assumed", "coverage", "obtained", "proved", "rounded_up"]

NOT_STATED = "not stated"

_RELATIONS = {
    "add-remove": "one record is added or removed",
    "replace-one": "one record is replaced by another",
}


def rounded_up(value: float, digits: int = 4) -> str:
    """Return a number to some digits, rounded up, as an upper bound is read."""
    if math.isinf(value):
        return "∞"
    if (short := number_text(value)) == f"{value:.{digits}g}":
        # a number as somebody wrote it, such as a p of 1e-10
        return short
    return f"{decimal_ceiling(Fraction(value), digits):g}"


def coverage(found: Measurement) -> str:
    """Say what μ covers."""
    if found.statement is Statement.WHOLE:
        return found.statement.sentence
    if found.statement is Statement.APPROXIMATE:
        p = rounded_up(found.failure_probability)
        return f"{found.statement.sentence}, p = {p}"
    end = number_text(found.eps_h or 0.0)
    head = f"δ(ε) ≤ δ_μ(ε) for every ε in [0, {end}]; nothing is said beyond ε_h = {end}"
    if found.log_failure_probability == -math.inf:
        return f"{head}, where δ(ε) is 0"
    return (
        f"{head}, but that δ(ε) is at most p = δ(ε_h) = {_probability(found)} there: the mechanism "
        "is as safe as a μ-GDP one that fails outright with probability p"
    )


def _probability(found: Measurement) -> str:
    log = found.log_failure_probability
    if log < math.log(1e-300):
        return f"10^{math.ceil(log / math.log(10))}"
    return rounded_up(found.failure_probability)


def obtained(found: Measurement) -> str:
    """Say how the interval for μ was obtained."""
    how = {
        "certified": "proving δ(ε) ≤ δ_μ(ε) on cells that cover the range, in ball arithmetic",
        "breakpoints": "checking each breakpoint of the trade-off function, in ball arithmetic",
        "composed": (
            "composing discrete laws above and below the privacy loss by Fourier transforms, every "
            "rounding bounded"
        ),
        "adaptive": "splitting cells in floating point",
        "shuffled": "the source paper's optimised listing, in floating point",
        "staircase": "the source paper's naive listing, in floating point",
    }
    return (
        f"By {how[found.method]} (method {found.method}; {found.cells:,} cells, "
        f"{found.evaluations:,} evaluations)."
    )


def proved(found: Measurement) -> list[str]:
    """Return what is proved."""
    sentences = []
    if found.verdict is Verdict.GDP:
        sentences.append(f"Some finite μ covers every ε: {found.reason}.")
    elif found.verdict is Verdict.NOT_GDP:
        sentences.append(f"No finite μ covers every ε: {found.reason}.")
    if found.certified:
        sentences.append("Both ends of the interval for μ are proved in ball arithmetic.")
    elif found.method == "composed":
        sentences.append(
            "Both ends of the interval for μ are bounds, with every rounding error included, given "
            "what is assumed of the floating-point libraries."
        )
    if found.mu_tail is not None and found.tail_status is TailStatus.PROVED:
        tail = "∞" if found.mu_tail.low.is_infinite() else str(found.mu_tail)
        sentences.append(f"The tail parameter μ_t is {tail}; no smaller μ covers every ε.")
    whole = found.whole_range_mu
    if found.statement is not Statement.WHOLE and whole is not None and whole.high.is_finite():
        sentences.append(
            f"The least μ that covers every ε without a failure probability is in {whole}."
        )
    return sentences


def assumed(found: Measurement, release: Release) -> list[str]:
    """Return what is assumed."""
    unit = release.unit_of_privacy or f"the unit of privacy is {NOT_STATED}"
    relation = found.profile.neighbours
    neighbours = (
        f"which relation neighbouring data sets have is {NOT_STATED}"
        if relation is None
        else f"neighbouring data sets are those of which {_RELATIONS[relation]} ({relation})"
    )
    trust = release.trusted_parties or release.trust_model
    sentences = [
        f"Neighbouring relation: {neighbours}; one record is one unit of privacy: {unit}.",
        "Trust: "
        + (
            f"{trust}."
            if trust
            else f"whom one must trust with the data is {NOT_STATED}; the mechanism is taken to be "
            "run by someone who may see them."
        ),
        "Implementation: the mechanism has the privacy profile of its description, and draws its "
        "random numbers exactly; neither was examined.",
    ]
    if found.verdict is Verdict.UNKNOWN:
        sentences.append("The tail is not known: nothing is said of ε beyond what is stated.")
    if found.mu_tail is not None and found.tail_status is TailStatus.ESTIMATED:
        sentences.append(f"The tail parameter μ_t is an estimate, {found.mu_tail}, not proved.")
    if not found.certified and found.method != "composed":
        sentences.append("The interval for μ was computed in floating point and is not proved.")
    sentences += [f"{text[0].upper()}{text[1:]}." for text in found.profile.assumptions]
    known = {*found.profile.assumptions}
    sentences += [f"{note[0].upper()}{note[1:]}." for note in found.notes if note not in known]
    return sentences
