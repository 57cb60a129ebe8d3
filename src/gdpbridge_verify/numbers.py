"""Numbers of a certificate, read exactly, and as a reader sees them."""

from __future__ import annotations

from fractions import Fraction

from gmpy2 import get_exp, mpfr

from gdpbridge_verify.refusal import Malformed, Refused, Undecided

MAX_MU = Fraction(10) ** 6
_MOST_BITS = 1 << 20


def binary(text: str) -> Fraction:
    """Return the number that ``0x…p…`` stands for."""
    mantissa, exponent = text.split("p")
    whole, power = int(mantissa, 16), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)


def signed(text: str) -> Fraction:
    """Return the number that ``-0x…p…`` or ``0x…p…`` stands for."""
    return -binary(text[1:]) if text.startswith("-") else binary(text)


def exact(value: mpfr) -> Fraction:
    """Return the number that an MPFR number is, if that is finite, and not of millions of bits."""
    if not value.is_finite() or abs(get_exp(value)) > _MOST_BITS:
        raise Undecided("a number without bounds")
    top, bottom = value.as_integer_ratio()
    return Fraction(int(top), int(bottom))


def about(value: Fraction) -> str:
    """Return a number for a reader, of any size."""
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return "a number beyond 1e308"


def mu_range(line: str, low: str, high: str) -> tuple[Fraction | None, Fraction | None]:
    """Return the ends of an interval for a μ, None standing for infinity."""
    ends = [None if end == "inf" else Fraction(end) for end in (low, high)]
    if any(end is not None and end > MAX_MU for end in ends):
        raise Malformed(line, f"[{low}, {high}]", f"at most {float(MAX_MU):g}, or inf")
    if ends[1] is not None and (ends[0] is None or ends[0] > ends[1]):
        raise Refused(line, f"its lower end {low} is above its upper end {high}")
    return ends[0], ends[1]
