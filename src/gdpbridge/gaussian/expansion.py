"""Taylor polynomials of the Gaussian privacy curve on a disc.

δ_μ(ε) is the integral over s ≥ 0 of (1 - e^{-s})·n(ε + s), n the density of a normal law of
variance μ². As |n(x + iy)| = n(x)·e^{y²/2μ²}, |δ_μ(x + iy)| ≤ δ_μ(x)·e^{y²/2μ²} at complex places,
and the same holds of 1 - δ_μ, the integral of min(1, e^{-s})·n(ε + s) over all s.
"""

from __future__ import annotations

from flint import arb, arb_poly, arb_series

from gdpbridge.gaussian.enclosures import guarded, tangent_of
from gdpbridge.numeric.discs import Disc, Entire

__all__ = ["expansion_of"]


def expansion_of(disc: Disc, mu: arb, *, complement: bool) -> Entire:
    """Return δ_μ, or 1 - δ_μ, on a disc, for μ > 0 of small radius."""
    with guarded(disc.middle, mu, disc.count):
        root = 1 / arb(2).sqrt()
        ratio, half, turn = disc.middle / mu, mu / 2, disc.radius / mu * root
        x, y = ((ratio - half) * root, turn), ((ratio + half) * root, turn)
        here, sign = ((-x[0], -turn), 1) if complement else (x, -1)
        near, far = (arb_series(list(one), disc.count).erfc() for one in (here, y))
        power = arb_series([disc.middle, disc.radius], disc.count).exp()
        terms = ((near + sign * power * far) / 2).coeffs()
    edge = disc.middle + disc.reach if complement else disc.middle - disc.reach
    value = tangent_of(edge, mu, complement=complement)[0]
    size = value * ((disc.reach / mu) ** 2 / 2).exp()
    return Entire(arb_poly(terms), size)
