"""Audits of a mechanism that can be run: draw in two worlds, find an event, test it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.data import checked_share
from gdpbridge.auditing.entry import bare_task, result_of
from gdpbridge.auditing.result import Audit
from gdpbridge.auditing.roc import measured_roc
from gdpbridge.auditing.split import Halves, Split
from gdpbridge.auditing.task import Evidence, Progress
from gdpbridge.errors import InputError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.checked import Real

__all__ = ["audit_mechanism"]


_LEAST_RUNS, _MOST_RUNS = 20, 10**8
# outputs are values of a kind of their own where so many runs, on average, give the same one
_SAME = 8
_BINS = 40
# squares of more coordinates than that would be fitted to noise
_FEW_COORDINATES = 30
_NEWTON_STEPS = 12
_TOLD_EVERY = 256
_SHAPES = (
    "numbers, arrays of numbers of one shape, or values that can be compared, such as texts, for "
    "each run"
)


def audit_mechanism(
    run: Callable[[Any], Any],
    *,
    worlds: tuple[Any, Any],
    runs: int = 10_000,
    confidence: Real = 0.95,
    mu_claimed: Real | None = None,
    against: Profile | None = None,
    delta: Real = 1e-5,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """Bound the μ and ε of a program from below by running it on two neighbouring data sets.

    An event is chosen on half of the outputs: by a histogram of the likelihood ratio for numbers
    and values, by logistic regression for arrays. It is then tested on the other half.

    Args:
        run: called with a data set, returns a number, an array of numbers, or a hashable value; its
            runs must be independent, so that it must not seed its own noise.
        worlds: two neighbouring data sets, in the sense of the claim.
        runs: how often it is run on each, 20 to 1e8.
        confidence: as for :func:`gdpbridge.audit`.
        mu_claimed: likewise.
        against: likewise.
        delta: likewise.
        seed: of the random halves; not of the mechanism's noise.
        progress: called with a sentence and a share in [0, 1] of the work.

    Returns:
        An :class:`~gdpbridge.Audit`; its method is "split".

    Raises:
        InputError: for an argument outside its range, or outputs of no common shape.
    """
    started = time.perf_counter()
    if not callable(run):
        raise InputError("run", Words(f"of type {type(run).__name__}"), "a function of a data set")
    if isinstance(worlds, str) or not isinstance(worlds, Sequence) or len(worlds) != 2:
        raise InputError(
            "worlds", Words(f"of type {type(worlds).__name__}"), "two neighbouring data sets"
        )
    allowed = f"a whole number, {_LEAST_RUNS} to {_MOST_RUNS:.0e}"
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer):
        raise InputError("runs", runs, allowed)
    if not _LEAST_RUNS <= runs <= _MOST_RUNS:
        raise InputError("runs", runs, allowed)
    level = 1 - checked_share("confidence", confidence)
    task = bare_task(level, delta, mu_claimed, against)
    told = progress or task.progress
    drawn = _drawn(run, worlds, int(runs), told)
    rng = np.random.default_rng(seed)
    first = np.zeros((2, runs), dtype=np.bool_)
    for side in first:
        side[rng.permutation(runs)[: runs // 2]] = True
    attacks = []
    for scores in _attacks(drawn, first):
        sides = [(side[chosen], side[~chosen]) for side, chosen in zip(scores, first, strict=True)]
        (out_first, out_rest), (in_first, in_rest) = sides
        attacks.append(Halves(out_first, in_first, out_rest, in_rest))
    finding = Split().of_halves(attacks, task)
    shown = attacks[0]
    evidence = Evidence(
        np.concatenate([shown.out_rest, shown.in_rest]),
        np.repeat([False, True], [shown.out_rest.size, shown.in_rest.size]),
    )
    roc = measured_roc(evidence, float(1 - level))
    found = result_of([finding], task, level, roc, [], started)
    return replace(found, canaries=2 * runs, members=runs)


def _drawn(
    run: Callable[[Any], Any], worlds: tuple[Any, Any], runs: int, progress: Progress
) -> list[list[Any]]:
    """Run in both worlds by turns: a program that drifts does so in both."""
    drawn: list[list[Any]] = [[], []]
    for number in range(runs):
        for outputs, world in zip(drawn, worlds, strict=True):
            outputs.append(run(world))
        if number % _TOLD_EVERY == 0:
            progress("running the mechanism", number / runs)
    return drawn


def _attacks(drawn: list[list[Any]], first: NDArray[np.bool_]) -> list[list[Floats]]:
    """Return scores of all outputs in both worlds, each learnt from the first halves."""
    arrays = [_as_arrays(outputs) for outputs in drawn]
    if arrays[0] is None or arrays[1] is None:
        return [_by_value(drawn, first)]
    if arrays[0].shape[1] != arrays[1].shape[1]:
        raise InputError(
            "run", Words("one with outputs of different shapes in the two worlds"), _SHAPES
        )
    if arrays[0].shape[1] > 1:
        return [_by_regression([arrays[0], arrays[1]], first)]
    numbers = [side[:, 0] for side in arrays if side is not None]
    everything = np.concatenate(numbers)
    if np.unique(everything).size * _SAME <= everything.size:
        return [_by_value([side.tolist() for side in numbers], first)]
    return [_by_histogram(numbers, first), numbers]


def _as_arrays(outputs: list[Any]) -> Floats | None:
    """Return numbers, or arrays of one shape, as rows; None for anything else."""
    try:
        values = np.asarray(outputs)
        if values.dtype.kind not in "biuf":
            return None
    except ValueError:
        return None
    rows = values.reshape(values.shape[0], -1).astype(np.float64)
    return rows if np.isfinite(rows).all() and rows.shape[1] else None


def _by_value(drawn: list[list[Any]], first: NDArray[np.bool_]) -> list[Floats]:
    """Score a value by how much more often it is seen with the record than without."""
    seen: dict[Hashable, list[int]] = {}
    for world, (outputs, chosen) in enumerate(zip(drawn, first, strict=True)):
        for output, is_first in zip(outputs, chosen, strict=True):
            if is_first:
                seen.setdefault(_key(output), [0, 0])[world] += 1
    scores = {key: np.log((counts[1] + 0.5) / (counts[0] + 0.5)) for key, counts in seen.items()}
    return [np.array([scores.get(_key(one), 0.0) for one in outputs]) for outputs in drawn]


def _key(output: Any) -> Hashable:
    if isinstance(output, float | np.floating) and np.isnan(output):
        # nan is not itself, and would never be recognised
        return "nan"
    if isinstance(output, np.ndarray):
        return (output.shape, output.tobytes())
    if isinstance(output, list):
        return tuple(map(_key, output))
    try:
        hash(output)
    except TypeError:
        raise InputError(
            "run", Words(f"one with an output of type {type(output).__name__}"), _SHAPES
        ) from None
    return output if isinstance(output, Hashable) else repr(output)


def _by_histogram(numbers: list[Floats], first: NDArray[np.bool_]) -> list[Floats]:
    """Score a number by the likelihood ratio of its bin among equally frequent ones."""
    learnt = [side[chosen] for side, chosen in zip(numbers, first, strict=True)]
    shares = np.linspace(0, 1, _BINS + 1)[1:-1]
    edges = np.quantile(np.concatenate(learnt), shares)
    without, within = (
        np.bincount(np.searchsorted(edges, side), minlength=_BINS) + 0.5 for side in learnt
    )
    ratio = np.log(within / without)
    return [ratio[np.searchsorted(edges, side)] for side in numbers]


def _by_regression(rows: list[Floats], first: NDArray[np.bool_]) -> list[Floats]:
    """Score an array by a logistic regression on its coordinates, and their squares if few."""
    learnt = np.concatenate([side[chosen] for side, chosen in zip(rows, first, strict=True)])
    centre, spread = learnt.mean(axis=0), learnt.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def features(values: Floats) -> Floats:
        scaled = (values - centre) / spread
        parts = [np.ones((scaled.shape[0], 1)), scaled]
        if scaled.shape[1] <= _FEW_COORDINATES:
            parts.append(scaled**2)
        return np.concatenate(parts, axis=1)

    x = features(learnt)
    target = np.repeat([0.0, 1.0], [int(side.sum()) for side in first])
    weights = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        # the ridge keeps perfectly separated outputs finite
        hessian = (x * (chance * (1 - chance))[:, None]).T @ x + np.eye(x.shape[1])
        weights -= np.linalg.solve(hessian, x.T @ (chance - target) + weights)
    return [features(side) @ weights for side in rows]
