"""δ at one ε as a step of a proof, and what shows that it is not smaller."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gdpbridge.certificate.adding import is_by_orders
from gdpbridge.certificate.binaries import binary_text
from gdpbridge.certificate.write_composed import line_of
from gdpbridge.certificate.write_convex import event_at, tangent_event
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.losses.direction import Direction
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.formula import Written
from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.mechanisms.table import Table
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
from gdpbridge.numeric.exact import decimal_text
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction
from gdpbridge_verify import evidence

__all__ = ["below", "place_of"]

_BITS = 256
# so much less than the digits of an answer that it is no matter, and yet to be seen
_EVENT_BITS = 100


def place_of(
    profile: Profile, eps: Fraction, low: Fraction, high: Fraction, loss: ComposedLoss | None = None
) -> evidence.Place:
    """Return δ at an ε as a step of a proof."""
    event, line = below(profile, loss, eps if low else None)
    ends = decimal_text(low), decimal_text(high)
    return evidence.Place(
        at=binary_text(eps), low=ends[0], high=ends[1], event=event, witness_line=line
    )


def below(
    profile: Profile, loss: ComposedLoss | None, eps: Fraction | None
) -> tuple[evidence.Event | None, evidence.WitnessLine | None]:
    """Return what shows that δ is not smaller."""
    event, line = None, None
    if eps is not None and isinstance(profile, Table | TradeoffFunction):
        with precision(2 * _BITS):
            event = event_at(profile.curve, eps, _BITS)
    if eps is not None and (isinstance(profile, Renyi | Written) or is_by_orders(profile)):
        assert isinstance(profile.curve, SmoothCurve)
        with precision(2 * _BITS):
            event = tangent_event(profile.curve, eps, _EVENT_BITS)
    if eps is not None and loss is not None:
        line = _line_below(loss.directions, eps)
    return event, line


def _line_below(directions: Sequence[Direction], eps: Fraction) -> evidence.WitnessLine | None:
    """Return the line that shows the larger δ."""
    lows = [to_fraction(direction.delta(eps)[0]) for direction in directions]
    backward = max(range(len(lows)), key=lows.__getitem__)
    try:
        shown = directions[backward].stretch(eps).line.evidence
    except (UndecidedError, WorkLimitError):
        return None
    return evidence.WitnessLine(reverse=bool(backward), line=line_of(shown))
