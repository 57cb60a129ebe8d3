"""Which of two balls is larger: yes, no, or more precision."""

from __future__ import annotations

import pytest
from flint import arb

from gdpbridge.errors import UndecidedError
from gdpbridge.numeric.decide import (
    MAX_CONSTANT_PRECISION,
    MAX_PRECISION,
    AccurateConstant,
    MorePrecisionError,
    certainly,
    is_above,
    is_below,
    with_enough_precision,
)
from gdpbridge.numeric.flint_context import precision, working_precision

_WIDE = arb(0, 1)


def test_only_what_is_certain_is_certain() -> None:
    """Of two balls that overlap neither is certainly the larger one."""
    assert certainly(arb(2) > arb(1))
    assert not certainly(_WIDE > 0)
    assert not certainly(_WIDE <= 0)
    assert not certainly(arb.nan() > 0)


def test_a_question_is_answered_or_refused() -> None:
    """Yes, no, the same number, and no answer."""
    assert (is_above(arb(2), arb(1)), is_below(arb(2), arb(1))) == (True, False)
    assert (is_above(arb(1), arb(2)), is_below(arb(1), arb(2))) == (False, True)
    assert (is_above(arb(1), arb(1)), is_below(arb(1), arb(1))) == (False, False)
    assert (is_above(arb(1)), is_below(arb(-1))) == (True, True)
    for undecided in (_WIDE, arb.nan()):
        with pytest.raises(MorePrecisionError):
            is_above(undecided)
        with pytest.raises(MorePrecisionError):
            is_below(undecided)


def test_precision_is_raised_until_it_is_enough() -> None:
    """It is doubled from where it begins, and put back."""
    seen = []

    def attempt() -> int:
        seen.append(working_precision())
        if working_precision() < 400:
            raise MorePrecisionError
        return working_precision()

    with precision(77):
        assert with_enough_precision(100, attempt) == 400
        assert working_precision() == 77
    assert seen == [100, 200, 400]


def test_precision_is_raised_up_to_the_cap() -> None:
    """The cap itself is tried, and then nothing is decided; an error of another kind passes."""
    seen = []

    def never() -> None:
        seen.append(working_precision())
        raise MorePrecisionError

    with pytest.raises(UndecidedError, match="in other words"):
        with_enough_precision(64, never, "in other words", most=256)
    assert seen == [64, 128, 256]
    with pytest.raises(UndecidedError, match=f"undecided with {MAX_PRECISION} bits"):
        with_enough_precision(MAX_PRECISION, never)

    def hopeless() -> None:
        raise UndecidedError("no precision helps")

    with pytest.raises(UndecidedError, match="no precision helps"):
        with_enough_precision(64, hopeless)


def _cancelling(exponent: int) -> AccurateConstant:
    return AccurateConstant(lambda: ((1 + arb(-exponent).exp()) - 1) * arb(exponent).exp())


@pytest.mark.parametrize("exponent", [10, 300, 5000])
@pytest.mark.parametrize("bits", [64, 256])
def test_a_constant_is_as_accurate_as_the_precision(exponent: int, bits: int) -> None:
    """However much cancels in it, it keeps all bits but a few, whatever was asked for before."""
    one = _cancelling(exponent)
    with precision(bits):
        for value in (one(), one()):
            assert value.contains(1)
            assert value.rad() < arb(2) ** (16 - bits)
    with precision(2 * bits):
        assert one().rad() < arb(2) ** (16 - 2 * bits)
    with precision(53):
        assert arb(2) ** -60 < one().rad() < arb(2) ** -40


def test_a_constant_that_cancels_altogether_is_enclosed() -> None:
    """√2² - 2 is 0, which no precision tells: it is enclosed as closely as the cap allows."""
    calls = []

    def nothing() -> arb:
        calls.append(working_precision())
        return arb(2).sqrt() ** 2 - 2

    constant = AccurateConstant(nothing)
    with precision(128):
        assert constant().contains(0)
        assert constant().rad() < arb(2) ** -(MAX_CONSTANT_PRECISION // 2 - 8)
    assert max(calls) <= MAX_CONSTANT_PRECISION
    # the last one is kept
    before = len(calls)
    with precision(128):
        constant()
    assert len(calls) == before


def test_a_logarithm_needs_no_more_than_bits_behind_the_point() -> None:
    """log of a number that is 1 but for rounding is near enough 0 at once."""
    calls = []

    def log() -> arb:
        calls.append(working_precision())
        return arb(2).sqrt().log() * 2 - arb(2).log()

    with precision(128):
        value = AccurateConstant(log, is_log=True)()
        assert value.contains(0)
        assert value.rad() < arb(2) ** -118
    assert calls == [128]


def test_a_logarithm_is_not_taken_too_coarsely() -> None:
    """log of a number that cancels is found with all bits behind the point."""

    def log() -> arb:
        return ((1 + arb(-300).exp()) - 1).log()

    with precision(64):
        value = AccurateConstant(log, is_log=True)()
        assert value.contains(-300)
        assert value.rad() < arb(2) ** -48
