"""How a check ends when it does not succeed: any of its functions may raise any of these."""

from __future__ import annotations


class Words(str):
    """What a value is like, where the value itself is not shown."""


class Refused(Exception):
    """A line of the certificate, a path into it, does not hold, for a reason."""

    def __init__(self, line: str, reason: str) -> None:
        self.line, self.reason = line, reason
        super().__init__(f"{line}: {reason}")


class Malformed(ValueError):
    """A field of the document has a value that is not allowed."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field, self.value, self.allowed = field, value, allowed
        super().__init__(f"{field} is {_shown(value)}: must be {allowed}")


class Undecided(Exception):
    """The precision in force does not tell whether a line holds."""


class OutOfWork(Exception):
    """The document would take longer to check than any is allowed to."""


def _shown(value: object) -> str:
    try:
        text = value if isinstance(value, Words) else repr(value)
    except ValueError:
        # Python writes no whole number of over 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."
