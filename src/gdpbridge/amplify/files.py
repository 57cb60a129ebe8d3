"""Samples of CSV and Parquet files of any size, in constant memory.

Rows that are left out are written nowhere; a row that is kept is written as it was read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gdpbridge.amplify.randomness import Bernoulli, Chooser, FixedSize
from gdpbridge.errors import Advice, InputError, MissingExtraError, Words
from gdpbridge.measure.problem import Progress, silent
from gdpbridge.numeric.exact import exact

__all__ = ["SAMPLE_SCHEMES", "fixed_size", "sample_file", "sampling_rate"]

SAMPLE_SCHEMES = ("poisson", "without-replacement")

_BLOCK = 1 << 22
_MAX_RECORD = 1 << 26
_BATCH = 1 << 15
_LINE_FEED, _RETURN, _QUOTE = b'\n\r"'
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

Places = NDArray[np.int64]

# how far reading has come, in [0, 1]
Share = Callable[[float], None]


def sample_file(
    source: str | Path,
    target: str | Path,
    rate: float | None = None,
    *,
    size: int | None = None,
    scheme: str = "poisson",
    header: bool = True,
    progress: Progress = silent,
) -> int:
    """Write a random sample of a file's records to another file of the same kind.

    Randomness comes from the operating system. Records are read once, or twice where a fixed size
    is drawn from a CSV file, in a few megabytes of memory.

    Args:
        source: a file that ends in .csv or .parquet. CSV has records and quotes as in RFC 4180, in
            ASCII, UTF-8 or another encoding that extends ASCII; blank lines are no records.
        target: the file to write; one that exists is replaced when the sample is complete.
        rate: the chance in (0, 1] that a record is in the sample.
        size: the size of the sample, instead of the rate, for "without-replacement".
        scheme: "poisson", or "without-replacement" for a fixed size: ``size``, or rate times the
            number of records, rounded down.
        header: whether the first record of a CSV file names the columns; it is always written.
        progress: called with a sentence and a share in [0, 1].

    Returns:
        The number of records written. Under "poisson" it is as private as the data.

    Raises:
        InputError: for an argument outside its range, or a file that cannot be read.
        MissingExtraError: for Parquet without the extra ``tables``.
    """
    probability = sampling_rate(rate, size, scheme)
    source, target = Path(source), Path(target)
    if not source.is_file():
        raise InputError("source", str(source), "a file that exists")
    if target.exists() and target.samefile(source):
        raise InputError("target", str(target), "another file than the source")
    kind = source.suffix.lower()
    if kind not in (".csv", ".parquet") or target.suffix.lower() != kind:
        raise InputError(
            "source and target",
            f"{source.name}, {target.name}",
            Advice("name two .csv files or two .parquet files"),
        )
    table = _Csv(source, header) if kind == ".csv" else _Parquet(source)
    try:
        if scheme == "poisson":
            assert probability is not None
            chooser: Chooser = Bernoulli(probability)
        else:
            total = table.count(lambda share: progress("counting records", share))
            chooser = FixedSize(fixed_size(probability, size, total), total)
        with _replaced(target) as partial:
            return table.copy(partial, chooser, lambda share: progress("sampling", share))
    except OSError as error:
        raise InputError(
            "file", error.filename or str(source), f"usable ({error.strerror})"
        ) from None


def sampling_rate(rate: float | None, size: int | None, scheme: str) -> Fraction | None:
    """Check what was asked for, and return the rate as the decimal it is written as."""
    if scheme not in SAMPLE_SCHEMES:
        raise InputError("scheme", scheme, f"one of {', '.join(SAMPLE_SCHEMES)}")
    if (rate is None) == (size is None):
        given = "neither" if rate is None else "both"
        raise InputError("rate and size", Words(given), Advice("give one of them"))
    if size is not None:
        if scheme == "poisson":
            raise InputError(
                "size", size, Advice("leave it out: a Poisson sample has a rate, no size")
            )
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError("size", size, "a whole number ≥ 1")
        return None
    try:
        probability = exact(rate)  # type: ignore[arg-type]
    except ValueError:
        probability = Fraction(0)
    if not 0 < probability <= 1:
        raise InputError("rate", rate, "a number in (0, 1]")
    return probability


def fixed_size(rate: Fraction | None, size: int | None, total: int) -> int:
    """Return the size of a sample without replacement: rounded down, the rate is not exceeded.

    Raises:
        InputError: if there are not as many records.
    """
    if size is None:
        assert rate is not None
        return int(rate * total)
    if size > total:
        raise InputError("size", size, f"at most {total}, the number of records")
    return size


@contextmanager
def _replaced(target: Path) -> Iterator[Path]:
    """Give a file beside the target that takes its place if all goes well, and is gone if not."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        # only the owner may read what is not yet complete
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


class _Csv:
    """A CSV file as bytes: a record ends at a line's end outside of quotes."""

    def __init__(self, path: Path, header: bool) -> None:
        self._path, self._header = path, header

    def count(self, share: Share) -> int:
        with self._path.open("rb") as file:
            self._first(file)
            return sum(records.ends.size for records in self._blocks(file, share))

    def copy(self, target: Path, chooser: Chooser, share: Share) -> int:
        written = 0
        with self._path.open("rb") as file, target.open("wb") as out:
            first = self._first(file)
            out.write(first if not first or first.endswith(b"\n") else first + b"\n")
            for records in self._blocks(file, share):
                mask = chooser.choose(records.ends.size)
                out.writelines(records.chosen(mask))
                written += int(mask.sum())
        return written

    def _first(self, file: IO[bytes]) -> bytes:
        """Return the header, or nothing."""
        if file.peek(2)[:2] in _UTF16:  # type: ignore[attr-defined]
            raise InputError(
                "source", Words("in UTF-16"), "in an encoding that extends ASCII, such as UTF-8"
            )
        record = b""
        while self._header:
            line = file.readline(_MAX_RECORD)
            record += line
            if not line or (record.count(b'"') % 2 == 0 and record.strip()):
                break
            _check_length(len(record))
        return record

    def _blocks(self, file: IO[bytes], share: Share) -> Iterator[_Records]:
        """Return records, some megabytes at a time."""
        size = os.fstat(file.fileno()).st_size or 1
        pending = b""
        while chunk := file.read(_BLOCK):
            data = pending + chunk
            ends = _record_ends(data)
            last = int(ends[-1]) if ends.size else 0
            pending = data[last:]
            _check_length(len(pending))
            yield _Records.of(data, ends)
            share(min(file.tell() / size, 1.0))
        if pending:
            yield _Records.of(pending, np.array([len(pending)]))


@dataclass(frozen=True)
class _Records:
    """Records within some bytes: where each begins and ends."""

    data: bytes
    starts: Places
    ends: Places

    @classmethod
    def of(cls, data: bytes, ends: Places) -> _Records:
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


def _record_ends(data: bytes) -> Places:
    """Return where records end: behind line feeds with an even number of quotes before them."""
    values = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(values == _LINE_FEED)
    quotes = np.flatnonzero(values == _QUOTE)
    if quotes.size:
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return ends + 1


def _check_length(length: int) -> None:
    if length >= _MAX_RECORD:
        raise InputError(
            "source",
            Words("a record with an open quote or no end"),
            Advice(f"a record is longer than {_MAX_RECORD >> 20} MiB: a quote may be open"),
        )


class _Parquet:
    """A Parquet file, read and written a few thousand rows at a time."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtraError("tables", "reading Parquet") from None
        self._arrow, self._parquet, self._path = pyarrow, parquet, path

    def count(self, _: Share) -> int:
        with self._open() as file:
            return int(file.metadata.num_rows)

    def copy(self, target: Path, chooser: Chooser, share: Share) -> int:
        written = done = 0
        with (
            self._open() as file,
            self._parquet.ParquetWriter(target, file.schema_arrow) as out,
        ):
            for batch in file.iter_batches(batch_size=_BATCH):
                mask = self._arrow.array(chooser.choose(batch.num_rows))
                kept = batch.filter(mask)
                if kept.num_rows:
                    out.write_batch(kept)
                written += kept.num_rows
                done += batch.num_rows
                share(done / file.metadata.num_rows)
        return written

    def _open(self) -> Any:
        try:
            return self._parquet.ParquetFile(self._path)
        except self._arrow.ArrowInvalid as error:
            raise InputError("source", str(self._path), f"a Parquet file ({error})") from None
