"""How much work writing a certificate may be: making its evidence, and trying what is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.numeric.effort import MOST_WORK, within
from gdpbridge_verify.refusal import OutOfWork

__all__ = ["TOO_LONG", "first_written"]

TOO_LONG = "the certificate would be too long to check"
T = TypeVar("T")

_WRITTEN = "a certificate that the checker accepts"
_ELSE = "leave it out, or ask for fewer digits"
# of all ways together, each of which may take the work of a question
_ALL = 2 * MOST_WORK


def first_written(ways: Iterable[Callable[[], T]], questions: int = 1) -> T:
    """Return what the first way gives of which the checker is convinced.

    Args:
        ways: they raise OutOfWork, UndecidedError or WorkLimitError where they fail.
        questions: how many are answered, each of which may take as much.

    Raises:
        UndecidedError: why the first one failed, if all do.
    """
    why = ""
    try:
        with within(_WRITTEN, _ELSE, questions * _ALL):
            for way in ways:
                try:
                    with within(_WRITTEN, _ELSE, questions * MOST_WORK):
                        return way()
                except OutOfWork:
                    why = why or TOO_LONG
                except (UndecidedError, WorkLimitError) as error:
                    why = why or str(error)
    except WorkLimitError as error:
        why = why or str(error)
    raise UndecidedError(why)
