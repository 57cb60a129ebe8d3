"""When a printed value and ours agree, and what becomes of a claim."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from gdpbridge.interval import Interval
from gdpbridge.paper.finding import Claim, Fact, Found, Status, agrees, check
from gdpbridge.paper.record import rounded, shown


@pytest.mark.parametrize(
    ("printed", "low", "high", "same"),
    [
        ("1.80", "1.8009", "1.8010", True),
        ("1.80", "1.8149", "1.8149", True),
        ("1.80", "1.8151", "1.8151", False),
        ("1.80", "1.7849", "1.8", False),
        ("1.80", "1.79", "1.82", False),
        ("2.12", "2.1147", "2.1147", True),
        ("4.76", "4.7311", "4.7312", False),
        ("5.28", "5.5640", "5.5641", False),
        ("10", "9.99", "9.9999", True),
        ("-43", "-42.62", "-42.61", True),
        ("10^-43", "2.43e-43", "2.44e-43", True),
        ("10^-43", "3.1e-43", "3.2e-43", False),
        ("10^-43", "0", "1e-43", False),
        ("10^2", "31.7", "316", True),
        ("10^2", "31.6", "316", False),
        ("0", "0", "0", True),
        ("0.7", "0.70710678", "0.70710679", True),
        ("∞", "Infinity", "Infinity", True),
        ("∞", "5", "Infinity", False),
        ("5", "5", "Infinity", False),
    ],
)
def test_numbers(printed: str, low: str, high: str, same: bool) -> None:
    """Both ends, rounded to as many places, must be within 1 in the last printed digit."""
    assert agrees(printed, Interval(low, high)) is same


@pytest.mark.parametrize(
    ("low", "high", "same"),
    [
        ("1.41421356237", "1.41421356238", True),
        ("1.41421356238", "1.41421356239", False),
        # an interval too wide to tell
        ("1.4", "1.5", False),
        ("1.4", "Infinity", False),
    ],
)
def test_expressions(low: str, high: str, same: bool) -> None:
    """An expression agrees with a narrow interval that holds it."""
    assert agrees(lambda: arb(2).sqrt(), Interval(low, high)) is same


def test_rational_expression() -> None:
    """A rational number agrees with itself."""
    assert agrees(Fraction(1, 3), Interval("0.333333333333", "0.333333333334"))


@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("ours", [True, False])
def test_truth(printed: bool, ours: bool) -> None:
    """A statement agrees if both say the same; a number never agrees with a statement."""
    assert agrees(printed, ours) is (printed == ours)
    assert not agrees(printed, Interval(1, 1))
    assert not agrees("1", ours)


def test_not_a_number() -> None:
    """A printed text that stands for nothing is an error, not a disagreement."""
    with pytest.raises(ValueError, match="not a number as printed"):
        agrees("1,80", Interval(1, 2))


FACT = (Fact("why", 1.0),)


@pytest.mark.parametrize(
    ("printed", "value", "found", "status"),
    [
        ("1.80", "", Found(Interval("1.8", "1.81"), FACT, "wrong"), Status.AGREES),
        ("1.90", "", Found(Interval("1.8", "1.81"), FACT, "wrong"), Status.FLAGGED),
        # without figures, or where they show nothing, it is a failure
        ("1.90", "", Found(Interval("1.8", "1.81"), (), "wrong"), Status.DISAGREES),
        ("1.90", "", Found(Interval("1.8", "1.81"), FACT), Status.DISAGREES),
        ("yes", True, Found(False), Status.DISAGREES),
        ("10^-43", "", Found(Interval("2.4e-43", "2.5e-43")), Status.AGREES),
        ("1/2", "0.5", Found(Interval("0.5", "0.5")), Status.AGREES),
        ("left open", None, Found(True), Status.ANSWERED),
    ],
)
def test_status(printed: str, value: str | bool | None, found: Found, status: Status) -> None:
    """What does not agree is flagged only with figures that show the paper to be wrong."""
    finding = check(Claim("name", "where", "what", printed, lambda: found, value))
    assert finding.status is status
    assert finding.wrong == ("wrong" if status is Status.FLAGGED else "")
    assert finding.ours == found.value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        ("words", "words"),
        (1779, "1,779"),
        (1.25, "1.25"),
        (1.5e-16, "1.50000·10⁻¹⁶"),
        (Interval("Infinity", "Infinity"), "∞"),
        (Interval(32, 32), "32"),
        (Interval("1.80090519327", "1.80090519378"), "1.80090519…"),
        (Interval("3.1049", "3.1051"), "3.10…"),
        (Interval("5.48911547e-85", "5.48911548e-85"), "5.48912·10⁻⁸⁵"),
        (Interval("1.39e88", "1.39e88"), "1.39000·10⁸⁸"),
        (Interval("9.9", "10.1"), "[9.90, 10.10]"),
    ],
)
def test_shown(value: Interval | bool | float | int | str, text: str) -> None:
    """A reader sees certain digits, at most eight places, and powers of ten where they help."""
    assert shown(value) == text


@pytest.mark.parametrize(
    ("printed", "low", "high", "text"),
    [
        ("10", "9.998", "9.999", "10"),
        ("3.1", "3.1049", "3.1049", "3.1"),
        ("5.80", "5.7983", "5.7984", "5.80"),
        # the ends are rounded apart
        ("5.80", "5.7949", "5.7951", "5.79…"),
    ],
)
def test_rounded(printed: str, low: str, high: str, text: str) -> None:
    """Ours is shown to as many places as are printed, where these are certain."""
    assert rounded(Interval(low, high), printed) == text
