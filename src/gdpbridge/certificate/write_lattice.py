"""Write the certificate of bounded losses by laws on a lattice: one above δ, and one below.

The checker makes both from the unit, so that what is claimed is what they show, which may be a
little more than what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gdpbridge.certificate.binaries import binary_text, shortened
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.certificate.write_discrete import tilts
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian.ball import mu_lower, mu_upper
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_text
from gdpbridge_verify.arithmetic import Arithmetic, Interval, exact
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.document import Cell, Claim, Direction, Range
from gdpbridge_verify.evidence import CurvePiece
from gdpbridge_verify.lattice import LatticeCheck
from gdpbridge_verify.refusal import OutOfWork
from gdpbridge_verify.transforms import Runs

__all__ = ["lattice_of", "with_lattice"]

_BITS = 160
# of all laws together: what the checker has time for
_PLACES = 1 << 16
# multiples of the unit that one run's losses span: the most, and how many of them are looked at
_MOST, _LOOKS = 1 << 12, 200
# a unit is taken before a larger one if what it may be off by is so much less
_BETTER = 0.8
# by how much less than whole multiples of a unit losses are that are no rational numbers
_HAIR = Fraction(1, 1 << 44)
# a loss that is so little above a multiple, of the unit, is as good as one
_CLOSE = 1e-9
# at places between, tilts are looked for
_LOOKED = 128
# by which mu.high may be above what the law shows at the witness
_WIDER = tuple(Fraction(1, 10**k) for k in (10, 8, 7, 6, 5, 4, 3))
_DIGITS = 12
_FINE = 1 << 64


class _Losses(NamedTuple):
    """One part's losses in one direction, as floats, over the lowest one.

    Attributes:
        over: the losses of its atoms; the last one exactly, if it is rational.
        masses: their probabilities.
        density: what is between them.
        times: how many runs.
    """

    over: NDArray[np.float64]
    top: Fraction
    masses: NDArray[np.float64]
    density: float
    times: int


def with_lattice(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Return a certificate of what laws on a lattice show.

    Args:
        bare: the certificate without them, of what was measured.
        proof: what the search left behind; its witness is needed.
        profile: the mechanism, of bounded losses.

    Raises:
        UndecidedError: if the checker cannot be convinced, or the laws are too coarse.
    """
    found = composition_of(bare.mechanism)
    directions = 1 if all(part.symmetric for part in found.parts) else 2
    bare = replace(bare, claim=replace(bare.claim, profile_is=found.nature))
    end = _end(found.parts)
    pieces = tuple(
        CurvePiece(start=binary_text(start), tilt=binary_text(tilt))
        for start, tilt in tilts(profile.curve, _looked(end))
    )
    places = _PLACES // (directions * (len(pieces) + 1))
    for _ in range(3):
        try:
            return _on(bare, proof, _unit(found.parts, places), pieces, directions, end)
        except OutOfWork:
            places //= 2
    raise UndecidedError("the certificate would be too long to check")


def lattice_of(bare: Certificate) -> tuple[str, tuple[Direction, ...]]:
    """Return a unit, and directions whose laws have no tilt, for δ at single ε.

    Raises:
        UndecidedError: if no unit is fine enough.
    """
    parts = composition_of(bare.mechanism).parts
    directions = 1 if all(part.symmetric for part in parts) else 2
    zero = binary_text(Fraction(0))
    one = Direction(pieces=(CurvePiece(start=zero, tilt=zero),), cells=())
    return str(_unit(parts, _PLACES // (2 * directions))), (one,) * directions


def _on(
    bare: Certificate,
    proof: Proof,
    unit: Fraction,
    pieces: tuple[CurvePiece, ...],
    directions: int,
    end: Fraction,
) -> Certificate:
    """Return the certificate with a unit."""
    witness = proof.witness
    at = shortened(witness, _BITS) if isinstance(witness, Fraction) and witness else Fraction(0)
    empty = Direction(pieces=pieces, cells=())
    evidence = replace(
        bare.evidence,
        unit=str(unit),
        directions=(empty,) * directions,
        witness=binary_text(at),
        tail_from=None,
        cells=(),
    )
    bare = replace(bare, evidence=evidence)
    no_finite = bare.claim.mu.low == "inf"
    claim, lowest = (bare.claim, Fraction(0)) if no_finite else _shown(bare, at)
    if bare.claim.mu.high == "inf":
        found = replace(bare, claim=claim)
        if not CellChecker(found).proves_ends():
            raise UndecidedError("the lower end could not be certified")
        return found
    stop = Fraction(bare.claim.eps_h) if bare.claim.eps_h is not None else end
    stop = min(stop, end)
    cell = Cell(low=binary_text(Fraction(0)), high=binary_text(_up(stop)), centre=None)
    for wider in _WIDER:
        high = decimal_text(_rounded_up(lowest * (1 + wider)))
        found = replace(bare, claim=replace(claim, mu=replace(claim.mu, high=high)))
        checker = CellChecker(found)
        if not checker.proves_ends():
            raise UndecidedError("the lower end could not be certified")
        if all(checker.proves(cell, number) for number in range(directions)):
            full = (replace(empty, cells=(cell,)),) * directions
            return replace(found, evidence=replace(evidence, directions=full))
    raise UndecidedError("the upper end could not be certified")


def _shown(bare: Certificate, at: Fraction) -> tuple[Claim, Fraction]:
    """Return the claim with what the laws show at the witness, and about the least mu.high."""
    check = LatticeCheck(bare, Arithmetic(_BITS))
    claim, failure = bare.claim, Fraction(0)
    above, below = check.at_witness(at)
    if claim.statement == "head":
        assert claim.eps_h is not None
        most = check.at_witness(Fraction(claim.eps_h))[0]
        rounded = _rounded_up(max(most * (1 + _HAIR), Fraction(claim.failure_probability)))
        claim = replace(claim, failure_probability=decimal_text(min(rounded, Fraction(1))))
    elif claim.statement == "approximate":
        failure = Fraction(claim.failure_probability)
    above, below = ((one - failure) / (1 - failure) for one in (above, below))
    ends = mu_lower(decimal_text(at), _near(below)), mu_upper(decimal_text(at), _near(above))
    if not all(map(math.isfinite, ends)):
        # 1 - δ is too small to be told from 0
        raise UndecidedError("the losses are too large for a lattice")
    low, high = Fraction(ends[0]) * (1 - _HAIR), Fraction(ends[1])
    if claim.mu.high != "inf":
        high = max(high, Fraction(claim.mu.high))
    low = min(low, Fraction(claim.mu.low))
    digits = 10**_DIGITS
    text = decimal_text(Fraction(math.floor(low * digits), digits))
    return replace(claim, mu=Range(low=text, high=claim.mu.high)), high


def _near(value: Fraction) -> Decimal:
    value = min(max(value, Fraction(0)), Fraction(1))
    return Decimal(value.numerator) / Decimal(value.denominator)


def _rounded_up(value: Fraction) -> Fraction:
    if not value:
        return value
    scale = 10**_DIGITS
    while value * scale < 10 ** (_DIGITS - 2):
        scale *= 10
    return Fraction(math.ceil(value * scale), scale)


def _up(value: Fraction) -> Fraction:
    """Return an end that is past the largest loss at any precision."""
    return Fraction(math.floor(value * _FINE) + 1, _FINE)


def _looked(end: Fraction) -> list[ProvedCell]:
    """Return ranges up to the end, at whose ends the curve is looked at."""
    ends = [end * number / _LOOKED for number in range(_LOOKED + 1)]
    return [ProvedCell(one, other, None) for one, other in pairwise(ends)]


# --- the unit -------------------------------------------------------------------------------------


def _losses(parts: Sequence[Runs]) -> Iterator[_Losses]:
    """Yield what all parts' losses are."""
    of = Arithmetic(_BITS)
    for part in parts:
        pair = part.transform.bounded(of)
        over = np.array([float(_low(atom.over)) for atom in pair.atoms])
        masses = np.array([float(atom.p.low) for atom in pair.atoms])
        last = pair.atoms[-1].over
        top = last if isinstance(last, Fraction) else _low(last) * (1 - _HAIR)
        density = 0.0 if pair.density is None else max(1 - float(masses.sum()), 0.0)
        yield _Losses(over, top, masses, density, part.times)


def _low(value: Fraction | Interval) -> Fraction:
    return value if isinstance(value, Fraction) else exact(value.low)


def _end(parts: Sequence[Runs]) -> Fraction:
    """Return a number past the largest loss of either direction."""
    of, ends = Arithmetic(_BITS), []
    for backward in (False, True):
        total = of.exactly(0)
        for part in parts:
            one = part.directed(backward, Fraction(0))[0].largest(of)
            assert one is not None
            total += of.exactly(0) + one * part.times
        ends.append(exact(total.high))
    return max(*ends, Fraction(1, 1 << _BITS // 2))


def _unit(parts: Sequence[Runs], places: int) -> Fraction:
    """Return a unit whose laws have at most so many places, and are as near as may be.

    Raises:
        UndecidedError: if none is fine enough for every part.
    """
    losses = list(_losses(parts))
    spread = sum(one.times * _variance(one) for one in losses) or 1.0
    best: Fraction | None = None
    least = math.inf
    for one in losses:
        if not one.top:
            continue
        most = min(int(places * one.top / sum(x.times * x.top for x in losses)), _MOST)
        counts = np.unique(np.geomspace(1, max(most, 1), _LOOKS).astype(int)).tolist()
        # whole cells of two multiples each fit into a range of an even number
        for count in sorted({*counts, *(2 * (n // 2) for n in counts if n > 1)}):
            unit: Fraction = one.top / count
            off = sum(_off(other, float(unit), spread) for other in losses)
            if off < _BETTER * least:
                best, least = unit, off
    if best is None:
        raise UndecidedError("the losses are too many for a lattice")
    return best


def _variance(one: _Losses) -> float:
    return float(one.masses @ one.over**2) + one.density * float(one.top) ** 2 / 3


def _off(one: _Losses, unit: float, spread: float) -> float:
    """Return about what the two laws are apart by, in deviations of the sum."""
    rest = one.over / unit
    rest = rest - np.floor(rest + _CLOSE)
    rest[rest < _CLOSE] = 0.0
    moved = float(one.masses @ rest) * unit * one.times
    wider = (float(one.masses @ (rest * (1 - rest))) + one.density) * unit**2 * one.times
    return moved / math.sqrt(spread) + wider / spread
