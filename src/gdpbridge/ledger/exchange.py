"""A data set's history as a file, which another ledger can import: JSON Lines or CSV.

Each line says in what form it is, and the last one is a seal: how many entries there are, and the
hash of the last. Files of version 0.1.0 have neither; they are read all the same, but whether their
end is missing cannot be told.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, TextIO

from gdpbridge.errors import InputError, Words
from gdpbridge.ledger.entries import FIELD_TYPES, Entry, entry_from

__all__ = ["FORMATS", "Lines", "format_of", "read_entries", "write_entries"]

FORMATS = ("jsonl", "csv")

_ENTRY, _SEAL = "gdpbridge.ledger-entry", "gdpbridge.ledger-seal"
_SEAL_VERSION = 1
# where a seal stands in the columns of an entry
_SEAL_CELLS = {"number": "count", "hash": "head"}
_NAMES = [one.name for one in fields(Entry)]
# no entry is longer: a mechanism has at most a megabyte
_LONGEST_LINE = 4 * 2**20
_FORMULA = "=+-@"
_SCHEMA = re.compile(r"([a-z.-]+)/([1-9][0-9]{0,3})")


def format_of(name: str, given: str | None) -> str:
    """Return the format of a file: what is given, or what its name ends in, or JSON Lines.

    Raises:
        InputError: for another format.
    """
    if given is None:
        return "csv" if name.lower().endswith(".csv") else "jsonl"
    return _checked(given)


def write_entries(entries: Iterable[Entry], file: TextIO, format: str = "jsonl") -> int:
    """Write entries, one a line, with all that their hashes cover, and the seal; return how many.

    Args:
        entries: the entries.
        file: a text file; for CSV opened with ``newline=""``.
        format: "jsonl" or "csv".
    """
    write = _json_writer(file) if _checked(format) == "jsonl" else _csv_writer(file)
    count, head = 0, ""
    for entry in entries:
        count, head = count + 1, entry.hash
        write(_ENTRY, entry.format or 1, entry.document())
    write(_SEAL, _SEAL_VERSION, {"count": count, "head": head})
    return count


def read_entries(file: TextIO, format: str = "jsonl") -> Lines:
    """Return the entries that :func:`write_entries` wrote, one at a time.

    Raises:
        InputError: while they are read, for a line that is no entry, or where the seal is missing
            at the end or is not that of the entries before it.
    """
    return Lines(_json_lines(file) if _checked(format) == "jsonl" else _csv_lines(file))


class Lines(Iterator[Entry]):
    """Entries as they are read.

    Attributes:
        sealed: whether the end of the file was reached, and is its seal.
    """

    def __init__(self, lines: Iterator[tuple[str, int, dict[str, Any]]]) -> None:
        self.sealed = False
        self._lines = lines
        self._number = self._count = 0
        self._head = ""
        self._marked = False

    def __next__(self) -> Entry:
        self._number += 1
        try:
            line = next(self._lines, None)
            if line is None:
                return self._end()
            name, version, document = line
            if self.sealed:
                raise ValueError("something after the seal")
            self._marked |= bool(name)
            if name == _SEAL:
                return self._seal(version, document)
            entry = entry_from(document)
            if name not in ("", _ENTRY) or (name and version != (entry.format or 1)):
                raise ValueError("not a line of an entry")
        except (ValueError, TypeError, KeyError, RecursionError, csv.Error) as error:
            if isinstance(error, InputError):
                raise
            line_number = f"line {self._number}"
            raise InputError(line_number, Words("not an entry"), "an entry of a ledger") from None
        self._count, self._head = self._count + 1, entry.hash
        return entry

    def _seal(self, version: int, document: Mapping[str, Any]) -> Entry:
        if version != _SEAL_VERSION or set(document) != {"count", "head"}:
            raise ValueError("not a seal")
        if (document["count"], document["head"]) != (self._count, self._head):
            raise InputError(
                f"line {self._number}",
                Words("the seal of other entries"),
                "that of those before it: entries are missing or were changed",
            )
        self.sealed = True
        return next(self)

    def _end(self) -> Entry:
        if self._marked and not self.sealed:
            raise InputError.missing(
                f"line {self._number}",
                "what is exported ends with a seal, so that this file was cut off",
            )
        raise StopIteration


def _json_writer(file: TextIO) -> Any:
    def write(name: str, version: int, document: Mapping[str, Any]) -> None:
        schema = {"name": name, "version": version}
        file.write(json.dumps({"schema": schema, **document}, allow_nan=False) + "\n")

    return write


def _csv_writer(file: TextIO) -> Any:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["schema", *_NAMES])

    def write(name: str, version: int, document: Mapping[str, Any]) -> None:
        if name == _SEAL:
            document = {cell: document[field] for cell, field in _SEAL_CELLS.items()}
        cells = [_cell(document.get(field)) for field in _NAMES]
        writer.writerow([f"{name}/{version}", *cells])

    return write


def _short_lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError("too long")
        yield line


def _json_lines(file: TextIO) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for line in _short_lines(file):
        document = json.loads(line, object_pairs_hook=_unique, parse_constant=_refused)
        if not isinstance(document, dict):
            raise ValueError("not an object")
        schema = document.pop("schema", None)
        if schema is None:
            yield "", 0, document
        elif isinstance(schema, dict) and set(schema) == {"name", "version"}:
            yield str(schema["name"]) or "?", schema["version"], document
        else:
            raise ValueError("not a schema")


def _csv_lines(file: TextIO) -> Iterator[tuple[str, int, dict[str, Any]]]:
    rows = csv.reader(_short_lines(file), strict=True)
    names = next(rows, [])
    if len(set(names)) < len(names):
        raise ValueError("a column is there twice")
    marked = names[:1] == ["schema"]
    for row in rows:
        if len(row) != len(names):
            raise ValueError("another number of cells than columns")
        cells = dict(zip(names, row, strict=True))
        if not marked:
            # as version 0.1.0 wrote it
            yield "", 0, {name: _first_value(name, text) for name, text in cells.items()}
            continue
        found = _SCHEMA.fullmatch(cells.pop("schema"))
        if found is None:
            raise ValueError("not a schema")
        values = {name: _value(name, text) for name, text in cells.items()}
        if found[1] == _SEAL:
            if any(values[name] not in (None, "") for name in values.keys() - _SEAL_CELLS):
                raise ValueError("not a seal")
            values = {field: values[cell] for cell, field in _SEAL_CELLS.items()}
        yield found[1], int(found[2]), values


def _cell(value: object) -> str:
    """A value as text: nothing for None and for an empty text, which of the two is by its field."""
    if value is None:
        return ""
    return _safe(value) if isinstance(value, str) else json.dumps(value)


def _safe(text: str) -> str:
    """Text that a spreadsheet does not take for a formula, full-width signs included."""
    first = unicodedata.normalize("NFKC", text.lstrip()[:1]).replace("−", "-")
    return f"'{text}" if text.startswith("'") or first in (*_FORMULA, '"') else text


def _value(name: str, text: str) -> object:
    types = FIELD_TYPES[name]
    if str not in types:
        return None if text == "" else _parsed(text)
    if text == "" and NoneType in types:
        return None
    return text.removeprefix("'")


def _first_value(name: str, text: str) -> object:
    if text == "":
        return None
    if str not in FIELD_TYPES[name] or text.startswith('"'):
        return _parsed(text)
    return text.removeprefix("'")


def _parsed(text: str) -> object:
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refused(name: str) -> object:
    raise ValueError(f"{name} is not a number of JSON")


def _checked(format: str) -> str:
    if format not in FORMATS:
        raise InputError("format", format, " or ".join(FORMATS))
    return format
