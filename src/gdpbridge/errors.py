"""The errors this library raises, each carrying its data as fields.

Every error is a :class:`GdpBridgeError`; bad input is also a ``ValueError``, so that
code that knows nothing of this library catches it as it would any other bad value.
"""

from __future__ import annotations

from collections.abc import Mapping


class GdpBridgeError(Exception):
    """Base of every error raised on purpose."""


class InputError(GdpBridgeError, ValueError):
    """A value that is not allowed.

    Attributes:
        field: the name of the offending argument, as the user wrote it.
        value: the value received.
        allowed: what would have been accepted, as words that follow "must be".
        masked: whether something that must not be shown is left out of the value, so that it is
            not what was typed.
    """

    def __init__(self, field: str, value: object, allowed: str, *, masked: bool = False) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed
        self.masked = masked
        super().__init__(f"{field} is {_shown(value)}: must be {allowed}")


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
    """Nothing could be proved either way within the stated precision or cell cap."""


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
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:
        # Python writes no whole number of over 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."
