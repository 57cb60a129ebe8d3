"""What a profile δ(ε) is: the mechanism's own, that of a class of mechanisms, or an upper bound."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Nature", "weakest"]


class Nature(StrEnum):
    """What δ(ε) is, the strongest first: it says what the lower end of an interval for μ means."""

    OWN = "own"
    """The mechanism's exact profile."""

    CLASS = "class"
    """At every ε the exact supremum over all mechanisms with the stated guarantee."""

    BOUND = "bound"
    """An upper bound: the mechanism's own profile may be smaller."""

    @property
    def sentence(self) -> str:
        """What δ(ε) is, for a reader."""
        return {
            Nature.OWN: "the mechanism's own, exactly",
            Nature.CLASS: "at every ε the exact supremum over all mechanisms with this guarantee",
            Nature.BOUND: (
                "an upper bound: no smaller μ covers this bound, while the mechanism's own may be "
                "smaller"
            ),
        }[self]

    @property
    def subject(self) -> str:
        """What a μ is the least one of, as words that follow "of" or "from"."""
        return {
            Nature.OWN: "this mechanism",
            Nature.CLASS: "this guarantee",
            Nature.BOUND: "this bound",
        }[self]


def weakest(natures: Iterable[Nature]) -> Nature:
    """Return what is made of profiles of these natures; a mechanism's own if there is none."""
    return max(natures, key=list(Nature).index, default=Nature.OWN)
