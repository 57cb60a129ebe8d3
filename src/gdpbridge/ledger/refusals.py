"""What a ledger refuses, and what keeps it from answering, each with its data as fields."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge.errors import InputError, RefusedError, UnavailableError
from gdpbridge.ledger.amounts import Amount, amount_text, root_ceiling, root_floor
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor

__all__ = [
    "BrokenChainError",
    "BudgetExceededError",
    "BudgetTooLowError",
    "LedgerUnavailableError",
    "UnknownDatasetError",
    "amount_document",
    "amount_words",
    "number_down",
    "number_up",
]

# decimals of so many digits come back from a double as they were
_DIGITS = 15


class BudgetExceededError(RefusedError):
    """A spend that does not fit; nothing was written.

    Attributes:
        dataset: the data set's name.
        asked: what was asked for.
        spent: what is spent, reservations counted.
        left: what is left for such a spend.
        largest_mu: the largest μ that still fits, rounded down.
    """

    def __init__(self, dataset: str, asked: Amount, spent: Amount, left: Amount) -> None:
        self.dataset, self.asked, self.spent, self.left = dataset, asked, spent, left
        self.largest_mu = root_floor(left.square)
        over = [
            name
            for name, is_over in (
                ("μ", asked.square > left.square),
                ("the failure probability", asked.failure > left.failure),
            )
            if is_over
        ]
        super().__init__(
            f"refused: {' and '.join(over)} does not fit the budget of {dataset}: asked "
            f"{amount_words(asked)}; spent {amount_words(spent)}; left "
            f"{amount_words(left, down=True)}, so that the largest μ that fits is "
            f"{_shown(self.largest_mu, down=True)}",
            "budget",
            amount_words(asked),
            {
                "dataset": dataset,
                "asked": amount_document(asked),
                "spent": amount_document(spent),
                "left": amount_document(left, down=True),
                "largest_mu": number_down(self.largest_mu),
            },
        )


class BudgetTooLowError(RefusedError):
    """A budget below what is spent already; nothing was written.

    Attributes:
        dataset: the data set's name.
        asked: the budget that was asked for.
        spent: what is spent, reservations counted.
    """

    def __init__(self, dataset: str, asked: Amount, spent: Amount) -> None:
        self.dataset, self.asked, self.spent = dataset, asked, spent
        super().__init__(
            f"refused: the budget of {dataset} cannot be {amount_words(asked)}: spent is "
            f"{amount_words(spent)}",
            "budget",
            amount_words(asked),
            {
                "dataset": dataset,
                "asked": amount_document(asked),
                "spent": amount_document(spent),
            },
        )


class BrokenChainError(RefusedError):
    """Entries, totals or hashes that do not agree: the database was changed by other means.

    Attributes:
        dataset: the data set's name.
        number: the first entry that is wrong, None where it is not one entry.
        reason: what does not agree.
    """

    def __init__(self, dataset: str, number: int | None, reason: str) -> None:
        self.dataset, self.number, self.reason = dataset, number, reason
        where = f"entry {number} of {dataset}" if number is not None else f"the books of {dataset}"
        super().__init__(
            f"refused: {where} cannot be trusted: {reason}",
            "ledger",
            where,
            {"dataset": dataset, "entry": number},
        )


class LedgerUnavailableError(UnavailableError):
    """A database that cannot be read or written now; what was committed before is safe."""


class UnknownDatasetError(InputError):
    """A data set that the ledger does not have."""

    def __init__(self, name: str, known: list[str]) -> None:
        have = f"one of {', '.join(known)}" if known else "added first with 'dataset add'"
        super().__init__("dataset", name, have)


def amount_words(amount: Amount, *, down: bool = False) -> str:
    """Say an amount: μ as the root of the sum of squares, and p where there is any.

    Args:
        amount: what to say.
        down: whether to round down, as for what is left; up otherwise.
    """
    mu = (root_floor if down else root_ceiling)(amount.square)
    words = f"μ = {_shown(mu, down=down)} (μ² = {_shown(amount.square, down=down)})"
    if amount.failure:
        words += f" with failure probability {_shown(amount.failure, down=down)}"
    return words


def amount_document(amount: Amount, *, down: bool = False) -> dict[str, object]:
    """Return an amount as plain data: numbers on the safe side, and exactly as text.

    Args:
        amount: what to write.
        down: as for :func:`amount_words`.
    """
    number, root = (number_down, root_floor) if down else (number_up, root_ceiling)
    return {
        "mu": number(root(amount.square)),
        "mu_squared": number(amount.square),
        "failure": number(amount.failure),
        "exact": {
            "mu_squared": amount_text(amount.square),
            "failure": amount_text(amount.failure),
        },
    }


def number_up(value: Fraction) -> float:
    """Return a number that prints as at least ``value``, in 15 digits."""
    return float(decimal_ceiling(value, _DIGITS))


def number_down(value: Fraction) -> float:
    """Return a number that prints as at most ``value``, in 15 digits."""
    return float(decimal_floor(value, _DIGITS))


def _shown(value: Fraction, *, down: bool) -> str:
    """An exact amount if it is short, else ten digits on the safe side."""
    if len(text := amount_text(value)) <= 12:
        return text
    return f"{(decimal_floor if down else decimal_ceiling)(value, 10).normalize():g}"
