"""The loss of a mechanism on a random sample, from its own: P' = (1 - γ)Q + γP against Q.

A loss L becomes ℓ = log(1 - γ + γe^L), and Q keeps its masses. For add-remove neighbours and
Poisson samples that is the pair of removal, the other way round that of addition (Zhu, Dong and
Wang 2022, theorem 11). Without replacement a run may be as bad either way: the symmetric pair with
the larger profile has these ℓ > 0, their negatives, and 0 for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from gdpbridge.losses.transforms.base import Number, Transform, number_ball
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

__all__ = ["sampled_finite"]

_BITS = 192


def sampled_finite(
    one: FiniteTransform, gamma: Fraction, *, replaced: bool, cut_from: Transform | None = None
) -> FiniteTransform:
    """Return the loss of a sampled mechanism with finitely many losses, the same both ways.

    Args:
        one: the loss without sampling, symmetric.
        gamma: the chance of a record to be in the sample, in (0, 1).
        replaced: whether neighbours differ in a record's values, of samples without replacement.
        cut_from: a loss without end that it is no worse than, of which it is what is not rare: its
            failure bounds what both distributions have besides, and so does that of the sample.
    """

    def moved(loss: Number) -> Number:
        def value() -> arb:
            return (ball(1 - gamma) + ball(gamma) * number_ball(loss).exp()).log()

        return value

    def shared(loss: Number, mass: Number) -> Number:
        # P' has (1 - γ)Q + γP
        return lambda: (
            number_ball(mass) * (ball(gamma) + ball(1 - gamma) * (-number_ball(loss)).exp())
        )

    def failure() -> arb:
        return ball(gamma) * number_ball(one.failure)

    losses = [moved(loss) for loss in one.losses]
    masses = [shared(*pair) for pair in zip(one.losses, one.masses, strict=True)]
    never = gamma * one.failure if isinstance(one.failure, Fraction) else failure
    if cut_from is not None:
        never = one.failure
    if replaced:
        with precision(_BITS):
            first = next(k for k, y in enumerate(one.losses) if certainly(number_ball(y) > 0))
        found = _both_ways(losses[first:], masses[first:], never)
        found.cut_from = cut_from
        return found
    if cut_from is not None:
        return FiniteTransform(
            losses, masses, failure=never, reverse_failure=never, cut_from=cut_from
        )
    if one.reverse_failure:
        # where p is 0, P' has (1 - γ)Q
        def rest() -> arb:
            return ball(1 - gamma) * number_ball(one.reverse_failure)

        losses.insert(0, lambda: ball(1 - gamma).log())
        masses.insert(0, rest)
    return FiniteTransform(losses, masses, failure=never)


def _both_ways(
    losses: Sequence[Number], masses: Sequence[Number], failure: Number
) -> FiniteTransform:
    """Return a symmetric loss with some positive losses, and 0 for what is left."""

    def minus(loss: Number) -> Callable[[], arb]:
        return lambda: -number_ball(loss)

    def mirrored(loss: Number, mass: Number) -> Callable[[], arb]:
        return lambda: number_ball(mass) * (-number_ball(loss)).exp()

    pairs = list(zip(losses, masses, strict=True))
    below = [mirrored(*pair) for pair in pairs]

    def rest() -> arb:
        both = [number_ball(mass) for mass in (*masses, *below)]
        return 1 - number_ball(failure) - sum(both, arb(0))

    return FiniteTransform(
        [*(minus(loss) for loss in reversed(losses)), Fraction(0), *losses],
        [*reversed(below), rest, *masses],
        failure=failure,
        reverse_failure=failure,
        symmetric=True,
        # one loss and its negative are on a lattice of their own
        spacing=losses[0] if len(losses) == 1 else None,
        places=(-1, 0, 1) if len(losses) == 1 else None,
    )
