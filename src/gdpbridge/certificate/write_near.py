"""Write the certificate of discrete Gaussian noise that is nearly one Gaussian mechanism."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.write_closed import directions_of_formula
from gdpbridge.certificate.write_discrete import above
from gdpbridge.errors import UndecidedError
from gdpbridge.losses.near_gaussian import nearness
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_text
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge_verify.document import Range

__all__ = ["with_nearness"]

_BITS = 96

# by how much ends may be off what was measured, as shares of M - μ: the checker's bound is its own
_WIDER = tuple(map(Fraction, ("0", "1/20", "1/4", "1", "4", "16")))


def with_nearness(bare: Certificate, profile: Profile) -> Certificate:
    """Return a certificate that needs no evidence: the checker bounds the difference by itself.

    Raises:
        UndecidedError: if it does not come close to what was measured.
    """
    near, claim = nearness(profile.privacy_losses()), bare.claim
    largest = None if near is None else near.largest()
    if near is None or largest is None:
        raise UndecidedError("the noise is not near to Gaussian noise")
    with precision(_BITS):
        least = to_fraction(ball(near.variance).sqrt().lower())
    gap, low = largest - least, Fraction(claim.mu.low)
    evidence = replace(bare.evidence, directions=directions_of_formula(), tail_from=None)
    high = max(Fraction(claim.mu.high), largest)
    if by_tail := claim.statement == "whole":
        # δ itself would have to be known more closely to show any more
        evidence, low = replace(evidence, witness="tail"), min(low, least)
    for wider in _WIDER:
        off = wider * gap
        mu = Range(
            low=_text(low - (0 if by_tail else off), claim.mu.low, up=False),
            high=_text(high + off, claim.mu.high),
        )
        failure = claim.failure_probability
        if claim.statement == "head":
            # δ(ε_h) is bounded in the checker's own way, too
            failure = above(failure, wider)
        wide = replace(claim, mu=mu, failure_probability=failure)
        found = replace(bare, claim=wide, evidence=evidence)
        checker = CellChecker(found)
        if checker.proves_upper() and checker.proves_ends():
            return found
    raise UndecidedError("the checker does not show the noise to be so near to Gaussian noise")


def _text(value: Fraction, like: str, *, up: bool = True) -> str:
    """Round to as many decimals as another text has."""
    scale = 10 ** len(like.partition(".")[2])
    scaled = value * scale
    return decimal_text(Fraction(math.ceil(scaled) if up else max(math.floor(scaled), 0), scale))
