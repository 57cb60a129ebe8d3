"""The rows of a file that a document names."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import replace
from pathlib import Path

from gdpbridge_verify.document import Certificate
from gdpbridge_verify.evidence import Table
from gdpbridge_verify.reader import content_of, read_as
from gdpbridge_verify.refusal import Malformed, Words


def with_rows(document: Certificate, folder: Path) -> Certificate:
    """Return a document with the rows of the file that it names."""
    table = document.table
    if table is None or table.file is None or table.delimiter is None:
        raise Malformed("table", Words("empty"), "rows, or a file with a delimiter")
    content = content_of(folder / table.file, "table.file")
    found = hashlib.sha256(content).hexdigest()
    if found != table.sha256:
        raise Malformed("table.file", found, f"the one whose SHA-256 is {table.sha256}")
    return replace(document, table=replace(table, rows=rows_of_file(table, content)))


def rows_of_file(table: Table, content: bytes) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file as a document would have them."""
    lines = content.decode("utf-8-sig", errors="replace").splitlines()[table.header :]
    filled = (line for line in lines if line.strip())
    fields = csv.reader(filled, delimiter=table.delimiter or ",")
    try:
        rows = [[row[place].strip() for place in table.fields] for row in fields]
    except (IndexError, csv.Error):
        raise Malformed("table.fields", table.fields, "fields of every line") from None
    return read_as(Table, {"columns": table.columns, "rows": rows}, "table").rows or ()
