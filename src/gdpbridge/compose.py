"""Compose statements about releases of the same data.

μ's compose to the root of the sum of their squares, exactly, and also when each is chosen after
seeing the earlier releases, as long as the running sum of squares stays within a budget fixed
beforehand (Dong, Roth and Su 2022, corollary 3.3; Smith and Thakurta 2022; Koskela, Tobaben and
Honkela 2023). Failure probabilities compose to 1 - Π(1 - p).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gdpbridge.errors import InputError
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, Statement, measure
from gdpbridge.mechanisms.base import Neighbours, Profile
from gdpbridge.numeric.exact import bound_above, exact
from gdpbridge.showing import Shown

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["ADAPTIVITY", "Composition", "Part", "compose", "compose_certificates"]

ADAPTIVITY = (
    "The rule also holds when each μ is chosen after seeing earlier releases, as long as the sum "
    "of squares stays within a budget fixed beforehand (a GDP privacy filter)."
)

_DIGITS = 60
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
# squares of such numbers, without rounding
_EXACT = Context(prec=3 * _DIGITS, Emin=-(10**9), Emax=10**9)
_SHOWN = 20
# from here on plain numbers are summed in float64, with its error bounded
_MANY = 1000

Composable = float | int | tuple[float, float] | Profile | Measurement


@dataclass(frozen=True)
class Part:
    """What is composed, and how often.

    Attributes:
        of: a μ, a pair (μ, p), a profile or a measurement.
        count: how many times, a whole number ≥ 0.
    """

    of: Composable
    count: int = 1


@dataclass(frozen=True, repr=False)
class Composition(Shown):
    """The answer of :func:`compose`.

    Attributes:
        statement: "whole" if every part's is; "approximate" if one has a failure probability.
        mu: an interval that holds the root of the sum of squares of the parts' least μ's.
        failure_probability: 1 - Π(1 - p), rounded up.
        neighbours: the relation that the parts share, None if none names one.
        parts: how many releases were composed.
        certified: whether every part's μ is proved or was given as a number.
        notes: what a careful reader should know.
        exact: the measurement of the exact composition, where the parts are runs of one mechanism
            whose composed profile is known; its μ is at most the rule's.
    """

    statement: Statement
    mu: Interval
    failure_probability: float
    neighbours: Neighbours | None
    parts: int
    certified: bool
    notes: tuple[str, ...]
    exact: Measurement | None = None


def compose(parts: Iterable[Composable | Part]) -> Composition:
    """Compose releases of the same data into one statement.

    Args:
        parts: numbers μ, pairs (μ, p), profiles (measured here), measurements, or :class:`Part`
            for any of these with a count. A head statement counts with p = δ(eps_h).

    Returns:
        The root of the sum of squares with outward rounding, and 1 - Π(1 - p) rounded up.

    Raises:
        InputError: for a part that is none of these or out of range, or for parts that are stated
            for different neighbouring relations.

    Source: Dong, Roth and Su (2022), corollary 3.3.
    """
    parts = parts if isinstance(parts, Sequence) else list(parts)
    low, high, kept = Decimal(0), Decimal(0), Decimal(1)
    certified, count = True, 0
    relations: set[Neighbours] = set()
    for term in _terms(parts):
        times = Decimal(term.count)
        low = _DOWN.add(low, _DOWN.multiply(times, _DOWN.multiply(term.low, term.low)))
        high = _UP.add(high, _UP.multiply(times, _UP.multiply(term.high, term.high)))
        if term.failure:
            kept = _DOWN.multiply(kept, _DOWN.power(_DOWN.subtract(1, term.failure), term.count))
        if term.neighbours is not None:
            relations.add(term.neighbours)
        certified &= term.certified
        count += term.count * term.weight
    if len(relations) > 1:
        raise InputError(
            "neighbours",
            " and ".join(sorted(relations)),
            "the same for all parts: to_neighbours converts where a theorem allows it",
        )
    failure = _UP.subtract(1, kept)
    return Composition(
        statement=Statement.APPROXIMATE if failure else Statement.WHOLE,
        mu=Interval(
            _rounded(_root(low, _DOWN), ROUND_FLOOR), _rounded(_root(high, _UP), ROUND_CEILING)
        ),
        failure_probability=bound_above(Fraction(failure)),
        neighbours=next(iter(relations), None),
        parts=count,
        certified=certified,
        notes=(ADAPTIVITY,),
        exact=_exact(parts),
    )


def compose_certificates(files: Sequence[str | Path]) -> Certificate:
    """Compose certificates into one, which names each file by its SHA-256 and holds beside them.

    Args:
        files: certificates of a finite μ, all in one folder, where the result belongs too; one that
            is named several times was released as often. Of a composition, its parts are taken.

    Returns:
        The certificate of the root of the sum of squares, and of 1 - Π(1 - p), rounded up.

    Raises:
        InputError: for a file that is no such certificate, or is for other neighbours.
        RefusedError: for one that does not hold.
        UndecidedError: if checking them all would be more work than is allowed.

    Source: Dong, Roth and Su (2022), corollary 3.3.
    """
    # the checker is slow to load
    from gdpbridge.certificate.write_several import of_releases

    return of_releases(files)


def _exact(parts: Sequence[Composable | Part]) -> Measurement | None:
    """Measure the exact composition of runs of one mechanism, if its profile is known."""
    runs = [part if isinstance(part, Part) else Part(part) for part in parts[:_MANY]]
    profiles = {run.of for run in runs if isinstance(run.of, Profile)}
    if len(parts) != len(runs) or len(profiles) != 1:
        return None
    if not all(isinstance(run.of, Profile) for run in runs):
        return None
    try:
        return measure(profiles.pop().compose(sum(run.count for run in runs)))
    except InputError:  # there is no exact composition for this kind, or for so many
        return None


@dataclass(frozen=True)
class _Term:
    low: Decimal
    high: Decimal
    failure: Decimal = Decimal(0)
    count: int = 1
    neighbours: Neighbours | None = None
    certified: bool = True
    weight: int = 1  # how many releases one count stands for


def _terms(parts: Sequence[Composable | Part]) -> Iterator[_Term]:
    if len(parts) >= _MANY and set(map(type, parts)) == {float}:
        yield _many(np.asarray(parts, dtype=np.float64))
        return
    for number, part in enumerate(parts):
        of, count = (part.of, part.count) if isinstance(part, Part) else (part, 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InputError(f"parts[{number}].count", count, "a whole number ≥ 0")
        yield _term(f"parts[{number}]", of, count)


def _many(values: NDArray[np.float64]) -> _Term:
    """Compose many plain numbers at once, as one term with a bound on the rounding of floats.

    Each square is off by one rounding, and each float from the decimal it prints as by half an
    ulp; together with the sum's own rounding that is less than 2⁻⁵⁰ of the sum.
    """
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        where = int(np.argmax(wrong))
        raise InputError(f"parts[{where}]", float(values[where]), "a finite μ ≥ 0")
    total, slack = Decimal(math.fsum(values * values)), Decimal(2) ** -50
    low = _root(_DOWN.multiply(total, 1 - slack), _DOWN)
    high = _root(_UP.multiply(total, 1 + slack), _UP)
    return _Term(low, high, weight=values.size)


def _term(field: str, of: Composable, count: int) -> _Term:
    if isinstance(of, Profile):
        of = measure(of)
    if isinstance(of, Measurement):
        return _Term(
            of.mu.low,
            of.mu.high,
            _decimal(of.failure, _UP),
            count,
            of.profile.neighbours,
            of.certified,
        )
    mu, failure = of if isinstance(of, tuple) and len(of) == 2 else (of, 0.0)
    width = _number(field, mu, "a μ ≥ 0, a pair (μ, p), a profile or a measurement")
    p = _number(field, failure, "a pair (μ, p) with p in [0, 1)")
    if p >= 1:
        raise InputError(field, failure, "a pair (μ, p) with p in [0, 1)")
    return _Term(width, width, p, count)


def _number(field: str, value: object, allowed: str) -> Decimal:
    if isinstance(value, float) and value >= 0:
        number = Decimal(float.__repr__(value))  # the common case, a million times
        if number.is_finite():
            return number
    try:
        fraction = exact(value)  # type: ignore[arg-type]
    except ValueError:
        raise InputError(field, value, allowed) from None
    if fraction < 0:
        raise InputError(field, value, allowed)
    return _decimal(fraction, _UP)


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _root(value: Decimal, context: Context) -> Decimal:
    """Return the square root, rounded as the context says: a decimal's own goes to the nearest."""
    root = value.sqrt(context)
    if not root.is_finite():
        return root
    square = _EXACT.multiply(root, root)
    if context is _UP:
        return root if square >= value else root.next_plus(context)
    return root if square <= value else root.next_minus(context)


def _rounded(value: Decimal, rounding: str) -> Decimal:
    """Keep the digits that a reader may need."""
    if not value.is_finite():
        return value
    return Context(prec=_SHOWN, rounding=rounding).plus(value).normalize()
