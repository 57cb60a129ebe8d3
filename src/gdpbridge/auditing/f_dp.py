"""One run, by the f-DP recursion."""

from __future__ import annotations

import numpy as np

from gdpbridge.auditing.choice import chosen_play, fair
from gdpbridge.auditing.hypotheses import Gaussian, approximate
from gdpbridge.auditing.recursion import Guesses, excluded, proved_excluded
from gdpbridge.auditing.search import ROUGHLY, largest, least_level, proved_below, proved_level
from gdpbridge.auditing.task import Claim, Finding, Method, Task

__all__ = ["COINS", "FDP"]

COINS = (
    "each canary was in or out by a coin of its own, tossed before the run and independently of "
    "everything else",
    "the scores were computed without looking at the coins",
)


class FDP(Method):
    """Guesses in one run, against every f-DP hypothesis."""

    name = "f-dp"
    theorem = (
        "In one run of an f-DP mechanism, the number of right guesses among r obeys the recursion "
        "of Mahloujifar, Melis and Chaudhuri (2024); scores may depend on each other in any way."
    )
    assumptions = COINS

    def find(self, task: Task) -> Finding:
        """Choose the guesses on held-out canaries, and bound μ and ε by the others."""
        rng = np.random.default_rng(task.seed)
        level, claim = float(task.level), task.claim

        def value(guesses: Guesses) -> float:
            return largest(lambda mu: excluded(guesses, level, Gaussian(mu)), ROUGHLY)

        play = chosen_play(fair(task.evidence, rng), value, rng, task.held_out)
        task.progress("proving the bounds", 0.5)
        return self.of_guesses(play.guesses, task, play.words, claim)

    def of_guesses(self, guesses: Guesses, task: Task, words: str, claim: Claim | None) -> Finding:
        """Bound μ and ε by guesses whose number was fixed beforehand."""
        tau = float(task.level)
        mu = largest(lambda one: excluded(guesses, tau, Gaussian(one)))
        mu = proved_below(mu, lambda one: proved_excluded(guesses, task.level, Gaussian(one)))

        def at(eps: float) -> bool:
            return excluded(guesses, tau, approximate(eps, task.delta))

        def proved_at(eps: float) -> bool:
            return proved_excluded(guesses, task.level, approximate(eps, task.delta))

        epsilon = proved_below(largest(at), proved_at)
        p_value = None
        if claim is not None:
            f = claim.hypothesis
            found = least_level(lambda level: excluded(guesses, level, f))
            p_value = float(proved_level(found, lambda level: proved_excluded(guesses, level, f)))
        counts = {
            "correct": guesses.correct,
            "guesses": guesses.made,
            "canaries": guesses.canaries,
        }
        return Finding(
            self.name, mu, epsilon, p_value, words, dict(counts), self.theorem, self.assumptions
        )
