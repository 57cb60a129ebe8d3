"""log Γ of positive numbers, for the checker: it falls up to some 1.46 and rises from there."""

from __future__ import annotations

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Interval

# about where it is least, 1.46163214496836234126…, and less than it is there,
# -0.12148629053584960809… (OEIS A030169, A030171)
_BEFORE, _AFTER = mpfr("1.46163"), mpfr("1.46164")
_LEAST = mpfr("-0.121486291")
# microseconds of both ends: by a bit, by the cube of the bits, and how often as many next to 0
_COST, _COST_OF_CUBE = 0.3, 5e-8
_NEXT_TO_0, _MORE = mpfr("0.0625"), 20


def log_gamma(x: Interval) -> Interval:
    """Enclose log Γ; of what may be 0 or less it is everything."""
    of = x.of
    if not x.low > 0:
        return x.everything()
    cost = _COST * of.precision + _COST_OF_CUBE * of.precision**3
    of.work.charge(cost * _MORE if x.low < _NEXT_TO_0 else cost)
    down, up = of.down.lngamma, of.up.lngamma
    if x.low >= _AFTER:
        return Interval(of, down(x.low), up(x.high))
    if x.high <= _BEFORE:
        return Interval(of, down(x.high), up(x.low))
    return Interval(of, _LEAST, max(up(x.low), up(x.high)))
