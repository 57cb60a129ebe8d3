"""Taylor polynomials of the Gaussian privacy curve on a disc.

δ_μ(ε) is the integral over s ≥ 0 of (1 - e^{-s})·n(ε + s), n the density of a normal law of
variance μ². As |n(x + iy)| = n(x)·e^{y²/2μ²}, |δ_μ(x + iy)| ≤ δ_μ(x)·e^{y²/2μ²} at complex places,
and the same holds of 1 - δ_μ, the integral of min(1, e^{-s})·n(ε + s) over all s.

With x = ε/μ - μ/2 and y = x + μ, A = Φ(-x) and B = e^ε·Φ(-y) have the derivatives -φ(x)/μ and
B - φ(x)/μ, as φ(x) = e^ε·φ(y): their coefficients follow one after the other.
"""

from __future__ import annotations

import math

from flint import arb, arb_poly, arb_series

from gdpbridge.gaussian.enclosures import guarded, tangent_of
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.discs import Disc, Entire
from gdpbridge.numeric.flint_context import precision, working_precision

__all__ = ["expansion_of"]


def expansion_of(disc: Disc, mu: arb, tilt: arb, *, complement: bool) -> Entire:
    """Return e^{tilt·ε}·δ_μ, or that of 1 - δ_μ, on a disc, for μ > 0 of small radius."""
    terms = _terms(disc, mu, tilt, complement=complement)
    edge = disc.middle + disc.reach if complement else disc.middle - disc.reach
    value = tangent_of(edge, mu, complement=complement)[0]
    size = value * (tilt * disc.middle + abs(tilt) * disc.reach).exp()
    if certainly(tilt < 0) and certainly(tilt > -1) if complement else certainly(tilt > 0):
        # Chernoff's bound
        size = size.min((mu * mu * tilt * (1 + tilt) / 2).exp())
    return Entire(terms, size * ((disc.reach / mu) ** 2 / 2).exp())


def _terms(disc: Disc, mu: arb, tilt: arb, *, complement: bool) -> arb_poly:
    with guarded(disc.middle, mu, disc.count):
        radius, inverse = disc.radius, 1 / mu
        x = disc.middle * inverse - mu / 2
        turn, unit = tilt * radius, radius * inverse
        # what is summed may be larger than the sums by about as much
        lost = sum(abs(float(one)) for one in (turn, turn - x * unit, unit * unit))
        with precision(working_precision() + int(2 * lost / math.log(2)), disc.count):
            start = tilt * disc.middle
            exponent = [start - x * x / 2, turn - x * unit, -unit * unit / 2]
            density = arb_series(exponent, disc.count).exp().coeffs()
            density += [arb(0)] * (disc.count - len(density))
            half, up, root = start.exp() / 2, turn + radius, 1 / arb(2).sqrt()
            scale = unit / (2 * arb.pi()).sqrt()
            near = half * ((-x if complement else x) * root).erfc()
            far = half * disc.middle.exp() * ((x + mu) * root).erfc()
            sign = 1 if complement else -1
            found = [near + sign * far]
            for k, one in enumerate(density[: disc.count - 1], start=1):
                term = scale * one
                near, far = (turn * near + sign * term) / k, (up * far - term) / k
                found.append(near + sign * far)
    return arb_poly(found)
