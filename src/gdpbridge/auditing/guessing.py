"""One run, by the test of (ε, δ)-DP of Steinke, Nasr and Jagielski (2023)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb
from scipy import special

from gdpbridge.auditing.binomial import BITS, lower_tail, terms_upwards
from gdpbridge.auditing.choice import chosen_play, fair
from gdpbridge.auditing.f_dp import COINS
from gdpbridge.auditing.recursion import Guesses
from gdpbridge.auditing.search import ROUGHLY, largest, proved_below
from gdpbridge.auditing.task import Claim, Finding, Method, Task
from gdpbridge.gaussian import ball as directed
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above

__all__ = ["Guessing", "p_value", "proved_p_value"]

# standard deviations below the mean after which no average of terms grows any more
_WINDOW = 12.0


def p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """Return in float64 how probable so many right guesses are at most, under (ε, δ)-DP.

    With W binomial(r, e^ε/(1 + e^ε)), it is P[W ≥ v] + 2mδ·max over i ≥ 1 of P[v > W ≥ v - i]/i
    (Steinke, Nasr and Jagielski 2023, theorem 5.2).
    """
    v, r, m = guesses.correct, guesses.made, guesses.canaries
    p = special.expit(-epsilon)
    # wrong guesses are binomial(r, p)
    beta = special.betaincc(r - v + 1, v, p) if v > 0 else 1.0
    if delta == 0 or v == 0:
        return float(beta)
    last = max(r * p + _WINDOW * math.sqrt(r), r - v + 1.0)
    wrong = np.arange(r - v + 1, min(r, int(last) + 2) + 1)
    ways = special.gammaln(r + 1) - special.gammaln(wrong + 1) - special.gammaln(r - wrong + 1)
    terms = np.exp(ways + special.xlogy(wrong, p) + special.xlog1py(r - wrong, -p))
    alpha = np.max(np.cumsum(terms) / np.arange(1, wrong.size + 1), initial=0.0)
    return float(min(beta + 2 * m * delta * alpha, 1.0))


def proved_p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """Return a proved upper bound of :func:`p_value`."""
    v, r, m = guesses.correct, guesses.made, guesses.canaries
    if v == 0:
        return 1.0
    with precision(BITS):
        p = 1 / (1 + arb(epsilon).exp())
        total = lower_tail(r - v, r, p)
        if delta > 0:
            total += 2 * m * ball(Fraction(delta)) * _largest_average(r - v + 1, r, p)
        return min(float_above(total), 1.0)


def _largest_average(first: int, r: int, p: arb) -> arb:
    """Bound the largest of P[first ≤ B < first + i]/i over i ≥ 1, B binomial(r, p)."""
    total = best = arb(0)
    for i, term in enumerate(terms_upwards(first, r, p), 1):
        total += term
        best = best.max(total / i)
        # past the mode terms only fall: an average above them falls too
        if certainly(first + i - 1 > (r + 1) * p) and certainly(term < total / i):
            break
    return best


class Guessing(Method):
    """Guesses in one run, against (ε, δ)-DP."""

    name = "guessing"
    theorem = (
        "In one run of an (ε, δ)-DP mechanism, right guesses are no more than a binomial number "
        "with success probability e^ε/(1 + e^ε), but for a term of 2mδ (Steinke, Nasr and "
        "Jagielski 2023, theorem 5.2); scores may depend on each other in any way."
    )
    assumptions = COINS

    def find(self, task: Task) -> Finding:
        """Choose the guesses on held-out canaries, and bound ε, and by it μ, by the others."""
        rng = np.random.default_rng(task.seed)
        level = float(task.level)

        def value(guesses: Guesses) -> float:
            return largest(lambda eps: p_value(guesses, eps, task.delta) <= level, ROUGHLY)

        play = chosen_play(fair(task.evidence, rng), value, rng, task.held_out)
        task.progress("proving the bounds", 0.5)
        return self.of_guesses(play.guesses, task, play.words, task.claim)

    def of_guesses(self, guesses: Guesses, task: Task, words: str, claim: Claim | None) -> Finding:
        """Bound ε and μ by guesses whose number was fixed beforehand."""
        level, delta = task.level, task.delta
        found = largest(lambda eps: p_value(guesses, eps, delta) <= float(level))
        epsilon = proved_below(
            found, lambda eps: Fraction(proved_p_value(guesses, eps, delta)) <= level
        )
        # a mechanism of a smaller μ is (ε, δ)-DP
        mu = directed.mu_lower(epsilon, delta) if delta > 0 and epsilon > 0 else 0.0
        tested = None
        if claim is not None:
            claimed = claim.epsilon_at(delta)
            tested = proved_p_value(guesses, claimed, delta) if math.isfinite(claimed) else 1.0
        counts = {
            "correct": guesses.correct,
            "guesses": guesses.made,
            "canaries": guesses.canaries,
        }
        return Finding(
            self.name, mu, epsilon, tested, words, dict(counts), self.theorem, self.assumptions
        )
