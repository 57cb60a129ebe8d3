"""Exact binary numbers as text, for certificates."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["binary_below", "binary_text", "is_binary", "optional_binary_text", "shortened"]


def is_binary(value: Fraction) -> bool:
    """Whether a rational number is an integer times a power of two."""
    return value.denominator & (value.denominator - 1) == 0


def binary_below(value: Fraction, bits: int) -> Fraction:
    """Return a number > 0 itself if it is binary, else the next one below it of so many places."""
    if is_binary(value):
        return value
    return shortened(value, bits)


def shortened(value: Fraction, bits: int) -> Fraction:
    """Return the next number below one ≥ 0 that has so many binary places, and so many digits."""
    places = bits + max(value.denominator.bit_length() - value.numerator.bit_length(), 0)
    return Fraction((value.numerator << places) // value.denominator, 1 << places)


def binary_text(value: Fraction) -> str:
    """Return a dyadic rational as a hexadecimal integer times a power of two."""
    exponent = value.denominator.bit_length() - 1
    assert value.denominator == 1 << exponent
    mantissa = abs(value.numerator)
    if mantissa and not exponent:
        trailing = (mantissa & -mantissa).bit_length() - 1
        mantissa, exponent = mantissa >> trailing, -trailing
    return f"{'-' if value < 0 else ''}0x{mantissa:x}p{-exponent:+d}"


def optional_binary_text(value: Fraction | None) -> str | None:
    """Return the text of a number, None for None."""
    return None if value is None else binary_text(value)
