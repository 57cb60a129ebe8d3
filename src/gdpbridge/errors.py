"""The errors this library raises, each carrying its data as fields.

Every error is a :class:`GdpBridgeError`; bad input is also a ``ValueError``, so that
code that knows nothing of this library catches it as it would any other bad value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class GdpBridgeError(Exception):
    """Base of every error raised on purpose."""

    def __reduce__(self) -> Any:
        # an error from a worker process arrives as it was, whatever its arguments were
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    cls: type[GdpBridgeError], args: tuple[Any, ...], state: dict[str, Any]
) -> GdpBridgeError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class Advice(str):
    """What to do, for an error where "must be" does not fit."""


class _Missing(Advice):
    """What to give, for what is missing."""


class Words(str):
    """What a value is like, where the value itself is not shown; it stands without quotes."""


class Masked(str):
    """A value without what must not be shown of it, such as a password: it stands as it is here."""


class InputError(GdpBridgeError, ValueError):
    """A value that is not allowed.

    The sentence is "FIELD is VALUE: must be ALLOWED", or with an :class:`Advice` "FIELD: ADVICE".

    Attributes:
        field: the name of the offending argument, as the user wrote it.
        value: the value received, or :class:`Words` about it.
        allowed: what would have been accepted, as words that follow "must be", or an advice.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed
        super().__init__(self.told(field, _shown(value)))

    def told(self, field: str, value: str) -> str:
        """Return the sentence with the field and the value as somebody else writes them."""
        if isinstance(self.allowed, _Missing):
            return f"{field} is missing: {self.allowed}"
        if isinstance(self.allowed, Advice):
            return f"{field}: {self.allowed}"
        return f"{field} is {value}: must be {self.allowed}"

    @classmethod
    def missing(cls, field: str, advice: str) -> InputError:
        """Return the error about what is missing: "FIELD is missing: ADVICE"."""
        return cls(field, Words("missing"), _Missing(advice))

    def renamed(self, field: str) -> InputError:
        """Return the same error about the field that somebody else knows it as."""
        return InputError(field, self.value, self.allowed)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is spelt most like a word; empty if none is."""
    # slow to load, and needed for a misspelt name only
    import difflib

    names = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f" (did you mean {names[found[0]]}?)" if found else ""


class WorkLimitError(GdpBridgeError):
    """A request that would need more work than the stated limit.

    Attributes:
        needed: the number of evaluations (or cells) the request would need.
        limit: the stated limit.
    """

    def __init__(self, message: str, needed: int, limit: int) -> None:
        self.needed = needed
        self.limit = limit
        super().__init__(message)


class UndecidedError(GdpBridgeError):
    """Nothing could be proved either way within the stated precision or cell cap.

    Attributes:
        bounds: the :class:`~gdpbridge.Interval` that was found all the same, or None.
    """

    def __init__(self, message: str = "", bounds: Any = None) -> None:
        self.bounds = bounds
        super().__init__(message)


class UndecidedWarning(UserWarning):
    """Some of several questions could not be decided; the others are answered."""


class RefusedError(GdpBridgeError):
    """A request that was understood, and to which the answer is no.

    Attributes:
        field: what of the request does not fit.
        value: its value.
        details: the figures behind the answer, as plain data.
    """

    def __init__(self, message: str, field: str, value: str, details: Mapping[str, object]) -> None:
        self.field = field
        self.value = value
        self.details = dict(details)
        super().__init__(message)


class UnavailableError(GdpBridgeError):
    """Something outside the program, such as a database, that cannot be used now."""


class MissingExtraError(GdpBridgeError, ImportError):
    """An optional dependency that is not installed.

    Attributes:
        extra: the name of the extra to install.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs an extra: pip install 'gdpbridge[{extra}]'")


def _shown(value: object) -> str:
    quoted = isinstance(value, str) and not isinstance(value, Words)
    try:
        text = repr(value) if quoted else str(value)
    except ValueError:
        # Python writes no whole number of over 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."
