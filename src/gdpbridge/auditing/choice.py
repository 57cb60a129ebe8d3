"""How many canaries to guess in one run: chosen on held-out scores, then played on the others.

The held-out canaries' coins are known when the others are guessed. Given these coins, what is left
is the same mechanism with fewer canaries, and a number of guesses fixed beforehand: the theorems
about one run hold for it as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gdpbridge.auditing.recursion import Guesses
from gdpbridge.auditing.task import Evidence
from gdpbridge.errors import InputError, Words

__all__ = ["MOST_HELD_OUT", "Play", "chosen_play", "fair", "is_rising"]

# more of them would hardly choose better
MOST_HELD_OUT = 50_000
# guesses of one kind as shares of the canaries: few are the better, the more canaries there are;
# a little less than half is for scores that tell all, as members are not exactly half
_SHARES = (0.5, 0.47, 0.43, 0.35, 0.25, 0.18, 0.125, 0.06, 0.03, 0.015, 0.008, 0.004, 0.002, 0.001)
_SHARE_WITHOUT_CHOICE = 0.125
# guessed to be in, guessed to be out
_SIDES = ((1, 1), (1, 0), (0, 1))
# a choice by fewer guesses than that would be one by luck
_LEAST_GUESSES = 3
# members so many standard deviations from the expected number were not drawn by such coins
_DEVIATIONS = 6.0


@dataclass(frozen=True)
class Play:
    """Guesses made by a rule that was chosen on other canaries.

    Attributes:
        guesses: how they went.
        inside: how many canaries were guessed to be in.
        outside: how many were guessed to be out.
        rising: whether high scores were taken for those of members.
    """

    guesses: Guesses
    inside: int
    outside: int
    rising: bool

    @property
    def words(self) -> str:
        """What the attacker achieved."""
        order = "" if self.rising else " (low scores taken for members)"
        return (
            f"{self.guesses.correct} of {self.guesses.made} guesses right: the {self.inside} "
            f"highest scores for in, the {self.outside} lowest for out, of "
            f"{self.guesses.canaries} canaries{order}"
        )


def fair(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Return canaries each of which was in by a fair coin.

    Where each was in with another probability q, some of the more frequent kind are dropped at
    random, so that each that is left was in with probability 1/2, independently.

    Raises:
        InputError: if the number of members is not that of such coins.
    """
    number, q = evidence.members.size, float(evidence.inclusion)
    inside = int(evidence.members.sum())
    if abs(inside - q * number) > _DEVIATIONS * (number * q * (1 - q)) ** 0.5 + 1:
        raise InputError(
            "members",
            Words(f"{inside} in and {number - inside} out"),
            f"about {q:g} of all canaries, each in by a coin of its own, for an audit of one run "
            "(inclusion says with what probability; method 'split' is for independent runs)",
        )
    if evidence.inclusion * 2 == 1:
        return evidence
    ratio = q / (1 - q)
    keep = np.where(evidence.members, min(1.0, 1 / ratio), min(1.0, ratio))
    kept = rng.random(number) < keep
    return Evidence(evidence.scores[kept], evidence.members[kept])


def chosen_play(
    evidence: Evidence,
    value: Callable[[Guesses], float],
    rng: np.random.Generator,
    held_out: float,
) -> Play:
    """Choose the guesses on some canaries, and make them on the others.

    Args:
        evidence: canaries that were in by fair coins.
        value: how good an outcome is; the rule with the best one is chosen.
        rng: for the choice of canaries, and the order of equal scores.
        held_out: the share of canaries to choose on.
    """
    number = evidence.members.size
    order = rng.permutation(number)
    chosen_on = min(max(int(held_out * number), 1), MOST_HELD_OUT)
    first, rest = order[:chosen_on], order[chosen_on:]
    scores, members = evidence.scores[first], evidence.members[first]
    rising = is_rising(scores, members)
    lined_up = _lined_up(scores, members, rising)
    best, rule = -1.0, (_SHARE_WITHOUT_CHOICE, (1, 1))
    for share in _SHARES:
        for sides in _SIDES:
            tried = _played(lined_up, share, sides)
            if tried.made < _LEAST_GUESSES:
                continue
            # as many guesses as there will be, and a little worse than seen
            made = _number(share, rest.size) * sum(sides)
            luck = (tried.correct + 1) / (tried.made + 2)
            found = value(Guesses(int(luck * made), made, rest.size))
            if found > best:
                best, rule = found, (share, sides)
    share, sides = rule
    lined_up = _lined_up(evidence.scores[rest], evidence.members[rest], rising)
    each = _number(share, rest.size)
    return Play(_played(lined_up, share, sides), each * sides[0], each * sides[1], rising)


def is_rising(scores: NDArray[np.float64], members: NDArray[np.bool_]) -> bool:
    """Whether members' scores rank higher, on the whole."""
    if members.all() or not members.any():
        return True
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(times) - times / 2
    ranks = middle[place]
    return bool(ranks[members].mean() >= ranks[~members].mean())


def _lined_up(
    scores: NDArray[np.float64], members: NDArray[np.bool_], rising: bool
) -> NDArray[np.bool_]:
    """Members in the order of their scores; equal scores stay in the random order they have."""
    return members[np.argsort(scores if rising else -scores, kind="stable")]


def _number(share: float, canaries: int) -> int:
    return min(max(int(share * canaries), 1), max(canaries // 2, 1))


def _played(lined_up: NDArray[np.bool_], share: float, sides: tuple[int, int]) -> Guesses:
    size = lined_up.size
    each = _number(share, size)
    inside, outside = (each * side for side in sides)
    if inside + outside > size:
        # one canary cannot be guessed both ways
        outside = size - inside
    correct = int(lined_up[size - inside :].sum()) + int((~lined_up[:outside]).sum())
    return Guesses(correct, inside + outside, size)
