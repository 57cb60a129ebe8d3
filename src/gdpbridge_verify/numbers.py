"""Numbers of a certificate: how they are written, read exactly, and as a reader sees them.

Decimals are for what people state (parameters, claims), binary numbers such as ``0x18p-4``
(hexadecimal integer, power of two) for points of the proof.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from gdpbridge_verify.reader import Text
from gdpbridge_verify.refusal import Malformed, Refused

MAX_MU = Fraction(10) ** 6


def binary(text: str) -> Fraction:
    """Return the number that ``0x…p…`` or ``-0x…p…`` stands for."""
    mantissa, exponent = text.split("p")
    whole, power = int(mantissa, 16), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)


DECIMAL_PATTERN = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?"
Decimal = Annotated[str, Text("an exact decimal number", 400, DECIMAL_PATTERN)]
# infinity is what a claim says where no finite μ holds
MuDecimal = Annotated[str, Text("an exact decimal number, or inf", 400, f"{DECIMAL_PATTERN}|inf")]
_BINARY = r"0x[0-9a-f]+p[+-][0-9]{1,4}"
_EXACT = "an exact number: hexadecimal integer times a power of two"
_SIGNED = "an exact number of either sign: hexadecimal integer times a power of two"
Binary = Annotated[str, Text(_EXACT, 8192, _BINARY)]
SignedBinary = Annotated[str, Text(_SIGNED, 8192, f"-?{_BINARY}")]
# those of lines are read as numbers at once
Exact = Annotated[Fraction, Text(_EXACT, 8192, _BINARY, binary)]
SignedExact = Annotated[Fraction, Text(_SIGNED, 8192, f"-?{_BINARY}", binary)]


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
