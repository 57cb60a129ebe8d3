"""What the commands of ``gdpbridge ledger`` share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gdpbridge.cli.output import Output, has_colour, text_width
from gdpbridge.cli.show import as_json_text

if TYPE_CHECKING:
    from gdpbridge.ledger import Ledger, Receipt

__all__ = ["open_ledger", "recorded"]


def open_ledger(url: str | None) -> Ledger:
    """Return the ledger at an address.

    Raises:
        MissingExtraError: without the extra ``ledger``.
    """
    # the database library is slow to load
    from gdpbridge.ledger import Ledger

    return Ledger(url)


def recorded(receipt: Receipt, json: bool) -> Output:
    """Answer with a receipt."""
    from gdpbridge.report.ledger import receipt_document, receipt_text

    if json:
        return Output(as_json_text(receipt_document(receipt)))
    return Output(receipt_text(receipt, text_width(), colour=has_colour(sys.stdout)))
