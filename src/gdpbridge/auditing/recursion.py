"""How many right guesses an f-DP mechanism allows in one run (Mahloujifar, Melis, Chaudhuri 2024).

m canaries are each included by a fair coin, and r of them are guessed. Let p_i be the probability
of exactly i right guesses, R(c) = Σ_{i≥c} p_i·i/m and H(c) = Σ_{i≥c} p_i·(r - i)/m: the mean share
of canaries guessed right, and wrong, in the event of at least c right guesses. Turning one canary's
coin over makes of "right, and c right in all" a "wrong, and c - 1 right in all". By f-DP, averaged
over canaries and coins (1 - f is concave), R(c) ≤ 1 - f(H(c - 1)) for every c, so that
H(c - 1) ≥ f(1 - R(c)).

If P[at least c right] were τ, the least probability for all smaller counts would follow from the
top down: with all of τ at c, R = τc/m and H = τ(r - c)/m; then H(i) is the larger of H(i + 1) and
f(1 - R(i + 1)), and R(i) = R(i + 1) + i/(r - i)·(H(i) - H(i + 1)). It is the least: another
choice has, from some level on, an H that is larger by d ≥ 0 and an R that is larger by at least
d·i/(r - i), which both survive each step because f(1 - y) increases in y; or, if no step was
forced, it has a total of τ at least. By the same token the total increases in τ. A total
R(0) + H(0) above r/m, where probabilities would sum to more than 1, proves P[at least c right] < τ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from gdpbridge.auditing.binomial import BITS
from gdpbridge.auditing.hypotheses import Hypothesis
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["Guesses", "excluded", "proved_excluded"]


@dataclass(frozen=True)
class Guesses:
    """What an attacker achieved in one run.

    Attributes:
        correct: how many guesses were right.
        made: how many canaries were guessed; the others were abstained from.
        canaries: how many there were.
    """

    correct: int
    made: int
    canaries: int

    @property
    def share(self) -> float:
        """The share of guesses that were right."""
        return self.correct / self.made


def excluded(guesses: Guesses, tau: float, hypothesis: Hypothesis) -> bool:
    """Whether, in float64, so many right guesses have a probability below ``tau``."""
    c, r, m = guesses.correct, guesses.made, guesses.canaries
    right, wrong, total = tau * c / m, tau * (r - c) / m, r / m
    inverse, before = hypothesis.inverse, 0.0
    for i in range(c - 1, -1, -1):
        forced = inverse(right)
        if not forced > wrong:
            # nothing is forced any more
            break
        gain = (forced - wrong) * (r / (r - i))
        right += i / (r - i) * (forced - wrong)
        wrong = forced
        if right + wrong > total:
            return True
        # past the most probable count; to stop early only weakens the test
        if gain < before and right + wrong + gain * i < total:
            break
        before = gain
    return bool(right + wrong > total)


def proved_excluded(guesses: Guesses, tau: Fraction, hypothesis: Hypothesis) -> bool:
    """Whether it is proved that so many right guesses have a probability below ``tau``."""
    c, r, m = guesses.correct, guesses.made, guesses.canaries
    with precision(BITS):
        right, wrong, total = ball(tau * c / m), ball(tau * (r - c) / m), ball(Fraction(r, m))
        for i in range(c - 1, -1, -1):
            forced = hypothesis.inverse_below(right)
            # its lower end is as good a bound, and an exact one
            forced = arb(forced.lower())
            if not certainly(forced > wrong):
                break
            right = arb((right + (forced - wrong) * i / (r - i)).lower())
            wrong = forced
            if certainly(right + wrong > total):
                return True
        return certainly(right + wrong > total)
