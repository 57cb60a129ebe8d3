"""Where the head ends: from which ε on a Gaussian decay proves δ ≤ δ_μ for good."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from gdpbridge.curves.constants import Constant
from gdpbridge.errors import UndecidedError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.numeric.decide import certainly, with_enough_precision
from gdpbridge.numeric.exact import digits_of
from gdpbridge.numeric.kinds import BALLS, to_fraction

__all__ = ["decay_handover"]

# at least, and more for each digit asked for: what an ε and a μ this close need
_BITS, _BITS_A_DIGIT = 256, 4
_MAX_EPS = arb(2) ** 60
_TIGHTENING_STEPS = 8


def decay_handover(
    log_factor: Constant,
    width: Constant,
    start: Constant,
    linear: Constant,
    *,
    largest: Callable[[], arb],
    tol: Fraction,
) -> tuple[Fraction, Fraction, Fraction]:
    """Find where log δ ≤ log B + κε - ε²/(2w²), from ``start`` on, stays below log δ_μ.

    Let μ ≥ w, and y = ε/μ + μ/2. The elementary lower bound of log δ_μ exceeds the bound of log δ
    by a difference whose derivative, ε(1/w² - 1/μ²) + 1/2 - κ - 2y/(μ(y² + 3)), is positive for
    good as soon as ε(1/w² - 1/μ²) + 1/2 - κ is at least 2/(μy): one inequality at one ε proves
    the whole tail.

    Args:
        log_factor: log B.
        width: w, positive.
        start: where the bound begins to hold.
        linear: κ, at most 1/2.
        largest: gives a lower bound of sup G at the working precision.
        tol: the width of the interval for μ that is wanted.

    Returns:
        That ε, a lower bound of the width w, and μ.

    Raises:
        UndecidedError: if no such ε was found.
    """

    def found() -> tuple[Fraction, Fraction, Fraction]:
        w = BALLS.constant(width)
        mu = w.upper().max(largest())
        spread = 1 / (w * w) - 1 / (mu * mu)
        kappa = BALLS.constant(linear)
        slack = arb(1) / 2 - kappa
        first = BALLS.constant(start).upper()

        def holds(eps: arb) -> bool:
            bound = BALLS.constant(log_factor) + kappa * eps
            bound -= eps * eps / (2 * w * w)
            growing = certainly(slack + eps * spread >= 2 / (eps + mu * mu / 2))
            return growing and certainly(gaussian.log_delta_tail_lower(eps, mu) >= bound)

        low, high = first, first.max(arb(1))
        while not holds(high):
            low, high = high, 2 * high
            if certainly(high > _MAX_EPS):
                raise UndecidedError("the tail could not be shown to lie below a Gaussian curve")
        for _ in range(_TIGHTENING_STEPS):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if holds(middle) else (middle, high)
        return to_fraction(high), to_fraction(w.lower()), to_fraction(mu)

    return with_enough_precision(_BITS + _BITS_A_DIGIT * digits_of(tol), found)
