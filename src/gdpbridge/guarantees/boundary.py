"""The boundary of a region of events as pieces of δ(ε): corners and arcs; see events.py.

At a corner p and q stay the same while ε moves, so that δ is linear in e^ε; along an arc one bound
is attained. The pieces are found in floats. What they say is then proved at every point anew:
the equations have a solution in a box, and it obeys all the other bounds, or the answer is not a
number. On power series and wide balls the solution alone is enclosed: an upper bound of δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gdpbridge.curves.pieces import Piece
from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.equations import (
    Equations,
    binding_order,
    bound_at,
    corner,
    crossing,
    single_order,
)
from gdpbridge.guarantees.events import Event, FloatEvent
from gdpbridge.guarantees.march import Track, follow
from gdpbridge.guarantees.roots import enclose, jets, solve_floats
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import spend
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import BALLS, FLOATS, Operations, Probability, ball

__all__ = ["Bound", "Boundary", "renyi_pieces", "zcdp_boundary"]

Floats = NDArray[np.float64]
Check = Callable[[Event], bool]
# what a place takes to be found or checked for each bit, in units of numeric/effort.py
_EACH_BIT = 150

_MAX_CACHED = 10_000
# of a bound, what floats may overstep it by where another one begins to bind
_FLOAT_SLACK = 1e-11
# from ρu² on, e^{-ρu²} is less than floats can tell from 0
_FAR = 60.0
_LOG_TWO = math.log(2)
_FAR_STEPS = 30
# for breakpoints as floats
_BUILD_BITS = 256
# where ρ is small, third moments decide, which takes some bits more than are wanted
_MORE_BITS = (32, 160)
# u of the first point past the place where the order leaves 1
_FIRST_TILT = 1e-3


@dataclass(frozen=True, order=True)
class Bound:
    """D_α(P‖Q) ≤ value and D_α(Q‖P) ≤ value, for α = 1 + tilt.

    Attributes:
        tilt: α - 1, at least 0; D₁ is the Kullback-Leibler divergence.
        value: the bound, positive.
    """

    tilt: Fraction
    value: Fraction


class _Corner:
    """A point at which two bounds are attained."""

    def __init__(self, equations: Equations, guess: Floats, obeys: Check) -> None:
        self.equations, self.guess, self._obeys = equations, guess, obeys
        self._known: dict[int, Event] = {}

    def event(self) -> Event:
        """Enclose the event, seen from P itself, at the working precision."""
        bits = working_precision()
        if bits not in self._known:
            box = _located(self.equations, self.guess, arb(0))
            if box is None:
                raise UndecidedError("a corner of the region of events could not be enclosed")
            self._known[bits] = Event(*self.equations.place(box, ball))
        return self._known[bits]

    def floats(self) -> FloatEvent:
        """Return the event in float64."""
        event = self.event()
        return FloatEvent(*(np.array(float(one)) for one in (event.theta, event.gap, event.tilt)))

    def ends(self, tilt: Fraction) -> Callable[[], arb]:
        """Return where the arc of an order meets the corner, as a constant."""
        return lambda: _seen_at(self.event(), ball(tilt)).epsilon()

    def formula(self, eps: Any, ops: Operations) -> Probability:
        """Return δ = p - e^ε q."""

        def of(read: Callable[[Event], arb]) -> Any:
            return ops.constant(lambda: read(self._checked(ops)))

        def log() -> Any:
            ratio = of(lambda event: event.log_p() - event.log_q())
            return of(Event.log_p) + ops.log1mexp(eps - ratio)

        return Probability(
            log, lambda: ops.logaddexp(of(Event.log_not_p) + 0 * eps, eps + of(Event.log_q))
        )

    def is_obeyed(self, event: Event) -> bool:
        """Whether every other bound is proved to hold there."""
        return self._obeys(event)

    def _checked(self, ops: Operations) -> Event:
        event = self.event()
        if ops is BALLS and not self._obeys(event):
            return Event(arb.nan(), arb.nan(), arb.nan())
        return event


def _located(equations: Equations, guess: Floats, eps: arb) -> list[arb] | None:
    """Enclose the solution near a guess, with more bits than are in force if need be."""
    start = [arb(float(one)) for one in guess]
    for more in _MORE_BITS:
        spend(_EACH_BIT * (working_precision() + more))
        with precision(working_precision() + more):
            box = enclose(equations, start, eps)
        if box is not None or not eps.is_exact():
            return box
    return None


def _seen_at(event: Event, tilt: arb) -> Event:
    """Return an event that is seen from P as the law tilted by ``tilt`` sees it."""
    return Event(event.theta + tilt * event.gap, event.gap, tilt)


@dataclass
class _Arc:
    """The points at which one bound is attained."""

    track: Track
    obeys: Check
    _known: dict[tuple[int, arb], Event | None] = field(default_factory=dict)

    def formula(self, eps: Any, ops: Operations) -> Probability:
        """Return δ at the point whose tangent has the slope e^ε."""
        event = self._event(eps, ops)
        if event is None:
            nothing = eps * arb.nan()
            return Probability(lambda: nothing, lambda: nothing)

        def log() -> Any:
            return event.log_q() + eps + ops.log(ops.expm1(event.excess()))

        def log_complement() -> Any:
            whole = ops.logaddexp(event.log_not_p(), eps + event.log_q())
            # of a small δ the logarithm is the better known
            if ops is not FLOATS:
                return whole
            small = np.minimum(log(), -_LOG_TWO)
            return np.where(small < -_LOG_TWO, ops.log1mexp(small), whole)

        return Probability(log, log_complement)

    def _event(self, eps: Any, ops: Operations) -> Any:
        equations = self.track.equations
        if ops is FLOATS:
            z = self.track.solved(np.asarray(eps, dtype=np.float64))
            theta, gap, tilt = equations.place(z, float)
            return FloatEvent(theta, gap, np.broadcast_to(tilt, np.shape(theta)))
        if isinstance(eps, arb):
            event = self.ball(eps)
            # what is wide is of use for upper bounds alone
            return event if event is None or ops is not BALLS or self.obeys(event) else None
        box = self._box(eps[0])
        found = None if box is None else jets(equations, box, eps)
        return None if found is None else Event(*equations.place(found, ball))

    def ball(self, eps: arb) -> Event | None:
        """Enclose the event at an ε, None if that fails; it may break other bounds."""
        if not eps.is_exact():
            return self._located(eps)
        key = working_precision(), eps
        if key not in self._known:
            if len(self._known) > _MAX_CACHED:
                self._known.clear()
            self._known[key] = self._located(eps)
        return self._known[key]

    def _located(self, eps: arb) -> Event | None:
        box = self._box(eps)
        return None if box is None else Event(*self.track.equations.place(box, ball))

    def _box(self, eps: arb) -> list[arb] | None:
        if not eps.is_finite():
            return None
        at = np.array([float(eps.mid())])
        with np.errstate(all="ignore"):
            guess = self.track.solved(at)[:, 0]
        if not np.isfinite(guess).all():
            guess = self.track.guess(at)[:, 0]
        return _located(self.track.equations, guess, eps)


# --- ρ-zCDP -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boundary:
    """The boundary of a region of events.

    Attributes:
        pieces: δ(ε).
        arcs: those of the pieces, None for corners.
    """

    pieces: tuple[Piece, ...]
    arcs: tuple[_Arc | None, ...]

    def event(self, eps: arb) -> Event:
        """Enclose the event on an arc at which δ is attained, or where the arc went on beyond it.

        Raises:
            UndecidedError: if it could not be enclosed, or there is a corner at this ε.
        """
        here = self.arcs[-1]
        for piece, arc in zip(self.pieces[1:], self.arcs, strict=False):
            if not certainly(BALLS.constant(piece.start) <= eps):
                here = arc
                break
        event = None if here is None else here.ball(eps)
        if event is None:
            raise UndecidedError("the tangent to the region of events could not be enclosed")
        return event


@cache
def zcdp_boundary(rho: Fraction) -> Boundary:
    """Return δ(ε) of the class of ρ-zCDP mechanisms.

    Randomized response with ε₀ tanh(ε₀/2) = ρ at first: D_α ≤ ρα holds for every α ≥ 1, as
    log cosh((α-½)ε₀) - α(α-1)ρ falls in α, tanh(x)/x doing so. Then the Kullback-Leibler divergence
    alone binds, and then the order α > 1 at which D_α - ρα has its maximum.
    """
    with precision(_BUILD_BITS):
        return _zcdp_boundary(rho)


def _zcdp_boundary(rho: Fraction) -> Boundary:
    first = _corner_of(Bound(Fraction(0), rho), lambda _: True)
    ends = first.ends(Fraction(0))
    target = float(rho)

    def turned(event: FloatEvent) -> Floats:
        # D_α - ρα begins to rise at α = 1
        return np.array([event.spread(np.zeros_like(event.gap)) / target - 1])

    divergence = single_order(Fraction(0), rho)
    at_corner = first.floats()
    point = np.array([float(at_corner.theta), float(at_corner.gap)])
    leading = follow(divergence, point, float(ends()), turned)
    last = _Corner(bound_at(Fraction(0), rho), leading.unknowns[:, -1], lambda _: True)
    turn = last.ends(Fraction(0))
    following = _from_turn(rho, last.floats(), float(turn()))

    def by_divergence(event: Event) -> bool:
        # h has no slope at 0, and h'' falls for u ≥ 0 where p ≥ 1/2: it is at most h''(0) ≤ 0
        return (
            certainly(event.theta >= 0)
            and certainly(event.spread(arb(0)) <= ball(rho))
            and _is_lower(event)
        )

    def by_order(event: Event) -> bool:
        # h(u) = log E_P e^{uL} - ρu(u+1) vanishes at 0, and with its slope at this u. It is
        # concave, then convex, then concave, and without the first part if p ≥ 1/2. If it falls at
        # 0, or if p ≥ 1/2, this u cannot be where it is convex: it is where h has its maximum
        own = event.untilted()
        falls = certainly(own.theta >= 0) or certainly(own.spread(arb(1)) <= ball(rho))
        return certainly(event.tilt > 0) and falls and _is_lower(own)

    arcs = _Arc(leading, by_divergence), _Arc(following, by_order)
    pieces = (
        Piece(Fraction(0), first.formula),
        Piece(ends, arcs[0].formula, by_chords=True),
        Piece(turn, arcs[1].formula, by_chords=True),
    )
    return Boundary(pieces, (None, *arcs))


def _from_turn(rho: Fraction, turn: FloatEvent, at: float) -> Track:
    """Follow the arc of ρ-zCDP on which the order rises from 1."""
    # Newton's method wants u > 0: the first step is one in u, not in ε
    tilt = Fraction(_FIRST_TILT / max(1.0, float(turn.gap)))
    begin = np.array([float(turn.theta), float(turn.gap)])
    found, settled = solve_floats(bound_at(tilt, rho), begin[:, None], np.zeros(1))
    if not settled.all():
        raise UndecidedError("the boundary of the region was lost where its order leaves 1")
    first = np.array([*found[:, 0], float(tilt)])
    start = float(FloatEvent(*first).epsilon())
    size = float(rho)
    return follow(
        binding_order(rho),
        first,
        start,
        lambda event: np.array([size * event.tilt**2 - _FAR]),
        (at, np.array([*begin, 0.0])),
        lambda eps: _far_out(size, eps),
    )


def _far_out(rho: float, eps: Floats) -> Floats:
    """Return the unknowns where e^{-ρu²} is beyond floats: ε = ρ(2u + 1) - log(1 + 1/u) there."""
    tilt = eps / (2 * rho)
    for _ in range(_FAR_STEPS):
        value = rho * (2 * tilt + 1) - np.log1p(1 / tilt) - eps
        tilt = tilt - value / (2 * rho + 1 / (tilt * (tilt + 1)))
    return np.array([rho * tilt * (tilt + 1), rho * (2 * tilt + 1), tilt])


def _corner_of(bound: Bound, obeys: Check) -> _Corner:
    """Return the corner p + q = 1 of one order: randomized response."""
    equations = corner(bound.tilt, bound.value)
    low, high = 1e-300, 1.0

    def divergence(gap: float) -> float:
        event = FloatEvent(np.array(gap / 2), np.array(gap), np.array(0.0))
        return float(event.divergence(np.array(float(bound.tilt))))

    while divergence(high) < float(bound.value):
        low, high = high, 2 * high
    while high > low * (1 + 1e-12):
        # the divergence grows like the square of a small gap
        middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
        low, high = (middle, high) if divergence(middle) < float(bound.value) else (low, middle)
    return _Corner(equations, np.array([high]), obeys)


def _is_lower(event: Event) -> bool:
    """Whether p + q ≤ 1, for an event seen from P itself."""
    return certainly(2 * event.theta <= event.gap)


# --- finitely many orders ---------------------------------------------------------------------


def renyi_pieces(bounds: tuple[Bound, ...]) -> tuple[Piece, ...]:
    """Return δ(ε) of the class of mechanisms with D_α ≤ ε_α in both orders of the pair.

    Args:
        bounds: at least one, of different orders.

    Raises:
        UndecidedError: if the boundary is lost, as where three orders bind at one point.
    """
    with precision(_BUILD_BITS):
        return _renyi_pieces(bounds)


def _renyi_pieces(bounds: tuple[Bound, ...]) -> tuple[Piece, ...]:
    tilts = np.array([float(one.tilt) for one in bounds])
    values = np.array([float(one.value) for one in bounds])

    def others(*active: int) -> tuple[Bound, ...]:
        return tuple(one for number, one in enumerate(bounds) if number not in active)

    def obeys(left: tuple[Bound, ...]) -> Check:
        def check(event: Event) -> bool:
            spend(_EACH_BIT * working_precision())
            own = event.untilted()
            return _is_lower(own) and all(
                certainly(own.divergence(ball(one.tilt)) <= ball(one.value)) for one in left
            )

        return check

    corners = [_corner_of(one, lambda _: True) for one in bounds]
    number = int(np.argmin([float(one.guess[0]) for one in corners]))
    here = _corner_of(bounds[number], obeys_at_corner(others(number)))
    pieces = [Piece(Fraction(0), here.formula)]
    while True:
        bound, tilt = bounds[number], bounds[number].tilt
        start = here.ends(tilt)
        event = here.floats()
        first = np.array([float(event.theta) + float(tilt) * float(event.gap), float(event.gap)])

        def broken(event: FloatEvent, active: int = number) -> Floats:
            over = event.untilted().divergence(tilts) / values - 1 - _FLOAT_SLACK
            over[active] = -1.0
            return over

        track = follow(single_order(tilt, bound.value), first, float(start()), broken)
        pieces.append(Piece(start, _Arc(track, obeys(others(number))).formula, by_chords=True))
        if track.broken is None:
            return tuple(pieces)
        last = track.unknowns[:, -1]
        guess = np.array([last[0] - float(tilt) * last[1], last[1]])

        def corner_with(other: int, active: int = number, near: Floats = guess) -> _Corner:
            both = ((one.tilt, one.value) for one in (bounds[active], bounds[other]))
            return _Corner(crossing(*both), near, obeys(others(active, other)))

        following, here = _first_to_bind(track.broken, corner_with, bounds, number)
        pieces.append(Piece(here.ends(tilt), here.formula))
        number = following


def _first_to_bind(
    broken: int, corner_with: Callable[[int], _Corner], bounds: Sequence[Bound], active: int
) -> tuple[int, _Corner]:
    """Return the bound that binds next after an active one, and where both do.

    Floats do not tell which of several large orders is the first one: those that are broken where
    another one binds are looked at, with all digits.

    Raises:
        UndecidedError: if none of them is the first.
    """
    left, seen = [broken], {active}
    while left:
        seen.add(other := left.pop(0))
        corner = corner_with(other)
        event = corner.event()
        if corner.is_obeyed(event):
            return other, corner
        own = event.untilted()
        over = [
            (float((own.divergence(ball(one.tilt)) / ball(one.value) - 1).mid()), number)
            for number, one in enumerate(bounds)
            if number not in seen
        ]
        found = [number for size, number in sorted(over, reverse=True) if size > 0]
        left += [one for one in found if one not in left]
    raise UndecidedError("it could not be told which order binds next")


def obeys_at_corner(left: tuple[Bound, ...]) -> Check:
    """Return the check of randomized response against other bounds; p + q = 1 there."""

    def check(event: Event) -> bool:
        return all(certainly(event.divergence(ball(one.tilt)) <= ball(one.value)) for one in left)

    return check
