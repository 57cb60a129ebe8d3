"""Losses that are listed, for the checker: as text, or the worst ones of a table of guarantees."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Work
from gdpbridge_verify.finite import MOST_ATOMS, Finite, Unit
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.parameters import Spec
from gdpbridge_verify.refusal import Malformed, Refused, Undecided

# microseconds
COST_OF_LOSS, _COST_OF_ROW = 6.0, 25.0
_MOST_ROWS = 5000
# bits of the probabilities
_BITS = 128
# what all runs together may miss of 1, of which nothing is known
_MOST_MISSED = Fraction(1, 10**9)
# what doubles that add up to 1 may miss of it
_ROUNDING = 2.0**-50
# what probabilities with nine digits may be above it, and those of a mechanism's own law
_TOO_MUCH, _MUCH = 1e-9, Fraction(1, 1 << 40)
RATIO = r"[0-9]{1,400}(?:/[0-9]{1,400})?"
_DECIMAL = r"[0-9]{1,60}(?:\.[0-9]{1,400})?"
_ROWS = f"{_DECIMAL}:{_DECIMAL}(?: {_DECIMAL}:{_DECIMAL})*"
_LISTED = rf"inf:({RATIO})((?: -?[0-9]{{1,18}}:0x[0-9a-f]{{1,64}}p[+-][0-9]{{1,4}})+)"


def both(spec: Spec, times: int, work: Work) -> tuple[Finite, Finite, bool]:
    """Read both directions' losses, of so many runs, and return whether they are possible."""
    one = listed("mechanism.remove", spec["remove"] or "", spec["remove_unit"] or "")
    other = one
    if "add" in spec:
        other = listed("mechanism.add", spec["add"] or "", spec.get("add_unit") or "")
    of = Arithmetic(_BITS, work)
    work.charge(COST_OF_LOSS * (len(one.places) + len(other.places)))
    for law in (one, other):
        missing = 1 - sum(law.masses(of), of.exactly(law.failure))
        if not times * missing <= _MOST_MISSED:
            fewer = "fewer, of losses whose probabilities are short of 1 together"
            raise Malformed("mechanism.times", times, fewer)
    return one, other, all(is_possible(law, of) for law in (one, other))


def listed(field: str, text: str, unit_text: str) -> Finite:
    """Read a law from text: ``inf:p/q``, then ``place:mass`` with growing places."""
    shape, unit = re.fullmatch(_LISTED, text), re.fullmatch(RATIO, unit_text)
    if shape is None or unit is None:
        raise Malformed(field, text[:40], "inf:p/q place:mass place:mass …, with a unit p/q")
    pairs = [pair.split(":") for pair in shape[2].split()]
    places = [int(place) for place, _ in pairs]
    masses = [binary(mass) for _, mass in pairs]
    if not all(one < other for one, other in pairwise(places)) or 0 in masses:
        raise Malformed(field, text[:40], "growing places, with positive masses")
    failure = ratio(field, shape[1])
    if failure >= 1 or len(places) > MOST_ATOMS:
        raise Malformed(field, text[:40], f"at most {MOST_ATOMS} losses, and not all infinite")
    total = math.fsum(map(float, [failure, *masses]))
    if max(masses) > 1 or not 1 - _ROUNDING <= total <= 1 + _TOO_MUCH:
        raise Malformed(field, text[:40], "probabilities of all losses, 1 together")
    size = Unit(ratio(field, unit_text))
    if not size.value:
        raise Malformed(f"{field}_unit", unit_text, "a positive number")
    return Finite(size, places, lambda of: [of.exactly(mass) for mass in masses], failure)


def of_rows(field: str, text: str) -> Finite:
    """Read rows ``ε:δ ε:δ …``, and return the losses of the worst mechanism with all of them.

    Its δ is convex in t = e^ε, linear between (-1, 1), the rows and (∞, the last δ). Where the fall
    of δ goes from b to b' at a row, the loss ε has the mass b - b' under Q and t times that under
    P, and so the other way round at -ε; at ε = 0 both have 2(b - b').
    """
    if re.fullmatch(_ROWS, text) is None:
        raise Malformed(field, text[:40], "ε:δ ε:δ …, decimals")
    pairs = (row.split(":") for row in text.split())
    return worst_of(field, [(Fraction(eps), Fraction(delta)) for eps, delta in pairs])


def worst_of(field: str, rows: list[tuple[Fraction, Fraction]]) -> Finite:
    """Return the losses of the worst mechanism with rows of ε and δ, as `of_rows` has them."""
    falling = all(one[0] < other[0] and one[1] > other[1] for one, other in pairwise(rows))
    if not falling or rows[0][1] > 1 or rows[-1][1] == 1 or len(rows) > _MOST_ROWS:
        raise Malformed(field, len(rows), f"at most {_MOST_ROWS} rows, ε growing and δ falling")
    bottom = math.lcm(*(eps.denominator for eps, _ in rows))
    unit = Fraction(math.gcd(*(int(eps * bottom) for eps, _ in rows)), bottom) or Fraction(1)
    positive = [int(eps / unit) for eps, _ in rows if eps]
    middle = [0] if not rows[0][0] else []

    def masses(of: Arithmetic) -> list[Interval]:
        of.charge(_COST_OF_ROW * len(rows))
        places = [of.exactly(-1), *(of.exactly(eps).exp() for eps, _ in rows)]
        values = [Fraction(1), *(delta for _, delta in rows)]
        falls = [
            of.exactly(values[n] - values[n + 1]) / (places[n + 1] - places[n])
            for n in range(len(rows))
        ]
        under_q = [one - other for one, other in pairwise([*falls, of.exactly(0)])]
        for number, one in enumerate(under_q):
            if one < 0:
                raise Refused(f"{field}: row {number}", "others say more")
            if not one >= 0:
                raise Undecided(f"{field}: row {number}")
        pairs = list(zip(under_q, places[1:], strict=True))
        if middle:
            return [
                *(q for q, _ in reversed(pairs[1:])),
                2 * pairs[0][0],
                *(q * t for q, t in pairs[1:]),
            ]
        return [*(q for q, _ in reversed(pairs)), *(q * t for q, t in pairs)]

    places = [*(-one for one in reversed(positive)), *middle, *positive]
    return Finite(Unit(unit), places, masses, rows[-1][1])


def is_possible(one: Finite, of: Arithmetic) -> bool:
    """Whether P and Q = e^{-L}·P are both of mass 1 at most, but for the rounding of numbers."""
    masses = one.masses(of)
    shares = one.atoms(of, Fraction(-1)).total
    most = 1 + _MUCH
    return bool(shares <= most and sum(masses, of.exactly(one.failure)) <= most)


def ratio(field: str, text: str) -> Fraction:
    """Return the number that ``p`` or ``p/q`` stands for."""
    top, _, bottom = text.partition("/")
    if bottom and not int(bottom):
        raise Malformed(field, text[:40], "a fraction")
    return Fraction(int(top), int(bottom or 1))
