"""What the checker knows of a mechanism's δ far out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.decay import Decay
from gdpbridge_verify.kinds import Nature


@dataclass(frozen=True)
class Tail:
    """What is known of δ far out."""

    why: str  # a sentence on it
    square: Fraction | Interval | None = Fraction(0)  # μ_t², None if no finite μ covers every ε
    vanishes_from: Fraction | Interval | None = None  # δ = 0 from here on
    floor: Fraction | Interval = Fraction(0)  # what δ never falls below
    floor_from: Fraction | None = None  # and is from here on
    decay: Decay | None = None  # how it falls like a Gaussian
    curve: Fraction | None = None  # μ² of a Gaussian curve that δ is nowhere above
    is_curve: bool = True  # whether it is that curve
    nature: Nature | None = None  # where it is not the same for all of the kind
    known: bool = True  # whether anything is known of it

    @classmethod
    def ends(cls, at: Fraction | Interval | None) -> Tail:
        """δ is 0 from some ε on."""
        return cls("δ is 0 from some ε on", vanishes_from=at)

    @classmethod
    def constant(
        cls, floor: Fraction | Interval, start: Fraction | None = None, nature: Nature | None = None
    ) -> Tail:
        """δ never falls below a number above 0, which it is from a start on, if that is known."""
        least = float(floor.low if isinstance(floor, Interval) else floor)
        return cls(f"δ never falls below {least:g}", None, None, floor, start, nature=nature)

    @classmethod
    def slow(cls) -> Tail:
        """δ falls no faster than exponentially."""
        return cls("δ falls no faster than exponentially", square=None)

    @classmethod
    def gaussian(cls, square: Fraction | Interval, decay: Decay | None) -> Tail:
        """δ falls as that of a Gaussian mechanism with μ_t."""
        return cls("log δ falls like -ε²", square=square, decay=decay)
