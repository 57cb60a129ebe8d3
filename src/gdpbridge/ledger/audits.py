"""The result of an audit as an entry keeps it, beside the release that was audited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import InputError
from gdpbridge.ledger.words import checked_text

if TYPE_CHECKING:
    from gdpbridge.auditing import Audit

__all__ = ["check_audit", "noted_audit"]

_DOCUMENT = "gdpbridge.audit"
_ALLOWED = "an Audit, or the document that gdpbridge audit --json prints"
# numbers, and whether they are probabilities
_NUMBERS = {"mu_low": False, "epsilon_low": False, "delta": True, "confidence": True}
_FIELDS = {*_NUMBERS, "method", "claim", "contradicts", "p_value"}


def noted_audit(found: Audit | Mapping[str, Any]) -> dict[str, Any]:
    """Return what an entry keeps of an audit.

    Raises:
        InputError: for what is neither an audit nor the document of one.
    """
    # what has this method need not be imported to be known
    document = found if isinstance(found, Mapping) else _document(found)
    try:
        schema = document.get("schema", {"name": _DOCUMENT})
        if schema["name"] != _DOCUMENT:
            raise ValueError("the document of something else")
        noted = {
            "mu_low": document["mu"]["low"],
            "epsilon_low": document["epsilon"]["low"],
            **{
                name: document[name]
                for name in ("delta", "confidence", "method", "claim", "contradicts", "p_value")
            },
        }
        check_audit(noted)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError("audit", f"not one ({error})", _ALLOWED) from None
    return noted


def check_audit(noted: object) -> None:
    """Check what an entry keeps of an audit.

    Raises:
        ValueError: if it is not what is kept of one.
    """
    if not isinstance(noted, dict) or set(noted) != _FIELDS:
        raise ValueError("not the fields of an audit")
    for name, is_probability in _NUMBERS.items():
        _check_number(name, noted[name], is_probability)
    checked_text("method", noted["method"])
    if (noted["claim"] is None) != (noted["p_value"] is None):
        raise ValueError("a claim has a p-value, and nothing else has")
    if noted["claim"] is not None:
        checked_text("claim", noted["claim"])
        _check_number("p_value", noted["p_value"], True)
    if type(noted["contradicts"]) is not bool or (noted["contradicts"] and not noted["claim"]):
        raise ValueError("contradicts is not whether a claim is contradicted")


def _document(found: object) -> Mapping[str, Any]:
    to_dict = getattr(found, "to_dict", None)
    if to_dict is None:
        raise InputError("audit", type(found).__name__, _ALLOWED)
    document = to_dict()
    return document if isinstance(document, Mapping) else {}


def _check_number(name: str, value: object, is_probability: bool) -> None:
    if type(value) not in (int, float) or not isinstance(value, int | float):
        raise ValueError(f"{name} is no number")
    if not 0 <= value <= (1 if is_probability else math.inf) or math.isinf(value):
        raise ValueError(f"{name} is outside its range")
