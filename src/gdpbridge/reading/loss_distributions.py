"""Losses with their probabilities, checked and repaired, always so that δ is not made smaller.

- A loss stands for the decimal that it prints as, a probability for the float itself.
- Masses between -1e-9 and 0 are 0; smaller ones are refused.
- What is missing from a total of 1 counts as an infinite loss, unless it is at most 1e-12 and no
  infinite loss is given: then as the largest loss. A total above 1 + 1e-9 is refused; one between
  is left as it is.
- Where every loss is the float nearest to a multiple of one number, losses are read as these
  multiples, and their composition is exact; else none is moved, and a composition is bounded.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.exact import exact

if TYPE_CHECKING:
    pass

from gdpbridge.curves.loss_distribution import ROUNDING, Direction

__all__ = ["columns_of", "direction", "pairs_of"]


_TINY_MASS = 1e-9
# more than what two roundings move a float by, relative to it
_NEAR = 1e-15
# losses whose greatest common divisor is worth looking for
_FEW = 1000
# lattice points from 0 to the largest loss
_LONGEST = 1e9


def direction(losses: Any, masses: Any, name: str) -> Direction:
    """Check and repair losses and their probabilities.

    Args:
        losses: numbers, inf among them.
        masses: as many probabilities.
        name: the direction, for errors.

    Raises:
        InputError: for what is no distribution, naming the number.
    """
    at = _numbers(losses, f"{name}.losses", "numbers, or inf")
    mass = _numbers(masses, f"{name}.probabilities", "numbers in [0, 1]")
    if at.size != mass.size or not at.size:
        raise InputError(
            name,
            Words(f"{at.size} losses and {mass.size} probabilities"),
            Advice(f"give as many losses as probabilities, not {at.size} and {mass.size}"),
        )
    for bad, field, values, allowed in (
        (
            np.isnan(at) | (at == -np.inf) | ((at > MAX_EPS) & (at < np.inf)),
            "losses",
            at,
            f"a number of at most {MAX_EPS:g}, or inf",
        ),
        (at < -MAX_EPS, "losses", at, f"at least {-MAX_EPS:g}"),
        (
            ~((mass >= -_TINY_MASS) & (mass <= 1 + _TINY_MASS)),
            "probabilities",
            mass,
            "a number in [0, 1]",
        ),
    ):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(f"{name}.{field}[{row}]", float(values[row]), allowed)
    remarks = []
    if (mass < 0).any():
        taken = -math.fsum(mass[mass < 0])
        count = int((mass < 0).sum())
        remarks.append(
            f"{name}: {count:,} negative {'mass' if count == 1 else 'masses'}, {taken:.3g} in all, "
            "taken as 0"
        )
        mass = np.maximum(mass, 0.0)
    infinite = math.fsum(mass[at == np.inf])
    kept = np.isfinite(at) & (mass > 0)
    order = np.argsort(at[kept], kind="stable")
    at, mass = at[kept][order], mass[kept][order]
    if at.size and (np.diff(at) == 0).any():
        at, first = np.unique(at, return_index=True)
        mass = np.add.reduceat(mass, first)
    missing = 1.0 - math.fsum([*mass, infinite])
    if missing < -_TINY_MASS:
        raise InputError(
            name,
            Words(f"probabilities that add up to {1 - missing:.12g}"),
            Advice(f"its probabilities add up to {1 - missing:.12g}, more than 1"),
        )
    if missing > ROUNDING or (missing > 0 and (infinite or not at.size)):
        if missing > ROUNDING:
            remarks.append(f"{name}: the {missing:.3g} missing from 1 count as an infinite loss")
        infinite = math.nextafter(infinite + missing, 2.0)
    elif missing > 0:
        mass[-1] = math.nextafter(mass[-1] + missing, 2.0)
    other = math.fsum(mass * np.exp(np.minimum(-at, 700.0))) if at.size else 0.0
    if other > 1 + _TINY_MASS:
        allowed = "at most 1 in all under the other distribution too, Σ P(L = y)·e^-y"
        raise InputError(name, f"probabilities that make {other:.12g} of it", allowed)
    return Direction(at, mass, exact(infinite), _lattice(at), tuple(remarks))


def _numbers(values: Any, field: str, allowed: str) -> Floats:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(field, values, allowed) from None
    if found.ndim != 1:
        raise InputError(field, Words(f"an array of {found.ndim} dimensions"), "a list of numbers")
    return found


def _lattice(losses: Floats) -> Fraction | None:
    """Return a number of whose multiples the losses are the nearest floats, if there is one."""
    if not losses.size:
        return None
    first = exact(float(f"{losses[0]:.9g}"))
    candidates = [abs(first)]
    if losses.size > 1:
        gaps = np.diff(losses)
        steps = np.rint(gaps / gaps.min())
        # the mean over the whole range is the best estimate of one that is not a short decimal
        short = exact(float(f"{gaps.min():.9g}"))
        candidates = [short, exact((losses[-1] - losses[0]) / steps.sum()), _divisor(first, short)]
    if losses.size <= _FEW:
        decimals = [exact(float(f"{loss:.9g}")) for loss in losses.tolist()]
        candidates.append(functools.reduce(_divisor, decimals))
    for spacing in candidates:
        if not spacing or np.abs(losses).max() > _LONGEST * spacing:
            continue
        index = np.rint(losses / float(spacing))
        off = np.abs(losses - index * float(spacing))
        if (off > _NEAR * np.abs(losses)).any():
            continue
        # a loss beside its multiple is not moved to it: downwards, δ would become smaller
        multiples = (float(spacing * int(k)) for k in index.tolist())
        if all(map(operator.eq, multiples, losses.tolist())):
            return spacing
    return None


def _divisor(one: Fraction, other: Fraction) -> Fraction:
    """Return the greatest number that both are whole multiples of."""
    one, other = abs(one), abs(other)
    while other:
        one, other = other, one % other
    return one


def columns_of(pairs: Any, name: str) -> tuple[Any, Any]:
    """Return losses and probabilities from pairs of them.

    Raises:
        InputError: for what is no pairs of numbers.
    """
    try:
        losses, masses = zip(*_items(pairs), strict=True)
        return [float(loss) for loss in losses], [float(mass) for mass in masses]
    except (TypeError, ValueError):
        raise InputError(name, pairs, "pairs of a loss and its probability") from None


def pairs_of(losses: Any, masses: Any) -> list[tuple[Any, Any]]:
    """Return losses and their probabilities, given as two lists, as pairs.

    Raises:
        InputError: for lists of two lengths.
    """
    try:
        return list(zip(losses, masses, strict=True))
    except (TypeError, ValueError):
        allowed = "as many numbers as there are losses"
        raise InputError("probabilities", masses, allowed) from None


def _items(pairs: Any) -> Any:
    return pairs.items() if isinstance(pairs, Mapping) else pairs
