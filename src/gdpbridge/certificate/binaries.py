"""Exact binary numbers as text, for certificates."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["binary_text", "optional_binary_text"]


def binary_text(value: Fraction) -> str:
    """Return a dyadic rational ≥ 0 as a hexadecimal integer times a power of two."""
    exponent = value.denominator.bit_length() - 1
    assert value.denominator == 1 << exponent
    mantissa = value.numerator
    if mantissa and not exponent:
        trailing = (mantissa & -mantissa).bit_length() - 1
        mantissa, exponent = mantissa >> trailing, -trailing
    return f"0x{mantissa:x}p{-exponent:+d}"


def optional_binary_text(value: Fraction | None) -> str | None:
    """Return the text of a number, None for None."""
    return None if value is None else binary_text(value)
