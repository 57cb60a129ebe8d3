"""How much work a question may be: counted, so that it ends at the same place on every machine.

A unit is about what a product of two numbers of 128 bits takes, a tenth of a microsecond. What is
dear says beforehand what it will take; a question that has spent all that it may ends there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gdpbridge.errors import WorkLimitError

__all__ = ["MOST_WORK", "Limit", "PartLimitError", "spend", "what_is_left", "within"]

MOST_WORK = 70_000_000
"""Units of one question: some five seconds."""

_MILLION = 1_000_000


class PartLimitError(WorkLimitError):
    """A step that would be more work than is allowed: the question that needs it says what for."""


class Limit:
    """What a question may take in all, in one part or in several.

    Args:
        asked: the question, as words that "is not found" follows.
        advice: what can be done, as words that end a sentence.
        most: the units that it may take.
    """

    def __init__(self, asked: str, advice: str, most: int = MOST_WORK) -> None:
        self.asked, self.advice, self.most = asked, advice, most
        self.spent = 0

    @contextmanager
    def part(self) -> Iterator[None]:
        """Count what is spent inside.

        Raises:
            WorkLimitError: if it would be more than the question may take, or one step of it is.
        """
        token = _limits.set((*_limits.get(), self))
        try:
            yield
        except PartLimitError as error:
            said = f"{self.asked} is not found: {error}; {self.advice}"
            raise WorkLimitError(said, error.needed, error.limit) from error
        except _SpentError as error:
            if error.limit is not self:
                raise
            raise WorkLimitError(
                f"{self.asked} is not found within the limit of {self.most // _MILLION} million "
                f"operations for one question: {self.advice}",
                error.needed,
                self.most,
            ) from None
        finally:
            _limits.reset(token)


_limits: ContextVar[tuple[Limit, ...]] = ContextVar("limits", default=())


class _SpentError(Exception):
    """A limit was met: nothing that looks for another way out may catch it."""

    def __init__(self, limit: Limit, needed: int) -> None:
        super().__init__(limit.asked)
        self.limit, self.needed = limit, needed


@contextmanager
def within(asked: str, advice: str, most: int = MOST_WORK) -> Iterator[None]:
    """Count the work of a question that has one part; see :class:`Limit`.

    Raises:
        WorkLimitError: if it would be more than it may take.
    """
    with Limit(asked, advice, most).part():
        yield


@contextmanager
def what_is_left(asked: str) -> Iterator[None]:
    """Count the work of a part that can be spared: it ends alone, before the question does.

    Raises:
        WorkLimitError: if it would be more than is left of the question's.
    """
    left = min((limit.most - limit.spent for limit in _limits.get()), default=None)
    if left is None:
        yield
        return
    with Limit(asked, "it can be spared", left).part():
        yield


def spend(units: float) -> None:
    """Say what comes next will take so many units; outside of questions that is of no matter."""
    limits, more = _limits.get(), int(units)
    # what is refused is not done, so that a wider question may go another way
    for limit in reversed(limits):
        if limit.spent + more > limit.most:
            raise _SpentError(limit, limit.spent + more)
    for limit in limits:
        limit.spent += more
