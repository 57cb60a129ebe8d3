"""Certificates as this library writes them; what they hold is declared by the checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from gdpbridge.certificate.binaries import binary_text
from gdpbridge.errors import InputError, Words
from gdpbridge.files import write_text
from gdpbridge_verify import document, reader, refusal

__all__ = ["SCHEMA", "Certificate", "read", "told"]

T = TypeVar("T")

SCHEMA = document.Schema(name="gdpbridge.certificate", version=1)


@dataclass(frozen=True, kw_only=True)
class Certificate(document.Certificate):
    """A self-contained, checkable claim about a mechanism's μ."""

    def __repr__(self) -> str:
        return f"<Certificate of {self.mechanism.get('kind')}: {len(self.to_json()):,} characters>"

    def to_json(self) -> str:
        """Return the document as JSON text, a line for each cell."""
        return _lines(_without_defaults(self), "\n") + "\n"

    def save(self, path: str | Path) -> None:
        """Write the document to a file, as a whole or not at all."""
        write_text(path, self.to_json())


def _without_defaults(value: object) -> object:
    """Return plain data; what is not said is left out where it need not be said."""
    if isinstance(value, tuple):
        return [_without_defaults(one) for one in value]
    if isinstance(value, Fraction):
        return binary_text(value)
    if not is_dataclass(value):
        return value
    said = [(one.name, getattr(value, one.name), one.default) for one in fields(value)]
    return {
        name: _without_defaults(one)
        for name, one, default in said
        if default is MISSING or one != default
    }


def _lines(value: object, start: str) -> str:
    """Return JSON text in which what holds nothing but texts and numbers is one line."""
    inner = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(inner, list) or not any(isinstance(one, dict | list) for one in inner):
        return json.dumps(value, ensure_ascii=False)
    more = f"{start} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_lines(one, more)}" for name, one in value.items()]
        return f"{{{more}{f',{more}'.join(parts)}{start}}}"
    return f"[{more}{f',{more}'.join(_lines(one, more) for one in inner)}{start}]"


def read(source: Certificate | dict[str, Any] | str | bytes | Path) -> Certificate:
    """Read a certificate from a file (a path), JSON text as bytes, or a parsed document.

    Nothing in it is executed. Documents over 16 MiB, duplicate keys and anything that the schema
    does not know are refused.

    Raises:
        InputError: if it is not a certificate of a known version.
    """
    return told(_read, source)


def _read(source: Certificate | dict[str, Any] | str | bytes | Path) -> Certificate:
    plain: object = source
    if isinstance(source, str | Path):
        plain = reader.parsed(reader.content_of(source))
    elif isinstance(source, bytes):
        plain = reader.parsed(source)
    elif isinstance(source, document.Certificate):
        # a copy with changes was never validated
        plain = _without_defaults(source)
    return reader.read_as(Certificate, plain)


def told(function: Callable[..., T], *arguments: Any) -> T:
    """Return what the checker's function returns, its errors as those of this library.

    Raises:
        InputError: for what is malformed.
    """
    try:
        return function(*arguments)
    except refusal.Malformed as error:
        value = error.value
        shown = Words(value) if isinstance(value, refusal.Words) else value
        raise InputError(error.field, shown, error.allowed) from None
