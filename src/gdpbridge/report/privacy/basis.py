"""What a report's statement rests on: what is proved, and what is assumed, a sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gdpbridge.amplify.clip_rectify import RECTIFYING
from gdpbridge.curves.nature import Nature
from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, Statement
from gdpbridge.mechanisms.base import Neighbours, Profile
from gdpbridge.report.privacy.numbers import plain, rounded_up
from gdpbridge.report.privacy.tables import DeltaRow, EpsilonRow
from gdpbridge.specification.release import Release

__all__ = [
    "CERTAIN",
    "NOT_STATED",
    "QUOTABLE",
    "QUOTED",
    "assumed",
    "coverage",
    "headline",
    "lead",
    "noted",
    "obtained",
    "proved",
    "quoted",
    "safety",
    "sentence_case",
    "standing",
    "verdict",
]

NOT_STATED = "not stated"
# whoever is right so often might as well be certain
CERTAIN = 0.9999
# the δ that pairs are quoted at, and the largest ε that is worth quoting
QUOTED, QUOTABLE = 1e-5, 100.0
# where δ is quoted of what has no such ε
_FAR = 10.0
_PLACES = 10

_RELATIONS = {
    "add-remove": "one record is added or removed",
    "replace-one": "one record is replaced by another",
    "zero-out": "one record is replaced by one without effect",
}


def sentence_case(text: str) -> str:
    """Return a text with a capital to begin with."""
    return f"{text[:1].upper()}{text[1:]}"


def headline(found: Measurement) -> str:
    """Return the statement in one line, μ rounded up: it is what will be quoted."""
    mu = f"μ ≤ {rounded_up(found.mu, 6)}"
    if found.statement is Statement.APPROXIMATE:
        return f"{mu}, but for a failure of probability {_probability(found)}"
    if found.statement is Statement.HEAD:
        return f"{mu} up to ε = {plain(found.eps_h or 0.0)}"
    return f"{mu} for every ε"


def quoted(epsilons: Sequence[EpsilonRow], delta: float = QUOTED) -> float | None:
    """Return the ε of a pair at δ, where there is one that is worth quoting."""
    rows = {row.delta: row.epsilon for row in epsilons}
    eps = rows.get(delta)
    return eps if eps is not None and eps <= QUOTABLE else None


def lead(found: Measurement, epsilons: Sequence[EpsilonRow], deltas: Sequence[DeltaRow]) -> str:
    """Return the number to begin with: μ where it covers every ε, else the mechanism's own."""
    if found.verdict is Verdict.GDP:
        return headline(found)
    for level in (found.failure_probability, QUOTED):
        eps = quoted(epsilons, level)
        if eps is not None:
            return f"ε ≤ {rounded_up(eps)} at δ = {plain(level)}"
    row = next(row for row in deltas if row.epsilon == _FAR)
    return f"δ ≤ {rounded_up(row.delta)} at ε = {plain(row.epsilon)}"


def safety(found: Measurement) -> str:
    """Say in one sentence whether the mechanism is as safe as its statement."""
    held = "proved" if found.proof.proved else "computed, not proved"
    if not math.isfinite(found.mu.upper) or found.failure_probability >= 1:
        return "No μ describes this mechanism: judge it by its own ε, δ and error rates below."
    if found.statement is Statement.HEAD:
        none = "It is not known whether a μ" if found.verdict is Verdict.UNKNOWN else "No μ"
        return (
            f"{none} describes this mechanism at every ε: judge it by its own numbers, such as "
            f"this one ({held})."
        )
    if found.statement is Statement.APPROXIMATE:
        return (
            "This mechanism is as safe as its statement, but for an outright failure of "
            f"probability {_probability(found)} ({held})."
        )
    return f"This mechanism is as safe as its statement at every ε ({held})."


def verdict(found: Measurement) -> str:
    """Return the verdict on the whole range, with the μ that it takes where another is stated."""
    text = sentence_case(found.verdict_sentence)
    whole = found.whole_range_mu
    if found.statement is Statement.WHOLE or whole is None or whole.high.is_infinite():
        return f"{text}."
    return f"{text}. For every ε, without a failure, that μ is {rounded_up(whole, 6)}."


def standing(found: Measurement) -> str:
    """Say whether the interval for μ is proved."""
    least = "is exactly" if found.mu.low == found.mu.high else "is in"
    follows = f" that {_follows(found)}" if found.profile_is is not Nature.OWN else ""
    what = f"The least such μ{follows} {least} {found.mu}"
    return f"{what}: {found.assurance.ends}. Its δ(ε) is {found.profile_is.sentence}."


def _subject(found: Measurement) -> str:
    return found.profile_is.subject


def _follows(found: Measurement) -> str:
    verb = "covers" if found.profile_is is Nature.BOUND else "follows from"
    return f"{verb} {_subject(found)}"


def coverage(found: Measurement) -> str:
    """Say what μ covers."""
    if found.statement is Statement.WHOLE:
        return found.statement.sentence
    if found.statement is Statement.APPROXIMATE:
        return f"{found.statement.sentence} = {_probability(found)}"
    end = plain(found.eps_h or 0.0)
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
    if not found.evaluations:
        return "From the form of its privacy profile, in ball arithmetic: no search was needed."
    return (
        f"By {found.how.sentence} (method {found.method}; {found.cells:,} cells, "
        f"{found.evaluations:,} evaluations)."
    )


def proved(found: Measurement) -> list[str]:
    """Return what is proved."""
    sentences = []
    known = found.tail_status is not TailStatus.ESTIMATED
    if found.verdict is Verdict.GDP and known:
        sentences.append(f"Some finite μ covers every ε: {found.reason}.")
    elif found.verdict is Verdict.NOT_GDP and known:
        whose = "" if found.profile_is is Nature.OWN else f", as far as {_subject(found)} says"
        sentences.append(f"No finite μ covers every ε{whose}: {found.reason}.")
    if found.assurance.claim:
        sentences.append(found.assurance.claim)
    tail = None
    if found.mu_tail is not None and found.tail_status is TailStatus.PROVED:
        tail = "∞" if found.mu_tail.low.is_infinite() else _certain(found.mu_tail)
        smaller = ""
        if found.mu_tail.high > 0:
            smaller = "; no smaller μ covers every ε"
            if found.profile_is is not Nature.OWN:
                smaller = f"; no smaller μ for every ε {_follows(found)}"
        sentences.append(f"The tail parameter μ_t is {tail}{smaller}.")
    whole = found.whole_range_mu
    if (
        found.statement is not Statement.WHOLE
        and whole is not None
        and whole.high.is_finite()
        # as a rule it is μ_t, of which that is said
        and _certain(whole) != tail
    ):
        sentences.append(
            f"The least μ that covers every ε without a failure probability is {_certain(whole)}."
        )
    return sentences


def _certain(value: Interval) -> str:
    """The digits that are certain, ten places at most; the interval where there are none."""
    whole, point, places = value.certain.rstrip("…").partition(".")
    shown = value.certain if len(places) <= _PLACES else f"{whole}{point}{places[:_PLACES]}…"
    return shown or str(value)


def assumed(found: Measurement, release: Release) -> list[str]:
    """Return what is assumed."""
    unit = release.unit_of_privacy or f"the unit of privacy is {NOT_STATED}"
    relation = _relation(found.profile)
    neighbours = (
        f"which relation neighbouring data sets have is {NOT_STATED}"
        if relation is None
        else f"neighbouring data sets are those of which {_RELATIONS[relation]} ({relation})"
    )
    trust = release.trusted_parties or release.trust_model
    has = "privacy profile" if found.profile_is is Nature.OWN else "privacy guarantee"
    sentences = [
        f"Neighbouring relation: {neighbours}; one record is one unit of privacy: {unit}.",
        "Trust: "
        + (
            f"{trust}."
            if trust
            else f"whom one must trust with the data is {NOT_STATED}; the mechanism is taken to be "
            "run by someone who may see them."
        ),
        f"Implementation: the mechanism has the {has} of its description, and draws its random "
        "numbers exactly; neither was examined.",
    ]
    if found.verdict is Verdict.UNKNOWN:
        sentences.append("The tail is not known: nothing is said of ε beyond what is stated.")
    if found.mu_tail is not None and found.tail_status is TailStatus.ESTIMATED:
        sentences.append(f"The tail parameter μ_t is an estimate, {found.mu_tail}, not proved.")
    if found.assurance.caveat:
        sentences.append(found.assurance.caveat)
    sentences += [f"{sentence_case(text)}." for text in found.profile.assumptions]
    if "clip-rectify" in _kinds(found.profile):
        sentences += [f"{sentence_case(text)}." for text in RECTIFYING]
    return sentences


def noted(found: Measurement) -> list[str]:
    """Return what else a careful reader should know."""
    known = {*found.profile.assumptions}
    return [f"{sentence_case(note)}." for note in found.notes if note not in known]


def _relation(profile: Profile) -> Neighbours | None:
    """The relation that a mechanism names, or else those that it is made of."""
    if profile.neighbours is not None:
        return profile.neighbours
    return next((found for one in profile.inner if (found := _relation(one))), None)


def _kinds(profile: Profile) -> set[str]:
    return {profile.kind}.union(*map(_kinds, profile.inner))
