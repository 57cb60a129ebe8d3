"""A statement of the paper beside ours: when the two agree, and what is said where they do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from fractions import Fraction

from gdpbridge.curves.constants import Constant, interval_around
from gdpbridge.interval import Interval

__all__ = [
    "Claim",
    "Fact",
    "Finding",
    "Found",
    "Status",
    "affirmed",
    "agrees",
    "as_printed",
    "check",
]

_WIDE = Context(prec=400)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_POWER = re.compile(r"10\^(-?\d+)")
# two enclosures of an expression must agree this closely
_CLOSE = Decimal("1e-9")


class Status(StrEnum):
    """How a printed statement and ours compare."""

    AGREES = "agrees"
    FLAGGED = "flagged"
    ANSWERED = "answered"
    DISAGREES = "disagrees"

    @property
    def sentence(self) -> str:
        """What the status says, for a reader."""
        return {
            Status.AGREES: "the printed value agrees with ours",
            Status.FLAGGED: "what is printed is wrong or loose: the figures beside it show how",
            Status.ANSWERED: "the paper leaves it open, and it is answered here",
            Status.DISAGREES: "it does not agree, and nothing shows that what is printed is wrong",
        }[self]


@dataclass(frozen=True)
class Fact:
    """A computed figure that an answer rests on.

    Attributes:
        what: what it is.
        value: an interval where it is proved; a float where it is not.
    """

    what: str
    value: Interval | bool | float | int | str


@dataclass(frozen=True)
class Found:
    """Our side of a statement.

    Attributes:
        value: an interval for a number; whether it holds for a statement.
        facts: what it rests on.
        wrong: what is wrong with the printed statement, a sentence; empty unless the facts of this
            run show it.
    """

    value: Interval | bool
    facts: tuple[Fact, ...] = ()
    wrong: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper.

    Attributes:
        name: a short name, for programs.
        where: the place in the paper.
        what: what is stated, in our own words.
        printed: the number or word as printed; for a statement, whether the paper says it holds.
        find: computes our side.
        value: what ``printed`` stands for: the number that it is if empty; else another number,
            an expression, or a truth value; None for a question that the paper leaves open.
    """

    name: str
    where: str
    what: str
    printed: str
    find: Callable[[], Found]
    value: str | Constant | bool | None = ""


@dataclass(frozen=True)
class Finding:
    """A statement of the paper beside ours.

    Attributes:
        name: as of the claim, like the next three.
        where: the place in the paper.
        what: what is stated.
        printed: as printed.
        ours: an interval, or whether the statement holds.
        status: how they compare.
        wrong: what is wrong with the printed statement; empty unless flagged.
        facts: the computed figures that our side rests on.
    """

    name: str
    where: str
    what: str
    printed: str
    ours: Interval | bool
    status: Status
    wrong: str
    facts: tuple[Fact, ...]


def check(claim: Claim) -> Finding:
    """Compute our side of a claim and compare.

    A claim that does not agree is flagged if the run's own figures show that what is printed is
    wrong; else it disagrees, which is a fault of one of the two.
    """
    found = claim.find()
    if claim.value is None:
        status = Status.ANSWERED
    elif agrees(claim.printed if claim.value == "" else claim.value, found.value):
        status = Status.AGREES
    else:
        status = Status.FLAGGED if found.wrong and found.facts else Status.DISAGREES
    wrong = found.wrong if status is Status.FLAGGED else ""
    return Finding(
        claim.name,
        claim.where,
        claim.what,
        claim.printed,
        found.value,
        status,
        wrong,
        found.facts,
    )


def agrees(printed: str | Constant | bool, ours: Interval | bool) -> bool:
    """Tell whether a printed value and ours are the same, as far as it is printed.

    A number agrees if both ends of our interval, rounded to as many places, are within 1 in the
    last printed digit of it. A power of ten agrees if it is the nearest one to both, as powers go.
    An expression agrees if its enclosure and ours meet, and are both
    narrow. A statement agrees if both say yes or both say no.

    Args:
        printed: a decimal number or a power of ten as text, such as "1.80" or "10^-43", "∞", an
            expression as a constant, or a truth value.
        ours: an interval for a number, a truth value for a statement.
    """
    if isinstance(printed, bool) or isinstance(ours, bool):
        return printed is ours
    if not isinstance(printed, str):
        return _meet(interval_around(printed), ours)
    if printed == "∞":
        return ours.low.is_infinite()
    if power := _POWER.fullmatch(printed):
        return _is_nearest_power(int(power[1]), ours)
    if not _NUMBER.fullmatch(printed):
        raise ValueError(f"not a number as printed: {printed!r}")
    if ours.high.is_infinite():
        return False
    number, unit = Decimal(printed), _last_place(printed)
    return all(abs(end - number) <= unit for end in as_printed(ours, printed))


def as_printed(ours: Interval, printed: str) -> tuple[Decimal, Decimal]:
    """Return the ends of a finite interval, rounded to the places of a printed number."""
    unit = _last_place(printed)
    low, high = (
        end.quantize(unit, rounding=ROUND_HALF_EVEN, context=_WIDE) for end in (ours.low, ours.high)
    )
    return low, high


def _last_place(printed: str) -> Decimal:
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(1).scaleb(exponent)


def _is_nearest_power(exponent: int, ours: Interval) -> bool:
    """Tell whether log10 of both ends is within a half of the exponent."""
    ten, low, high = Fraction(10), ours.low, ours.high
    if not 0 < low <= high < Decimal("Infinity"):
        return False
    squares = (Fraction(low) ** 2, Fraction(high) ** 2)
    return ten ** (2 * exponent - 1) <= squares[0] and squares[1] <= ten ** (2 * exponent + 1)


def _meet(printed: Interval, ours: Interval) -> bool:
    if ours.high.is_infinite():
        return False
    wide = max(ours.high - ours.low, printed.high - printed.low)
    size = max(abs(printed.high), Decimal(1))
    return printed.low <= ours.high and ours.low <= printed.high and wide <= _CLOSE * size


def affirmed(name: str, where: str, what: str, find: Callable[[], Found]) -> Claim:
    """Return a claim that the paper affirms."""
    return Claim(name, where, what, "yes", find, value=True)
