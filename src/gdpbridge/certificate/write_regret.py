"""Write the regret of stating a μ into its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from gdpbridge.certificate.adding import rho_of
from gdpbridge.certificate.binaries import binary_text
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.tangents import TangentsOf, bounds_of, is_of_divergences
from gdpbridge.certificate.write_places import place_of
from gdpbridge.certificate.write_zcdp import tangents_at
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.boundary import zcdp_boundary
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, decimal_text, exact
from gdpbridge_verify import evidence
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import OutOfWork

__all__ = ["with_regret"]

_DIGITS, _SHOWN, _BITS = 15, 6, 256
# by how much, relative, δ is wider than in floats, and the regret than what they come to
_WIDER = (Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**7), Fraction(1, 10**5))
_ROOM = Fraction(1, 10**6)


def with_regret(
    written: Certificate,
    profile: Profile,
    low: float,
    high: float,
    worst: float,
    points: Sequence[tuple[float, float, float]],
) -> Certificate:
    """Return a certificate of μ with the regret of stating it.

    Args:
        written: the certificate of μ.
        profile: its mechanism.
        low: the regret, at least, up to rounding.
        high: the regret, at most, likewise.
        worst: the ε at which that is seen.
        points: some ε from 0 on, with the ends of δ there.

    Raises:
        UndecidedError: if the checker cannot be convinced.
    """
    least = Fraction(max(low, 0.0)) * (1 - _ROOM) - _ROOM / 1000
    ends = (
        decimal_text(exact(decimal_floor(max(least, Fraction(0)), _SHOWN))),
        decimal_text(exact(decimal_ceiling(Fraction(high) * (1 + _ROOM) + _ROOM / 1000, _SHOWN))),
    )
    written = replace(
        written, evidence=_with_tangents(written, profile, [worst, *(p[0] for p in points)])
    )
    for wider in (*_WIDER, None):
        # of a bound that need not be convex the lower end alone is shown
        high_text = "1" if wider is None else ends[1]
        answer = evidence.Answer(quantity="regret", at=None, low=ends[0], high=high_text)
        claim = replace(written.claim, answers=(answer,))
        places = (
            ()
            if wider is None
            else [
                place_of(
                    profile,
                    Fraction(eps),
                    exact(decimal_floor(Fraction(max(below, 0.0)) * (1 - wider), _DIGITS)),
                    min(
                        exact(decimal_ceiling(Fraction(above) * (1 + wider), _DIGITS)), Fraction(1)
                    ),
                )
                for eps, below, above in points
            ]
        )
        point = evidence.Point(touch=binary_text(Fraction(worst)), places=tuple(places) or None)
        found = replace(written, claim=claim, evidence=replace(written.evidence, points=(point,)))
        try:
            if CellChecker(found).proves_answers():
                return found
        except OutOfWork:
            break
    raise UndecidedError("the checker could not be convinced of the regret")


def _with_tangents(written: Certificate, profile: Profile, places: Sequence[float]) -> Evidence:
    """Return the evidence with tangents at places, too, of what is bounded by such."""
    found, rho = written.evidence, rho_of(profile)
    at = sorted({Fraction(one) for one in places} - {Fraction(0)})
    if rho is not None:
        more = tangents_at(written, zcdp_boundary(rho), at, _BITS)
    elif is_of_divergences(profile) and isinstance(profile.curve, SmoothCurve):
        known = TangentsOf(profile.curve, bounds_of(profile)[1], _BITS)
        more = known.over(place for one in [Fraction(0), *at] for place in known.places(one))
    else:
        return found
    every = {binary(one.at): one for one in (*more, *(found.tangents or ()))}
    return replace(found, tangents=tuple(every[place] for place in sorted(every)))
