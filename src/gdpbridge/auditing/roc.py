"""The measured errors of an attack, with their band."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.choice import is_rising
from gdpbridge.auditing.result import Roc
from gdpbridge.auditing.task import Evidence

__all__ = ["measured_roc"]

# enough for a smooth line, few enough for a small document
_POINTS = 201


def measured_roc(evidence: Evidence, confidence: float) -> Roc:
    """Return the errors at thresholds from the strictest to the laxest, and the band about them.

    Low scores are taken for those of members if they rank lower on the whole.
    """
    scores = evidence.scores if is_rising(evidence.scores, evidence.members) else -evidence.scores
    outside, inside = np.sort(scores[~evidence.members]), np.sort(scores[evidence.members])
    alpha = np.sin(np.linspace(0, np.pi / 2, _POINTS)) ** 2
    # each of four one-sided statements has a quarter of what may fail
    off = [
        math.sqrt(math.log(4 / (1 - confidence)) / (2 * side.size)) for side in (outside, inside)
    ]
    beta = _misses(outside, inside, alpha)
    low = np.maximum(_misses(outside, inside, np.minimum(alpha + off[0], 1.0)) - off[1], 0.0)
    high = np.minimum(_misses(outside, inside, alpha - off[0]) + off[1], 1.0)
    return Roc(*(tuple(values.tolist()) for values in (alpha, beta, low, high)))


def _misses(
    outside: NDArray[np.float64], inside: NDArray[np.float64], alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least measured rate of misses with a rate of false alarms of at most α."""
    allowed = np.floor(alpha * outside.size * (1 + 1e-12)).astype(int)
    # above the threshold are as many of these scores as are allowed, or fewer
    threshold = outside[::-1][np.clip(allowed, 0, outside.size - 1)]
    missed = np.searchsorted(inside, threshold, side="right") / inside.size
    return np.where(allowed < 0, 1.0, np.where(allowed >= outside.size, 0.0, missed))
