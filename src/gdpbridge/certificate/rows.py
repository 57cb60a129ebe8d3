"""The rows that a certificate holds of a table or a trade-off function, or its file by its hash."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.mechanisms.table import Table
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
from gdpbridge.numeric.exact import rational_text
from gdpbridge_verify import evidence
from gdpbridge_verify.reader import MAX_BYTES
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.rows import rows_of_file

__all__ = ["rows_of"]

# a document with more is no longer one to look into: its file is, where it is a plain one
_MOST_INSIDE = 1000
_DELIMITERS: tuple[evidence.Delimiter, ...] = (",", "\t", ";")
_MOST_HEADERS, _MOST_FIELDS = 3, 6

_Rows = tuple[tuple[str, ...], ...]
# bytes by which it is seen where the numbers stand
_LOOKED_AT = 500


def rows_of(
    profile: Renyi | Table | TradeoffFunction,
) -> tuple[evidence.Table, tuple[int, ...] | None]:
    """Return the rows, the file where they stay in it, and of a table the numbers of corners."""
    if isinstance(profile, Renyi):
        bounds = tuple((_text(1 + one.tilt), _text(one.value)) for one in profile.bounds)
        return evidence.Table(columns=("alpha", "epsilon"), rows=bounds), None
    if isinstance(profile, TradeoffFunction):
        pairs = tuple((_text(a), _text(b)) for a, b in profile.points)
        return evidence.Table(columns=("alpha", "beta"), rows=pairs), None
    second: evidence.Column = "log_delta" if profile.is_log else "delta"
    rows: _Rows = tuple((_text(eps), _text(delta)) for eps, delta in profile.exact_rows)
    inside = evidence.Table(columns=("eps", second), rows=rows)
    if profile.file and len(rows) > _MOST_INSIDE:
        beside = _beside(Path(profile.file), inside)
        if beside is not None:
            inside, rows = replace(beside[0], rows=beside[1]), beside[1]
    return inside, _numbers(profile, rows)


def _text(value: Fraction | None) -> str:
    return "-inf" if value is None else rational_text(value)


def _exact(row: tuple[str, ...]) -> tuple[Fraction, Fraction | None]:
    eps, delta = row
    return Fraction(eps), None if delta == "-inf" else Fraction(delta)


def _numbers(profile: Table, rows: _Rows) -> tuple[int, ...]:
    places = {_exact(row): number for number, row in enumerate(rows)}
    return tuple(places[corner] for corner in profile.exact_corners)


def _beside(path: Path, inside: evidence.Table) -> tuple[evidence.Table, _Rows] | None:
    """Say how the rows stand in their file, if that can be said simply."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    assert inside.rows is not None
    wanted = {_exact(row) for row in inside.rows}
    start = content[: content.find(b"\n", _LOOKED_AT) + 1] or content
    shapes = product(_DELIMITERS, range(_MOST_HEADERS), range(_MOST_FIELDS), range(_MOST_FIELDS))
    for delimiter, header, first, second in shapes:
        table = evidence.Table(
            columns=inside.columns,
            rows=None,
            file=path.name,
            sha256=hashlib.sha256(content).hexdigest(),
            delimiter=delimiter,
            header=header,
            fields=(first, second),
        )
        try:
            if {_exact(row) for row in rows_of_file(table, start)} <= wanted:
                rows = rows_of_file(table, content)
                if wanted <= {_exact(row) for row in rows}:
                    return table, rows
        except Malformed:
            continue
    return None
