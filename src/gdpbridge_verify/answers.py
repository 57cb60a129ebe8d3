"""Answers besides μ: each is an inequality or two about δ at one ε.

- δ at ε, and the advantage δ(0): as they stand.
- The least ε with δ(ε) ≤ d is at most e if δ(e) ≤ d, and at least e if δ(e) > d: δ does not rise.
- f(α) ≥ 1 - δ(ε) - e^ε·α for every ε ≥ 0; for the other order of the pair, the mirror image
  δ(-ε) = 1 - (1 - δ(ε))·e^{-ε} holds in place of δ. So f(α) ≥ b if, for the ε where they touch,
  δ(ε) ≤ 1 - b - e^ε·α, or δ(ε) ≤ 1 - α - e^ε·b. A true-positive rate is 1 - f.
"""

from __future__ import annotations

from fractions import Fraction

from gdpbridge_verify.document import Answer, Certificate, Point
from gdpbridge_verify.numbers import about, signed
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.statement import MAX_EPS, Check

__all__ = ["answer", "count_of_answers"]

_SYMBOLS = {
    "delta": "δ({at})",
    "epsilon": "the least ε with δ(ε) ≤ {at}",
    "advantage": "an attacker's advantage, δ(0),",
    "tpr": "the true-positive rate of every attack with a false-positive rate of {at}",
    "beta": "f({at})",
}
_PLACELESS = "advantage"


def count_of_answers(document: Certificate) -> int:
    """Return how many answers there are to prove; each has its point.

    Raises:
        Malformed: if they do not match, or say what they should not.
    """
    claim, evidence = document.claim, document.evidence
    answers, points = claim.answers or (), evidence.points or ()
    if len(answers) != len(points):
        raise Malformed("evidence.points", len(points), f"one for each of {len(answers)} answers")
    if claim.statement == "answers":
        if (claim.mu.low, claim.mu.high) != ("0", "inf") or not answers:
            raise Malformed("claim.statement", claim.statement, "answers, and [0, inf] for mu")
        if evidence.cells or evidence.witness or evidence.witness_line or evidence.event:
            raise Malformed("evidence", "of a μ", "that of the answers alone")
    return len(answers)


def answer(check: Check, number: int) -> str:
    """Prove an answer, and return it in words."""
    given = (check.claim.answers or ())[number]
    point = (check.evidence.points or ())[number]
    line = f"claim.answers[{number}]"
    if (given.at is None) is not (given.quantity == _PLACELESS):
        raise Malformed(f"{line}.at", given.at, "null for an advantage, and only then")
    at = Fraction(given.at or 0)
    low, high = (None if end == "inf" else Fraction(end) for end in (given.low, given.high))
    if high is not None and (low is None or low > high):
        raise Refused(line, "its lower end is above its upper end")
    if given.quantity == "epsilon":
        _epsilon(check, line, at, low, high, point)
    elif low is None or high is None or not 0 <= low <= high <= 1:
        raise Malformed(line, f"[{given.low}, {given.high}]", "between 0 and 1")
    elif given.quantity in ("delta", _PLACELESS):
        _require_eps(line, at)
        _delta(check, line, at, low, high, point)
    else:
        _rate(check, line, given, at, (low, high), point)
    return _words(given)


def _words(given: Answer) -> str:
    what = _SYMBOLS[given.quantity].format(at=given.at)
    if given.quantity == "tpr" or (given.low == "0" and given.quantity != "beta"):
        return f"{what} is at most {given.high}"
    if given.quantity == "beta" or given.high == "inf":
        return f"{what} is at least {given.low}"
    return f"{what} is between {given.low} and {given.high}"


def _require_eps(line: str, at: Fraction) -> None:
    if at > MAX_EPS:
        raise Malformed(line, about(at), "at an ε that is not beyond any")


def _delta(
    check: Check, line: str, at: Fraction, low: Fraction, high: Fraction, point: Point
) -> None:
    check.at_most(f"{line}.high", at, high)
    if low > 0:
        check.at_least(f"{line}.low", at, low, point)


def _epsilon(
    check: Check, line: str, at: Fraction, low: Fraction | None, high: Fraction | None, point: Point
) -> None:
    """Prove δ(high) ≤ at < δ(low)."""
    if at > 1:
        raise Malformed(f"{line}.at", about(at), "at most 1")
    for end in (low, high):
        _require_eps(line, end or Fraction(0))
    if high is not None:
        check.at_most(f"{line}.high", high, at)
    if low is None:
        check.stays_above(f"{line}.low", at)
    elif low > 0:
        check.above(f"{line}.low", low, at, point)


def _rate(
    check: Check,
    line: str,
    given: Answer,
    alpha: Fraction,
    ends: tuple[Fraction, Fraction],
    point: Point,
) -> None:
    """Prove f(α) ≥ b by one line that touches it."""
    missed = 1 - ends[1] if given.quantity == "tpr" else ends[0]
    if alpha > 1 or ends[0 if given.quantity == "tpr" else 1] != (given.quantity == "beta"):
        raise Malformed(line, f"[{given.low}, {given.high}]", "one end of a rate: the other one is "
                        "0 of a true-positive rate, and 1 of f")  # fmt: skip
    if missed == 0:
        return
    if point.touch is None:
        raise Refused(f"evidence.points: touch of {line}", "there is none")
    touch = signed(point.touch)
    _require_eps(line, abs(touch))
    fixed, turned = (missed, alpha) if touch >= 0 else (alpha, missed)
    exactly = check.arithmetic.exactly
    most = exactly(1 - fixed) - exactly(abs(touch)).exp() * exactly(turned)
    check.at_most(line, abs(touch), most)
