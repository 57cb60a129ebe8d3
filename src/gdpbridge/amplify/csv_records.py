"""The records of a CSV file as bytes, told apart strictly: what is in doubt is refused.

A quote opens a cell only at its beginning and closes it only at its end (RFC 4180, section 2). A
file that is read more loosely than that, or whose lines end in bare carriage returns, runs several
records together: they would then be drawn together, or be taken for the header and written whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from gdpbridge.amplify.randomness import Chooser
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.numeric.arrays import Indices

__all__ = ["CsvFile"]

_BLOCK = 1 << 22
_MAX_RECORD = 1 << 26
_LINE_FEED, _RETURN, _QUOTE = b'\n\r"'
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = b"\xef\xbb\xbf"
_SEPARATORS = b",;\t|"
_NUMBER = re.compile(rb'\s*"?\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*"?\s*')

Bytes = NDArray[np.uint8]

# how far reading has come, in [0, 1]
Share = Callable[[float], None]


class CsvFile:
    """A CSV file: a record ends at a line's end outside of quotes."""

    def __init__(self, path: Path, header: bool) -> None:
        self._path, self._header = path, header

    def count(self, share: Share) -> int:
        """Return the number of records, the header not counted.

        Raises:
            InputError: for a line that leaves in doubt where a record ends.
        """
        with self._path.open("rb") as file:
            grammar, _ = self._begun(file)
            return sum(records.ends.size for records in grammar.blocks(file, share))

    def copy(self, target: Path, chooser: Chooser, share: Share) -> int:
        """Write the header and the records that are chosen; return their number.

        Raises:
            InputError: as for :meth:`count`.
        """
        written = 0
        with self._path.open("rb") as file, target.open("wb") as out:
            grammar, first = self._begun(file)
            out.write(first if not first or first.endswith(b"\n") else first + b"\n")
            for records in grammar.blocks(file, share):
                mask = chooser.choose(records.ends.size)
                out.writelines(records.chosen(mask))
                written += int(mask.sum())
        return written

    def _begun(self, file: IO[bytes]) -> tuple[_Grammar, bytes]:
        """Return what cells look like in this file, and its header or nothing."""
        if file.peek(2)[:2] in _UTF16:  # type: ignore[attr-defined]
            raise InputError(
                "source", Words("in UTF-16"), "in an encoding that extends ASCII, such as UTF-8"
            )
        grammar = _Grammar()
        if not self._header:
            return grammar, b""
        before = b""
        while line := file.readline(_MAX_RECORD):
            _check_length(len(line), grammar.line)
            if line.strip(b"\r\n" + _MARK):
                grammar.header(line)
                return grammar, before + line
            grammar.line += 1
            before += line
        return grammar, before


class _Grammar:
    """How the records of a file are written, as its first one shows.

    Attributes:
        line: the number of the line that is read next.
    """

    def __init__(self) -> None:
        self.line = 1
        # no byte, as in a file of one column
        self._separator = -1
        self._cells = 0

    def header(self, line: bytes) -> None:
        """Check that a line is the whole of a header, and cannot be a record.

        Raises:
            InputError: if that is in doubt.
        """
        values = np.frombuffer(line, dtype=np.uint8)
        quotes = np.flatnonzero(values == _QUOTE)
        self._learn(line, quotes)
        if quotes.size % 2:
            found = "a quote that is not closed"
            self._refuse(line, int(quotes[-1]), found, "a header of one line")
        self._check(line, np.array([len(line)]))
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\r" in text:
            # within quotes, where some programs see the end of a line all the same
            self._refuse(line, text.index(b"\r"), "a carriage return", "a header of one line")
        marks = _outside(np.flatnonzero(values == self._separator), quotes).tolist()
        for start, stop in zip([-1, *marks], [*marks, len(line)], strict=True):
            cell = line.removeprefix(_MARK) if not marks else line[start + 1 : stop]
            if _NUMBER.fullmatch(cell):
                raise InputError(
                    "source",
                    f"line {self.line}: {cell.decode('latin-1').strip()[:40]}",
                    "headed by the names of its columns, none of them a number, or said to have no "
                    "header: what is taken for one is always written",
                )
        self.line += 1

    def blocks(self, file: IO[bytes], share: Share) -> Iterator[_Records]:
        """Yield the records that follow, some megabytes at a time.

        Raises:
            InputError: for a line that leaves in doubt where a record ends.
        """
        size = os.fstat(file.fileno()).st_size or 1
        pending = b""
        while chunk := file.read(_BLOCK):
            data = pending + chunk
            ends = _record_ends(data)
            last = int(ends[-1]) if ends.size else 0
            pending = data[last:]
            yield self._records(data, ends)
            _check_length(len(pending), self.line)
            share(min(file.tell() / size, 1.0))
        if pending:
            yield self._records(pending, np.array([len(pending)]))

    def _records(self, data: bytes, ends: Indices) -> _Records:
        if not ends.size:
            return _Records.of(data, ends)
        if not self._cells:
            self._learn_first(data, ends)
        self._check(data, ends)
        records = _Records.of(data, ends)
        self._check_cells(data, records)
        self.line += data.count(b"\n", 0, int(ends[-1]))
        return records

    def _learn_first(self, data: bytes, ends: Indices) -> None:
        records = _Records.of(data, ends)
        if records.ends.size:
            first = data[int(records.starts[0]) : int(records.ends[0])]
            quotes = np.flatnonzero(np.frombuffer(first, dtype=np.uint8) == _QUOTE)
            self._learn(first, quotes)

    def _learn(self, first: bytes, quotes: Indices) -> None:
        """Take the separator from the first record, and how many cells it has."""
        values = np.frombuffer(first, dtype=np.uint8)
        counts = {
            mark: _outside(np.flatnonzero(values == mark), quotes).size for mark in _SEPARATORS
        }
        most = max(counts, key=lambda mark: counts[mark])
        self._separator = most if counts[most] else -1
        self._cells = counts[most] + 1

    def _check(self, data: bytes, ends: Indices) -> None:
        """Refuse quotes and line ends that leave in doubt where a record ends."""
        stop = int(ends[-1])
        values = np.frombuffer(data, dtype=np.uint8, count=stop)
        quotes = np.flatnonzero(values == _QUOTE)
        # a neighbour beyond the end is the end of a line
        around = np.concatenate([[_LINE_FEED], values, [_LINE_FEED]])
        opening, closing = quotes[::2], quotes[1::2]
        before, after = around[opening], around[closing + 2]
        begins = (before == _LINE_FEED) | (before == _QUOTE) | (before == self._separator)
        if data.startswith(_MARK):
            begins |= opening == len(_MARK)
        ends_cell = (after == _LINE_FEED) | (after == _QUOTE) | (after == self._separator)
        ends_cell |= (after == _RETURN) & (around[np.minimum(closing + 3, stop + 1)] == _LINE_FEED)
        wrong = np.concatenate([opening[~begins], closing[~ends_cell]])
        if wrong.size:
            self._refuse(data, int(wrong.min()), "a quote inside a cell", _QUOTING)
        if quotes.size % 2:
            self._refuse(data, int(quotes[-1]), "a quote that is never closed", _QUOTING)
        returns = np.flatnonzero(values == _RETURN)
        bare = _outside(returns[around[returns + 2] != _LINE_FEED], quotes)
        if values.size and values[-1] == _RETURN:
            bare = np.append(bare, values.size - 1)
        if bare.size:
            found = "a carriage return without a line feed"
            self._refuse(data, int(bare.min()), found, "lines that end in LF or CR LF")

    def _check_cells(self, data: bytes, records: _Records) -> None:
        if self._separator < 0 or not records.ends.size:
            return
        values = np.frombuffer(data, dtype=np.uint8, count=int(records.ends[-1]))
        quotes = np.flatnonzero(values == _QUOTE)
        marks = _outside(np.flatnonzero(values == self._separator), quotes)
        cells = np.searchsorted(marks, records.ends) - np.searchsorted(marks, records.starts) + 1
        wrong = np.flatnonzero(cells != self._cells)
        if wrong.size:
            at = int(wrong[0])
            found = f"a record of {cells[at]} cell{'s' if cells[at] > 1 else ''}"
            self._refuse(data, int(records.starts[at]), found, f"records of {self._cells} cells")

    def _refuse(self, data: bytes, at: int, found: str, allowed: str) -> NoReturn:
        number = self.line + data.count(b"\n", 0, at)
        raise InputError("source", f"line {number}: {found}", f"CSV with {allowed}")


_QUOTING = "quotes about whole cells only, and two for one inside"


@dataclass(frozen=True)
class _Records:
    """Records within some bytes: where each begins and ends."""

    data: bytes
    starts: Indices
    ends: Indices

    @classmethod
    def of(cls, data: bytes, ends: Indices) -> _Records:
        """Leave out the blank ones of adjacent records."""
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])[:-1]
        # of one or two bytes, of which the first is the end of a line
        first = np.frombuffer(data, dtype=np.uint8)[starts]
        blank = (first == _LINE_FEED) | ((first == _RETURN) & (ends - starts == 2))
        return cls(data, starts[~blank], ends[~blank])

    def chosen(self, mask: NDArray[np.bool_]) -> Iterator[bytes]:
        """Return some of them."""
        for start, end in zip(self.starts[mask].tolist(), self.ends[mask].tolist(), strict=True):
            yield self.data[start:end]


def _record_ends(data: bytes) -> Indices:
    """Return where records end: behind line feeds outside of quotes."""
    values = np.frombuffer(data, dtype=np.uint8)
    return _outside(
        np.flatnonzero(values == _LINE_FEED), np.flatnonzero(values == _QUOTE)
    ) + np.int64(1)


def _outside(places: Indices, quotes: Indices) -> Indices:
    """Return those with an even number of quotes before them."""
    if not quotes.size:
        return places
    outside: Indices = places[np.searchsorted(quotes, places) % 2 == 0]
    return outside


def _check_length(length: int, line: int) -> None:
    if length >= _MAX_RECORD:
        raise InputError(
            "source",
            Words("a record with an open quote or no end"),
            Advice(
                f"the record that begins in line {line} is longer than {_MAX_RECORD >> 20} MiB: a "
                "quote may be open"
            ),
        )
