"""Independent runs, at a threshold chosen on held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.choice import MOST_HELD_OUT
from gdpbridge.auditing.hypotheses import Gaussian
from gdpbridge.auditing.rates import Rates, bounds_of, separations
from gdpbridge.auditing.task import Finding, Method, Task

__all__ = ["RUNS", "Halves", "Split"]

RUNS = (
    "each score comes from a run of its own, independent of the others, with the record or without",
)
# thresholds to choose among: more of them would hardly choose better
_MOST_THRESHOLDS = 500


@dataclass(frozen=True)
class Halves:
    """Scores to choose a threshold on, and scores to test it on.

    Attributes:
        out_first: scores without the record, to choose on.
        in_first: scores with it, to choose on.
        out_rest: scores without the record, to test on.
        in_rest: scores with it, to test on.
    """

    out_first: NDArray[np.float64]
    in_first: NDArray[np.float64]
    out_rest: NDArray[np.float64]
    in_rest: NDArray[np.float64]


class Split(Method):
    """A threshold from some runs, tested on the others."""

    name = "split"
    theorem = (
        "At a threshold chosen on other runs, Clopper-Pearson bounds a⁺, b⁺ of both error rates, "
        "each at half the level, hold together; then μ ≥ Φ⁻¹(1 - a⁺) - Φ⁻¹(b⁺) (Clopper and "
        "Pearson 1934; Dong, Roth and Su 2022, section 2)."
    )
    assumptions = RUNS

    def find(self, task: Task) -> Finding:
        """Choose the threshold on held-out runs, and bound μ and ε by the others."""
        rng = np.random.default_rng(task.seed)
        scores, members = task.evidence.scores, task.evidence.members
        halves = [_parted(scores[side], rng, task.held_out) for side in (~members, members)]
        (out_first, out_rest), (in_first, in_rest) = halves
        return self.of_halves([Halves(out_first, in_first, out_rest, in_rest)], task)

    def of_halves(self, attacks: Sequence[Halves], task: Task) -> Finding:
        """Choose the attack and its threshold on the first halves, and test it on the others."""
        claimed = None if task.claim is None else task.claim.hypothesis
        # for a μ, the threshold with the best bound of μ is the best one
        hypothesis = None if isinstance(claimed, Gaussian) else claimed
        best, rule = -np.inf, (attacks[0], 0.0, 1.0)
        for attack in attacks:
            thresholds = _candidates(np.concatenate([attack.out_first, attack.in_first]))
            for sign in (1.0, -1.0):
                signed = np.sort(sign * thresholds)
                seen = _rates(sign * attack.out_first, sign * attack.in_first, signed)
                value = separations(_expected(seen, attack), float(task.level), hypothesis)
                at = int(np.argmax(value))
                if value[at] > best:
                    best, rule = float(value[at]), (attack, float(signed[at]), sign)
        attack, threshold, sign = rule
        rates = _rates(sign * attack.out_rest, sign * attack.in_rest, np.array([threshold]))
        task.progress("proving the bounds", 0.5)
        bounds = partial(bounds_of, method=self.name, theorem=self.theorem)
        return bounds(rates, task, assumptions=self.assumptions)


def _expected(seen: Rates, attack: Halves) -> Rates:
    """Return counts with the rates seen, in as many runs as there will be."""
    shape = seen.negatives.shape
    out, inside = attack.out_rest.size, attack.in_rest.size
    return Rates(
        _scaled(seen.false_positives, attack.out_first.size, out),
        np.full(shape, out),
        _scaled(seen.false_negatives, attack.in_first.size, inside),
        np.full(shape, inside),
    )


def _parted(
    scores: NDArray[np.float64], rng: np.random.Generator, held_out: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split scores at random into those to choose on and those to test on, neither empty."""
    order = rng.permutation(scores)
    first = min(max(int(held_out * scores.size), 1), MOST_HELD_OUT)
    return (order[:first], order[first:]) if scores.size > 1 else (order, order)


def _candidates(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.unique(scores)
    if values.size > _MOST_THRESHOLDS:
        # evenly by rank, and all of the ends, where few false alarms are decided
        ends = np.r_[0:50, values.size - 50 : values.size]
        even = np.linspace(0, values.size - 1, _MOST_THRESHOLDS - 100).astype(int)
        values = values[np.unique(np.concatenate([ends, even]))]
    return values


def _rates(
    outside: NDArray[np.float64], inside: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> Rates:
    """Count errors of the rule "in, where the score is above the threshold"."""
    below_out = np.searchsorted(np.sort(outside), thresholds, side="right")
    below_in = np.searchsorted(np.sort(inside), thresholds, side="right")
    shape = thresholds.shape
    return Rates(
        outside.size - below_out,
        np.full(shape, outside.size),
        below_in,
        np.full(shape, inside.size),
    )


def _scaled(counts: NDArray[np.int64], seen: int, there: int) -> NDArray[np.int64]:
    """Return counts in another number of runs, a little worse than seen."""
    return np.minimum(np.ceil((counts + 0.5) * there / (seen + 1)), there).astype(np.int64)
