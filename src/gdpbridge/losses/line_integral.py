"""Composed privacy losses, proved: δ(ε) of a sequence of mechanisms by integrals along lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from fractions import Fraction

from flint import arb

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.moments import Moments, Part
from gdpbridge.losses.rare import rare_direction, rare_direction_at
from gdpbridge.losses.roots import least_epsilon
from gdpbridge.losses.split import can_be_split
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.effort import MOST_WORK, within
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["DEFAULT_DIGITS", "ComposedLoss", "delta_of", "epsilon_of"]

DEFAULT_DIGITS = 12
# nodes of a line up to which nothing has to be split off
_FEW_NODES = 512
# what one δ may take, of a question
_MOST_WORK = MOST_WORK // 2


class ComposedLoss:
    """The privacy loss of mechanisms run one after the other, also adaptively.

    δ is the larger one of both directions: of parts whose pairs are symmetric, or have one
    direction in common, as those of adding or removing a record.

    Args:
        parts: the mechanisms and how often each is run, at least one.
        digits: relative digits of δ, or of 1 - δ where that is smaller.
    """

    def __init__(self, parts: Sequence[Part], digits: int = DEFAULT_DIGITS) -> None:
        self.parts, self.digits = tuple(parts), digits
        both = [
            Moments([part.factor(backward=backward) for part in self.parts])
            for backward in (False, True)
        ]
        self._one_pair = one_pair = all(part.reverse is None for part in self.parts)
        symmetric = all(part.symmetric for part in self.parts)
        self.directions = tuple(
            Direction(moments, opposite if one_pair else None, digits)
            for moments, opposite in list(zip(both, reversed(both), strict=True))[: 2 - symmetric]
        )

    def to(self, digits: int, floor: float = -math.inf) -> ComposedLoss:
        """Return the same to other digits; what is known of its transforms serves both.

        Args:
            digits: relative digits of δ, or of 1 - δ where that is smaller.
            floor: log of a δ - p_∞ below which they are digits of the floor.
        """
        if digits == self.digits and floor == -math.inf:
            return self
        found = copy(self)
        found.digits = digits
        found.directions = tuple(one.to(digits, floor) for one in self.directions)
        return found

    def shown(self) -> ComposedLoss:
        """Return the same with lines as a certificate has them."""
        found = copy(self)
        found.directions = tuple(one.shown(self.digits) for one in self.directions)
        return found

    def whole(self) -> ComposedLoss:
        """Return the same with such lines of the whole law alone."""
        found = copy(self)
        found.directions = tuple(one.whole(self.digits) for one in self.directions)
        return found

    def delta(self, eps: Fraction, stop: Fraction | None = None) -> tuple[arb, arb]:
        """Return exact numbers that enclose δ(ε), one below and one above.

        Args:
            eps: ε, of any sign.
            stop: a larger ε up to which others will be asked for.
        """
        try:
            with within("δ", "it is bounded without a line", _MOST_WORK):
                return self._by_lines(eps, stop)
        except WorkLimitError:
            return self._without_lines(eps)

    def _without_lines(self, eps: Fraction) -> tuple[arb, arb]:
        """Return what is known of δ(ε) with next to no work."""
        with precision(max(one.bits for one in self.directions)):
            ends = [one.without_line(ball(eps)) for one in self.directions]
            low, high = ends[0]
            for below, above in ends[1:]:
                low, high = low.max(below), high.max(above)
            return low, high

    def _by_lines(self, eps: Fraction, stop: Fraction | None) -> tuple[arb, arb]:
        first, *others = self.directions
        low, high = delta_of(first, eps, stop)
        # at 0 it is the total variation distance of both
        for other in others if eps or not self._one_pair else []:
            if not other.is_at_most(eps, low, stop):
                below, above = other.delta(eps, stop)
                # the numbers are exact, and longer than the precision outside
                low = below if certainly(below > low) else low
                high = above if certainly(above > high) else high
        return low, high

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return bounds of the least ε ≥ 0 with δ(ε) ≤ δ, None if there is none.

        Raises:
            UndecidedError: if no line is close enough there.
            WorkLimitError: if one would need too many nodes.
        """
        first, *others = self.directions
        found = epsilon_of(first, delta)
        for other in others:
            if found is None:
                return None
            with precision(other.bits):
                if other.is_at_most(found[0], ball(delta)):
                    continue
            more = epsilon_of(other, delta)
            found = more and (max(found[0], more[0]), max(found[1], more[1]))
        return found


def delta_of(direction: Direction, eps: Fraction, stop: Fraction | None) -> tuple[arb, arb]:
    """Return exact numbers that enclose δ(ε) of one direction.

    Noise is split for one ε alone; ``stop`` is a larger one up to which others will be asked for.
    """
    if can_be_split(direction.moments) and (stop is None or stop <= eps):
        with suppress(UndecidedError, WorkLimitError), _few_nodes(direction):
            direction.stretch(eps)
            return direction.delta(eps)
        with suppress(UndecidedError, WorkLimitError):
            rare = rare_direction_at(direction, eps)
            if rare is not None:
                return rare.delta(eps)
    return direction.delta(eps, stop)


def epsilon_of(direction: Direction, delta: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return ε with δ(ε) > δ, or 0, and ε with δ(ε) ≤ δ of one direction; None for none.

    They are as close as the digits, or as fewer of them where a line would be too much work.

    Raises:
        UndecidedError: if no line is close enough there.
        WorkLimitError: if one would need too many nodes, to few digits even.
    """
    if can_be_split(direction.moments):
        with suppress(UndecidedError, WorkLimitError), _few_nodes(direction):
            return least_epsilon(direction, delta)
        with suppress(UndecidedError, WorkLimitError):
            rare = rare_direction(direction, delta)
            if rare is not None:
                return least_epsilon(rare, delta)
    try:
        return least_epsilon(direction, delta)
    except (UndecidedError, WorkLimitError):
        if direction.coarser is None:
            raise
    return epsilon_of(direction.coarser, delta)


@contextmanager
def _few_nodes(direction: Direction) -> Iterator[None]:
    """Make no line of many nodes."""
    both = direction, direction.coarse
    for one in both:
        one.most_nodes = _FEW_NODES
    try:
        yield
    finally:
        for one in both:
            one.most_nodes = None
