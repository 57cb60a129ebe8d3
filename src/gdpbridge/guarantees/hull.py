"""The tightest profile that a set of (ε, δ) guarantees implies.

In t = e^ε a profile is convex, also on t < 1, where δ(1/t) = 1 - (1 - δ(t))/t: each pair comes with
a mirror image, and the tightest profile is the lower convex envelope of them all. The line through
a pair and its own image passes through (-1, 1). So for t ≥ 1 the envelope is that of the pairs and
(-1, 1): the edge over t = 1 joins a pair with its image, since the envelope is its own image.

Pairs are chosen in floating point. One is kept if it is below the chord of its neighbours by more
than rounding can be off; one that is not adds nothing that a float could tell.
"""

from __future__ import annotations

from math import exp, expm1, inf, isfinite, isnan, log, log1p

import numpy as np
from numpy.typing import NDArray

from gdpbridge.numeric.arrays import Floats, Indices
from gdpbridge.reading.rows import Rows

__all__ = ["envelope", "log_slopes"]


_UNIT = float(np.finfo(np.float64).eps)
# exp, log and their relatives are off by a few units at most
_SAFETY = 16.0
_PASSES = 40


def envelope(rows: Rows) -> Indices:
    """Return the rows that are corners of the envelope, by growing ε.

    Args:
        rows: guarantees, no two of them with the same ε, in order of ε.
    """
    # what does not fall below all before it says nothing new
    least = np.minimum.accumulate(rows.log_delta)
    falls = np.append(True, rows.log_delta[1:] < least[:-1])
    kept = np.flatnonzero(falls)
    for _ in range(_PASSES):
        bent = _bent(rows, kept)
        if bent.all():
            return kept
        kept = kept[bent]
    return _scan(rows, kept)


def _bent(rows: Rows, kept: Indices) -> NDArray[np.bool_]:
    """Return which rows stay: not those above the chord of the two beside them.

    Of the rows that rounding cannot tell from the chord, every other one stays for now: together
    they may bend.
    """
    log_b, error = log_slopes(rows, kept)
    bend, doubt = log_b[:-1] - log_b[1:], error[:-1] + error[1:]
    stays = np.append(bend > -doubt, True)
    undecided = np.flatnonzero((bend > -doubt) & (bend <= doubt))
    stays[undecided[::2]] = False
    return stays


def _scan(rows: Rows, kept: Indices) -> Indices:
    """Find the corners one by one, where the passes take too long."""
    # one by one, plain floats are ten times as quick as arrays of two
    eps, log_delta = rows.eps[kept].tolist(), rows.log_delta[kept].tolist()
    delta = rows.delta[kept].tolist()
    firsts, first_errors = (one.tolist() for one in _first(rows.eps[kept], rows.delta[kept]))
    chain: list[int] = []
    log_b: list[float] = []
    errors: list[float] = []
    for right in range(kept.size):
        new, error = firsts[right], first_errors[right]
        while chain:
            left = chain[-1]
            new, error = _edge(
                eps[left], log_delta[left], delta[left], eps[right], log_delta[right], delta[right]
            )
            if log_b[-1] - new > errors[-1] + error:
                break
            for one in (chain, log_b, errors):
                one.pop()
            new, error = firsts[right], first_errors[right]
        chain.append(right)
        log_b.append(new)
        errors.append(error)
    return kept[np.array(chain)]


def _edge(
    eps: float, log_delta: float, delta: float, right: float, log_right: float, right_delta: float
) -> tuple[float, float]:
    """Return what :func:`_between` does for one edge."""
    width = right - eps
    try:
        ratio = exp(log_right - log_delta)
        fall = log(delta - right_delta) if delta > 1e-290 else log_delta + log1p(-ratio)
        slope = fall - eps - (width + log(-expm1(-width)))
        scale = abs(log_delta) if isfinite(log_delta) else 0.0
        error = (2 + scale) / (1 - ratio) + 2 * right / width + 2 + right + scale
    except (ValueError, ZeroDivisionError, OverflowError):
        # at the end of the floats, where arrays have their infinities
        ends = np.array([eps, right]), np.array([log_delta, log_right])
        log_b, errors = _between(*ends, np.array([delta, right_delta]))
        return float(log_b[0]), float(errors[0])
    return slope, _SAFETY * _UNIT * (inf if isnan(error) else error)


def log_slopes(rows: Rows, kept: Indices) -> tuple[Floats, Floats]:
    """Return log b of the edges that end at each row, and how much it may be off.

    The first edge starts at (-1, 1).
    """
    eps, log_delta, delta = rows.eps[kept], rows.log_delta[kept], rows.delta[kept]
    first, first_error = _first(eps[:1], delta[:1])
    rest, rest_error = _between(eps, log_delta, delta)
    return np.concatenate([first, rest]), np.concatenate([first_error, rest_error])


def _first(eps: Floats, delta: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        log_b = np.log1p(-delta) - np.logaddexp(0.0, eps)
        error = _SAFETY * _UNIT * (1 + eps + 1 / (1 - delta))
    return log_b, error


def _between(eps: Floats, log_delta: Floats, delta: Floats) -> tuple[Floats, Floats]:
    width = np.diff(eps)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.exp(np.diff(log_delta))
        # differences of δ lose less than those of log δ, as long as they do not underflow
        fall = np.where(
            delta[:-1] > 1e-290, np.log(-np.diff(delta)), log_delta[:-1] + np.log1p(-ratio)
        )
        log_run = width + np.log(-np.expm1(-width))
        log_b = fall - eps[:-1] - log_run
        scale = np.where(np.isfinite(log_delta[:-1]), np.abs(log_delta[:-1]), 0.0)
        error = (2 + scale) / (1 - ratio) + 2 * eps[1:] / width + 2 + eps[1:] + scale
    return log_b, _SAFETY * _UNIT * np.nan_to_num(error, nan=np.inf)
