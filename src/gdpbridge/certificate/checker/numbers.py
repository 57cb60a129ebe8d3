"""Numbers of a certificate, read exactly, and as a reader sees them."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["about", "binary"]


def binary(text: str) -> Fraction:
    """Return the number that ``0x…p…`` stands for."""
    mantissa, exponent = text.split("p")
    whole, power = int(mantissa, 16), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)


def about(value: Fraction) -> str:
    """Return a number for a reader, of any size."""
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return "a number beyond 1e308"
