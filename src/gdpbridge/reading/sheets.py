"""Text files of rows: their encoding, comments and blank lines, and what parts the cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.numeric.arrays import Indices

__all__ = ["Sheet", "decoded", "sheet_of"]

# without these a line is its cells with separators between them
_QUOTING = set('"\r')

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_INDENTED = re.compile(r"\n\s")
# a comment beside numbers, and a first line that names the separator
_BESIDE = re.compile(r"\s#.*")
_SAID = re.compile(r"sep=([\t;,|])", re.IGNORECASE)


@dataclass(frozen=True)
class Sheet:
    """Lines with something on them.

    Attributes:
        text: its lines, without comments and blank lines.
        numbers: the number of each in the file.
        separator: what parts the cells; a space stands for any white space.
        comment: the last comment before the first line, without its mark.
        notes: what was understood, as sentences.
    """

    text: str
    numbers: Indices
    separator: str
    comment: str
    notes: tuple[str, ...]

    @property
    def head(self) -> str:
        """The first line."""
        return self.text.partition("\n")[0]

    def below(self, first: int) -> str:
        """Return the text without its first line, or with it for 0."""
        return self.text.partition("\n")[2] if first else self.text


def decoded(data: bytes, encoding: str | None) -> str:
    """Return the text of a file: in UTF-8, as its byte-order mark says, or as it is asked for.

    Raises:
        InputError: for an encoding that is not known, or not the file's.
    """
    name = encoding or next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        codec = codecs.lookup(name)
        text = codec.decode(data)[0]
    except LookupError:
        allowed = "the name of an encoding, such as utf-8, utf-16 or latin-1"
        raise InputError("encoding", name, allowed) from None
    except UnicodeError as error:
        row = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        said = "UTF-8" if name.startswith("utf-8") else name
        advice = "text in UTF-8, or a Parquet file; give another encoding as encoding (--encoding)"
        raise InputError(f"row {row}", Words(f"not {said}"), advice) from None
    if "\0" in text:
        advice = "give the encoding, such as utf-16-le: there are null characters in the text"
        raise InputError("file", Words("no text in UTF-8"), Advice(advice))
    return str(text).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def sheet_of(text: str) -> Sheet:
    """Part a text into lines, and find what parts their cells."""
    text = text.rstrip("\n")
    numbers = np.arange(1, text.count("\n") + 2) if text else np.arange(0)
    comment = ""
    notes: list[str] = []
    # a list of a million lines takes longer, and more memory, than all the rest
    if "#" in text or text[:1].isspace() or _INDENTED.search(text):
        lines = text.split("\n")
        kept = [
            at
            for at, line in enumerate(lines)
            if not line.lstrip().startswith("#") and line.strip()
        ]
        comments = [at for at, line in enumerate(lines) if line.lstrip().startswith("#")]
        if comments:
            told = "1 line" if len(comments) == 1 else f"{len(comments):,} lines"
            notes.append(f"{told} that began with # left out")
            before = [at for at in comments if not kept or at < kept[0]]
            comment = lines[before[-1]].strip("# \t") if before else ""
        cut = {at: lines[at] for at in kept if '"' not in lines[at] and _BESIDE.search(lines[at])}
        if cut:
            told = "1 line" if len(cut) == 1 else f"{len(cut):,} lines"
            notes.append(f"what stands after numbers and a # in {told} left out")
            lines = [_BESIDE.sub("", line) if at in cut else line for at, line in enumerate(lines)]
        text, numbers = "\n".join(lines[at] for at in kept), numbers[kept]
    first = text.partition("\n")[0]
    if said := _SAID.fullmatch(first):
        # as Excel writes and reads it
        text, numbers = text.partition("\n")[2], numbers[1:]
        return Sheet(text, numbers, said[1], comment, tuple(notes))
    separator = next((mark for mark in "\t;,|" if mark in first), "")
    if not separator and (" " in first.strip()):
        separator = " "
    return Sheet(text, numbers, separator or ",", comment, tuple(notes))


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of a line."""
    if separator == " ":
        return line.split()
    if not _QUOTING & set(line):
        return [cell.strip() for cell in line.split(separator)]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [""])]


def rows_of(sheet: Sheet, first: int) -> Iterator[tuple[int, list[str]]]:
    """Return the cells of each line from one on, with its number in the file.

    Raises:
        csv.Error: for a stray quote, as ``(message)``.
    """
    below = sheet.below(first)
    if sheet.separator == " " or not _QUOTING & set(below):
        # as csv does, but for its limit of 131,072 letters a cell
        lines = below.split("\n") if below else []
        for number, line in zip(sheet.numbers[first:].tolist(), lines, strict=True):
            yield number, split_line(line, sheet.separator)
        return
    reader = csv.reader(io.StringIO(below), delimiter=sheet.separator, strict=True)
    for row in reader:
        yield int(sheet.numbers[first + reader.line_num - 1]), [cell.strip() for cell in row]
