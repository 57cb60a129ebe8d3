"""Scores, members and counts from a user, checked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gdpbridge.auditing.rates import Rates
from gdpbridge.auditing.recursion import Guesses
from gdpbridge.auditing.task import Evidence
from gdpbridge.errors import InputError, Words
from gdpbridge.numeric.checked import Real, exact_between

__all__ = ["check_cells", "checked_evidence", "checked_guesses", "checked_rates", "checked_share"]

_MEMBERS = "0 or 1 for each score: 1 where the canary was in"
# counts are exact in float64, and the proofs stay quick
_MOST = 10**9


def checked_evidence(scores: ArrayLike, members: ArrayLike, inclusion: Real = 0.5) -> Evidence:
    """Return scores and members that an audit can be made of.

    Raises:
        InputError: for arrays of different lengths, scores that are nan or all the same, members
            that are not 0 or 1, or all the same.
    """
    values, inside = _numbers("scores", scores), _numbers("members", members)
    if values.size != inside.size:
        raise InputError(
            "members", Words(f"of length {inside.size}"), f"of length {values.size}, as scores are"
        )
    check_cells(values, inside)
    if values.size < 2:
        raise InputError("scores", Words(f"of length {values.size}"), "at least 2 scores")
    is_member = inside == 1
    for other, count in (("0", int(is_member.sum())), ("1", int((~is_member).sum()))):
        if count == 0:
            raise InputError(
                "members",
                Words(f"all {other}"),
                "of canaries that were in, and others that were out",
            )
    if (values == values[0]).all():
        raise InputError(
            "score", Words(f"{values[0]:g} in every row"), "different for some canaries"
        )
    q = checked_share("inclusion", inclusion)
    return Evidence(values, is_member, q)


def check_cells(scores: NDArray[np.float64], members: NDArray[np.float64], first: int = 1) -> None:
    """Refuse a score that is nan, or a member that is not 0 or 1.

    Args:
        scores: shape (n,).
        members: shape (n,).
        first: how the user counts the first row.

    Raises:
        InputError: for the first that is wrong, naming its row.
    """
    _refuse("score", scores, np.isnan(scores), "a number, not nan", first)
    _refuse("member", members, (members != 0) & (members != 1), _MEMBERS, first)


def checked_rates(
    true_positives: ArrayLike, false_positives: ArrayLike, positives: Any, negatives: Any
) -> Rates:
    """Return counts at thresholds fixed beforehand.

    Raises:
        InputError: for counts that are not whole numbers, or larger than their totals.
    """
    right, wrong = (
        _counts("true_positives", true_positives),
        _counts("false_positives", false_positives),
    )
    if right.size != wrong.size:
        raise InputError(
            "false_positives",
            Words(f"of length {wrong.size}"),
            f"of length {right.size}, as true_positives are",
        )
    totals = []
    for name, total, part, of in (
        ("positives", positives, right, "true_positives"),
        ("negatives", negatives, wrong, "false_positives"),
    ):
        values = (
            np.broadcast_to(_counts(name, total), (part.size,))
            if _is_one(total)
            else _counts(name, total)
        )
        if values.size != part.size:
            raise InputError(name, Words(f"of length {values.size}"), f"one count, or {part.size}")
        _refuse(name, values, values == 0, "a count of at least 1")
        for count, most in zip(part.tolist(), values.tolist(), strict=True):
            if count > most:
                raise InputError(of, count, f"at most {name}, {most}")
        totals.append(values)
    return Rates(wrong, totals[1], totals[0] - right, totals[0])


def checked_guesses(correct: Any, made: Any, canaries: Any) -> Guesses:
    """Return the outcome of guesses in one run.

    Raises:
        InputError: unless 0 ≤ correct ≤ made ≤ canaries and made ≥ 1, whole numbers.
    """
    numbers = [
        int(_counts(name, [value])[0])
        for name, value in (("correct", correct), ("guesses", made), ("canaries", canaries))
    ]
    if numbers[1] < 1:
        raise InputError("guesses", numbers[1], "at least 1")
    if numbers[0] > numbers[1]:
        raise InputError("correct", numbers[0], f"at most guesses, {numbers[1]}")
    if numbers[1] > numbers[2]:
        raise InputError("guesses", numbers[1], f"at most canaries, {numbers[2]}")
    return Guesses(*numbers)


def checked_share(name: str, value: Real) -> Fraction:
    """Return a number strictly between 0 and 1."""
    share = exact_between(name, value, 0, 1, "a number in (0, 1)")
    if share in (0, 1):
        raise InputError(name, value, "a number in (0, 1)")
    return share


def _is_one(value: Any) -> bool:
    return np.ndim(value) == 0


def _numbers(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        values = np.asarray(given)
        if values.dtype.kind not in "biuf" and values.dtype != object:
            raise ValueError
        values = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            name, Words(f"of type {type(given).__name__}"), "an array of numbers"
        ) from None
    if values.ndim != 1:
        raise InputError(name, Words(f"of shape {values.shape}"), "flat, of shape (n,)")
    return values


def _counts(name: str, given: Any) -> NDArray[np.int64]:
    values = _numbers(name, [given] if _is_one(given) else given)
    allowed = f"a whole number, 0 to {_MOST:.0e}"
    _refuse(name, values, ~((values >= 0) & (values <= _MOST) & (values % 1 == 0)), allowed)
    if not values.size:
        raise InputError(name, Words("empty"), "at least one count")
    return values.astype(np.int64)


def _refuse(
    name: str, values: Sequence[Any] | NDArray[Any], wrong: Any, allowed: str, first: int = 1
) -> None:
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise InputError(f"{name} in row {row + first}", Words(f"{values[row]:g}"), allowed)
