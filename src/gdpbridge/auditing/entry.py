"""Audits: from an attacker's scores or counts to lower bounds of μ and ε, and a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from gdpbridge.auditing.data import (
    checked_evidence,
    checked_guesses,
    checked_rates,
    checked_share,
)
from gdpbridge.auditing.f_dp import FDP
from gdpbridge.auditing.guessing import Guessing
from gdpbridge.auditing.hypotheses import Gaussian, of_profile
from gdpbridge.auditing.rates import bounds_of
from gdpbridge.auditing.result import Audit, Roc, sentence_of
from gdpbridge.auditing.roc import measured_roc
from gdpbridge.auditing.simultaneous import Simultaneous
from gdpbridge.auditing.split import RUNS, Split
from gdpbridge.auditing.task import Claim, Evidence, Finding, Method, Progress, Task
from gdpbridge.errors import InputError, Words
from gdpbridge.gaussian import ball as directed
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import float_ceiling
from gdpbridge.progress import silent, with_bar
from gdpbridge.specification.title import mechanism_title, number_text

__all__ = ["METHODS", "audit", "audit_counts", "audit_guesses", "bare_task", "result_of"]

METHODS: dict[str, Method] = {
    method.name: method for method in (FDP(), Guessing(), Split(), Simultaneous())
}
_ONE_RUN = ("f-dp", "guessing")

_MAX_MU = 1000
# choosing takes few scores: the more are left for the test, the sharper it is
_HELD_OUT = 0.25
_COUNTED = "the threshold was fixed before the runs that are counted here"
_RATES = (
    "Clopper-Pearson bounds a⁺, b⁺ of both error rates, each at half the level and its share of "
    "the rows, hold together; then μ ≥ Φ⁻¹(1 - a⁺) - Φ⁻¹(b⁺) (Clopper and Pearson 1934; Dong, "
    "Roth and Su 2022, section 2)."
)
_REPLACED = (
    "the profile is stated for replacing a record: a canary that is out must then be another "
    "record in its place, not no record"
)
_ONE_SIDE = (
    "the canaries of one run may interfere, and any valid bound must allow for it: if the scores "
    "are from independent runs, method 'simultaneous' gives a sharper one"
)


@with_bar
def audit(
    scores: ArrayLike,
    members: ArrayLike,
    *,
    confidence: Real = 0.95,
    mu_claimed: Real | None = None,
    against: Profile | None = None,
    delta: Real = 1e-5,
    method: str | Sequence[str] = "f-dp",
    inclusion: Real = 0.5,
    seed: int = 0,
    held_out: Real = _HELD_OUT,
    progress: Progress | None = None,
) -> Audit:
    """Bound a mechanism's μ and ε from below by what an attacker achieved.

    Args:
        scores: the attacker's score of each canary, shape (n,), n ≥ 2; infinities are allowed.
        members: 1 where the canary was in, 0 where it was out, shape (n,).
        confidence: the probability, in (0, 1), with which each bound holds at least.
        mu_claimed: a μ in [0, 1000] to test.
        against: a mechanism whose trade-off function to test, which is a stronger test than that of
            its μ; one of the two at most.
        delta: the δ in [0, 1) at which ε is bounded.
        method: "f-dp" or "guessing" for canaries of one run, each in by a coin of its own; "split"
            or "simultaneous" for scores of independent runs. Several share 1 - confidence evenly,
            and the best of their bounds is taken.
        inclusion: for one run, the probability with which each canary was in, in (0, 1).
        seed: of the random choice of held-out scores.
        held_out: the share of scores, in (0, 1), on which a threshold is chosen.
        progress: called with a sentence and a share in [0, 1] of the work; None draws a bar in a
            terminal or a notebook once that takes over a second.

    Returns:
        The bounds, the verdict on the claim, and the measured errors.

    Raises:
        InputError: for an argument outside its range, one class without scores, scores that are
            nan or all the same, or members that were not drawn by coins (one run).

    Source: see each method's ``theorem``.
    """
    started = time.perf_counter()
    evidence = checked_evidence(scores, members, inclusion)
    names = _checked_methods(method)
    level = 1 - checked_share("confidence", confidence)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError("seed", seed, "a whole number ≥ 0")
    task = Task(
        evidence,
        level / len(names),
        _checked_delta(delta),
        _checked_claim(mu_claimed, against),
        int(seed),
        float(checked_share("held_out", held_out)),
        progress or silent,
    )
    findings = []
    for number, name in enumerate(names):
        told = _within(task.progress, number / len(names), 1 / len(names))
        findings.append(METHODS[name].find(replace(task, progress=told)))
    notes = list[str]()
    if set(names) <= set(_ONE_RUN):
        notes.append(_ONE_SIDE)
    if against is not None and against.neighbours == "replace-one":
        notes.append(_REPLACED)
    roc = measured_roc(evidence, float(1 - level))
    return result_of(findings, task, level, roc, notes, started)


def audit_counts(
    true_positives: ArrayLike,
    false_positives: ArrayLike,
    *,
    positives: ArrayLike,
    negatives: ArrayLike,
    confidence: Real = 0.95,
    mu_claimed: Real | None = None,
    against: Profile | None = None,
    delta: Real = 1e-5,
) -> Audit:
    """Bound μ and ε from counts of an attack's errors in independent runs.

    Args:
        true_positives: runs with the record that were recognised, at each threshold, shape (n,),
            or one number; the thresholds, or their ranks, fixed beforehand.
        false_positives: runs without the record that were taken for such, of the same shape.
        positives: how many runs with the record there were, one number or shape (n,).
        negatives: likewise without it.
        confidence: as for :func:`audit`; several thresholds share 1 - confidence evenly.
        mu_claimed: as for :func:`audit`.
        against: likewise.
        delta: likewise.

    Raises:
        InputError: for counts that are not whole, or larger than their totals.
    """
    started = time.perf_counter()
    rates = checked_rates(true_positives, false_positives, positives, negatives)
    level = 1 - checked_share("confidence", confidence)
    task = bare_task(level, delta, mu_claimed, against)
    found = bounds_of(rates, task, method="counts", theorem=_RATES, assumptions=(*RUNS, _COUNTED))
    inside, outside = int(rates.positives[0]), int(rates.negatives[0])
    shown = replace(result_of([found], task, level, None, [], started), members=inside)
    return replace(shown, canaries=inside + outside)


def audit_guesses(
    correct: int,
    guesses: int,
    canaries: int,
    *,
    confidence: Real = 0.95,
    mu_claimed: Real | None = None,
    against: Profile | None = None,
    delta: Real = 1e-5,
    method: str | Sequence[str] = "f-dp",
) -> Audit:
    """Bound μ and ε from the number of right guesses in one run.

    Args:
        correct: how many guesses were right.
        guesses: how many canaries were guessed, a number fixed beforehand.
        canaries: how many there were, each in by a fair coin.
        confidence: as for :func:`audit`.
        mu_claimed: likewise.
        against: likewise.
        delta: likewise.
        method: "f-dp", "guessing", or both.

    Raises:
        InputError: unless correct ≤ guesses ≤ canaries.
    """
    started = time.perf_counter()
    made = checked_guesses(correct, guesses, canaries)
    names = _checked_methods(method)
    if not set(names) <= set(_ONE_RUN):
        raise InputError("method", ", ".join(names), f"of {' and '.join(_ONE_RUN)}, for guesses")
    level = 1 - checked_share("confidence", confidence)
    task = bare_task(level / len(names), delta, mu_claimed, against)
    words = f"{made.correct} of {made.made} guesses right, of {made.canaries} canaries"
    findings = []
    for name in names:
        one = METHODS[name]
        if isinstance(one, FDP | Guessing):
            findings.append(one.of_guesses(made, task, words, task.claim))
    return replace(result_of(findings, task, level, None, [], started), canaries=made.canaries)


def bare_task(
    level: Fraction, delta: Real, mu_claimed: Real | None, against: Profile | None
) -> Task:
    """Return a task for counts that are already there."""
    none = Evidence(np.zeros(0), np.zeros(0, dtype=np.bool_))
    claim = _checked_claim(mu_claimed, against)
    return Task(none, level, _checked_delta(delta), claim, 0, _HELD_OUT, silent)


def result_of(
    findings: Sequence[Finding],
    task: Task,
    level: Fraction,
    roc: Roc | None,
    notes: Sequence[str],
    started: float,
) -> Audit:
    """Return the result of one method, or the best of several that share the level."""
    mu = max(one.mu_low for one in findings)
    epsilon = max(one.epsilon_low for one in findings)
    p_value = None
    if task.claim is not None:
        tested = [one.p_value for one in findings if one.p_value is not None]
        p_value = min(float_ceiling(Fraction(min(tested)) * len(findings)), 1.0)
    contradicts = p_value is not None and Fraction(p_value) <= level
    claim = None if task.claim is None else task.claim.text
    confidence = float(1 - level)
    return Audit(
        mu=Interval(Decimal(mu), "Infinity"),
        epsilon=Interval(Decimal(epsilon), "Infinity"),
        delta=task.delta,
        confidence=confidence,
        method="+".join(one.method for one in findings),
        claim=claim,
        contradicts=contradicts,
        p_value=p_value,
        epsilon_claimed=None if task.claim is None else task.claim.epsilon_at(task.delta),
        canaries=task.evidence.scores.size,
        members=int(task.evidence.members.sum()),
        findings=tuple(findings),
        roc=roc,
        sentence=sentence_of(mu, confidence, claim, contradicts, p_value),
        notes=tuple(notes),
        seconds=time.perf_counter() - started,
    )


def _checked_methods(method: str | Sequence[str]) -> list[str]:
    names = [method] if isinstance(method, str) else list(method)
    for name in names:
        if name not in METHODS:
            raise InputError("method", name, f"one of {', '.join(METHODS)}")
    if not names or len(set(names)) < len(names):
        raise InputError("method", ", ".join(names) or "none", "one method or several, each once")
    return names


def _checked_delta(delta: Real) -> float:
    value = exact_between("delta", delta, 0, 1, "a number in [0, 1)")
    if value == 1:
        raise InputError("delta", delta, "a number in [0, 1)")
    # a larger δ makes a smaller ε
    return float_ceiling(value)


def _checked_claim(mu_claimed: Real | None, against: Profile | None) -> Claim | None:
    if mu_claimed is not None and against is not None:
        raise InputError("mu_claimed", mu_claimed, "left out where a mechanism is tested")
    if against is not None:
        if not isinstance(against, Profile):
            raise InputError("against", Words(f"of type {type(against).__name__}"), "a profile")
        profile = against
        return Claim(
            mechanism_title(profile.model_dump()),
            of_profile(profile),
            lambda delta: float(np.asarray(profile.epsilon_bounds(delta)[1])),
        )
    if mu_claimed is None:
        return None
    allowed = f"a number in [0, {_MAX_MU}]"
    value = float_ceiling(exact_between("mu_claimed", mu_claimed, 0, _MAX_MU, allowed))
    return Claim(
        f"μ = {number_text(value)}",
        Gaussian(value),
        lambda delta: _epsilon_of(value, delta),
    )


def _epsilon_of(mu: float, delta: float) -> float:
    if mu == 0:
        return 0.0
    return directed.epsilon_upper(mu, delta) if delta > 0 else float("inf")


def _within(progress: Progress, start: float, width: float) -> Callable[[str, float], None]:
    return lambda sentence, share: progress(sentence, start + width * share)
