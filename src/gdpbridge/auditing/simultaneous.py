"""Independent runs, at many thresholds at once."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.rates import Rates, bounds_of
from gdpbridge.auditing.split import RUNS
from gdpbridge.auditing.task import Finding, Method, Task

__all__ = ["Simultaneous"]


class Simultaneous(Method):
    """Thresholds at fixed ranks of the scores without the record, all at a share of the level.

    The threshold is the (k + 1)-th largest of n scores, for k fixed beforehand. That its true rate
    of false alarms exceeds a, means that at most k of n scores reach a point that each reaches with
    probability a or more: as improbable as k false alarms are at a threshold fixed beforehand. The
    scores with the record do not know it, so that their misses are binomial given the threshold.
    """

    name = "simultaneous"
    theorem = (
        "At thresholds of fixed rank among the runs without the record, Clopper-Pearson bounds of "
        "both error rates hold together, each at its share of the level (Bonferroni); then "
        "μ ≥ Φ⁻¹(1 - a⁺) - Φ⁻¹(b⁺) at each of them (Clopper and Pearson 1934; Dong, Roth and Su "
        "2022, section 2)."
    )
    assumptions = (*RUNS, "high scores speak for the record")

    def find(self, task: Task) -> Finding:
        """Bound μ and ε by the best of the thresholds."""
        scores, members = task.evidence.scores, task.evidence.members
        outside, inside = np.sort(scores[~members]), np.sort(scores[members])
        ranks = _ranks(outside.size)
        below = np.searchsorted(inside, outside[::-1][ranks], side="right")
        rates = Rates(
            ranks,
            np.full(ranks.size, outside.size),
            below,
            np.full(ranks.size, inside.size),
        )
        task.progress("proving the bounds", 0.5)
        bounds = partial(bounds_of, method=self.name, theorem=self.theorem)
        return bounds(rates, task, assumptions=self.assumptions)


def _ranks(size: int) -> NDArray[np.int64]:
    """Return numbers of false alarms: none, and doubling, from both ends."""
    powers = 2 ** np.arange(max(size, 1).bit_length())
    small = np.concatenate([[0], powers[powers <= size // 2]])
    return np.unique(np.concatenate([small, size - 1 - small]))
