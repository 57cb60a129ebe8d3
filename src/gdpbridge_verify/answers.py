"""Answers besides μ: each is an inequality or two about δ at one ε.

- δ at ε, and the advantage δ(0): as they stand.
- The least ε with δ(ε) ≤ d is at most e if δ(e) ≤ d, and at least e if δ(e) > d: δ does not rise.
- f(α) ≥ 1 - δ(ε) - e^ε·α for every ε ≥ 0; for the other order of the pair, the mirror image
  δ(-ε) = 1 - (1 - δ(ε))·e^{-ε} holds in place of δ. So f(α) ≥ b if, for the ε where they touch,
  δ(ε) ≤ 1 - b - e^ε·α, or δ(ε) ≤ 1 - α - e^ε·b. A true-positive rate is 1 - f.
  And f(α) ≤ b, f being what δ determines, if no line is higher: δ ≥ 1 - b - t·α for every t = e^ε.
- The regret Δ of stating S(ε) = p + (1 - p)·δ_μ(ε) is the largest (S(ε) - δ(ε))/(1 + e^ε) (Kaissis
  et al. 2024): Δ ≥ r where δ ≤ S - r·(1 + e^ε) at some ε, Δ ≤ r where δ is at least that at all.
"""

from __future__ import annotations

from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.between import require_above, require_above_at, require_at_least
from gdpbridge_verify.curve import GaussianCurve
from gdpbridge_verify.evidence import Answer, Point
from gdpbridge_verify.numbers import about, binary
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.statement import MAX_EPS, Check

_SYMBOLS = {
    "delta": "δ({at})",
    "epsilon": "the least ε with δ(ε) ≤ {at}",
    "advantage": "an attacker's advantage, δ(0),",
    "tpr": "the true-positive rate of every attack with a false-positive rate of {at}",
    "beta": "f({at})",
    "regret": "the regret of stating this μ",
}
_PLACELESS = ("advantage", "regret")


def require_answers_alone(check: Check) -> None:
    """Refuse a document of answers that has none, or anything of a μ."""
    claim, evidence = check.claim, check.evidence
    if (claim.mu.low, claim.mu.high) != ("0", "inf") or not claim.answers:
        raise Malformed("claim.statement", claim.statement, "answers, and [0, inf] for mu")
    if evidence.cells or evidence.witness or evidence.witness_line or evidence.event:
        raise Malformed("evidence", "of a μ", "that of the answers alone")


def answer(check: Check, number: int) -> str:
    """Prove an answer, and return it in words."""
    given = (check.claim.answers or ())[number]
    point = (check.evidence.points or ())[number]
    line = f"claim.answers[{number}]"
    if (given.at is None) is not (given.quantity in _PLACELESS):
        raise Malformed(f"{line}.at", given.at, "null for an advantage or a regret, and only then")
    at = Fraction(given.at or 0)
    low, high = (None if end == "inf" else Fraction(end) for end in (given.low, given.high))
    if high is not None and (low is None or low > high):
        raise Refused(line, "its lower end is above its upper end")
    if given.quantity == "epsilon":
        _epsilon(check, line, at, low, high, point)
    elif low is None or high is None or not 0 <= low <= high <= 1:
        raise Malformed(line, f"[{given.low}, {given.high}]", "between 0 and 1")
    elif given.quantity in ("delta", "advantage"):
        _require_eps(line, at)
        _delta(check, line, at, low, high, point)
    elif given.quantity == "regret":
        _regret(check, line, low, high, point)
    else:
        is_power = given.quantity == "tpr"
        _rate(check, line, at, (1 - high, 1 - low) if is_power else (low, high), point)
    return _words(given)


def _words(given: Answer) -> str:
    what = _SYMBOLS[given.quantity].format(at=given.at)
    if given.quantity == "tpr" and given.low != "0":
        what = f"1 - f({given.at}), the largest true-positive rate at that false-positive rate,"
    largest = "1" if given.quantity == "beta" else "inf"
    if given.low == "0":
        return f"{what} is at most {given.high}"
    if given.high == largest:
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
        require_at_least(check, f"{line}.low", at, low, point)


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
        if not check.tail.floor > at:
            raise Refused(f"{line}.low", "it is infinite, and nothing shows it")
    elif low > 0:
        require_above_at(check, f"{line}.low", low, at, point)


def _rate(
    check: Check, line: str, alpha: Fraction, ends: tuple[Fraction, Fraction], point: Point
) -> None:
    """Prove f(α) ≥ b by one line that touches it, and f(α) ≤ b by δ at some places."""
    if alpha > 1:
        raise Malformed(f"{line}.at", about(alpha), "at most 1")
    low, high = ends
    exactly = check.arithmetic.exactly
    if low > 0:
        touch = _touch(line, point)
        fixed, turned = (low, alpha) if touch >= 0 else (alpha, low)
        most = exactly(1 - fixed) - exactly(abs(touch)).exp() * exactly(turned)
        check.at_most(line, abs(touch), most)
    if high < 1:
        most, slope = exactly(1 - high), exactly(alpha)
        require_above(check, line, point.places, lambda t: most - t * slope, everywhere=True)


def _touch(line: str, point: Point) -> Fraction:
    if point.touch is None:
        raise Refused(f"evidence.points: touch of {line}", "there is none")
    touch = binary(point.touch)
    _require_eps(line, abs(touch))
    return touch


def _regret(check: Check, line: str, low: Fraction, high: Fraction, point: Point) -> None:
    """Prove both ends of the largest (S - δ)/(1 + e^ε)."""
    if check.claim.statement == "answers" or check.high is None:
        raise Malformed(line, "regret", "beside a finite μ")
    # a head's μ holds for all but δ(ε_h), too
    failure = check.arithmetic.exactly(check.failure)
    curve = GaussianCurve(check.arithmetic.exactly(check.high)) if check.high else None

    def below(regret: Fraction, eps: Interval, t: Interval) -> Interval:
        """Return S(ε) - r·(1 + t)."""
        stated = failure + (1 - failure) * curve.level(eps).value if curve else failure
        return stated - check.arithmetic.exactly(regret) * (1 + t)

    if low > 0:
        touch = _touch(line, point)
        eps = check.arithmetic.exactly(abs(touch))
        check.at_most(line, abs(touch), below(low, eps, eps.exp()))
    if high < 1:
        require_above(
            check, line, point.places, lambda t: below(high, t.log(), t), everywhere=False
        )
