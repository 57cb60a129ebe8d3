"""Samples of CSV and Parquet files of any size, in constant memory.

Rows that are left out are written nowhere; a row that is kept is written as it was read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import compress
from pathlib import Path
from typing import IO, Any

from gdpbridge.amplify.randomness import Bernoulli, Chooser, FixedSize
from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.measure.problem import Progress, silent
from gdpbridge.numeric.exact import exact

__all__ = ["SAMPLE_SCHEMES", "fixed_size", "sample_file", "sampling_rate"]

SAMPLE_SCHEMES = ("poisson", "without-replacement")

_BLOCK = 1 << 22
_MAX_RECORD = 1 << 26
_BATCH = 1 << 15
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

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
        raise InputError("source and target", f"{source.name}, {target.name}",
                         "both .csv or both .parquet")
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
        raise InputError("file", error.filename or str(source), f"usable ({error.strerror})") from None


def sampling_rate(rate: float | None, size: int | None, scheme: str) -> Fraction | None:
    """Check what was asked for, and return the rate as the decimal it is written as."""
    if scheme not in SAMPLE_SCHEMES:
        raise InputError("scheme", scheme, f"one of {', '.join(SAMPLE_SCHEMES)}")
    if (rate is None) == (size is None):
        given = "neither" if rate is None else "both"
        raise InputError("rate and size", given, "given one and not the other")
    if size is not None:
        if scheme == "poisson":
            raise InputError("size", size, "left out: a Poisson sample has a rate, no size")
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
            return sum(len(records) for records in self._blocks(file, share))

    def copy(self, target: Path, chooser: Chooser, share: Share) -> int:
        written = 0
        with self._path.open("rb") as file, target.open("wb") as out:
            first = self._first(file)
            out.write(first if not first or first.endswith(b"\n") else first + b"\n")
            for records in self._blocks(file, share):
                kept = list(compress(records, chooser.choose(len(records)).tolist()))
                out.writelines(kept)
                written += len(kept)
        return written

    def _first(self, file: IO[bytes]) -> bytes:
        """Return the header, or nothing."""
        if file.peek(2)[:2] in _UTF16:  # type: ignore[attr-defined]
            raise InputError("source", "UTF-16", "in an encoding that extends ASCII, such as UTF-8")
        record = b""
        while self._header:
            line = file.readline(_MAX_RECORD)
            record += line
            if not line or (record.count(b'"') % 2 == 0 and record.strip()):
                break
            _check_length(record)
        return record

    def _blocks(self, file: IO[bytes], share: Share) -> Iterator[list[bytes]]:
        """Return records, some megabytes at a time."""
        size = os.fstat(file.fileno()).st_size or 1
        pending = b""
        while lines := file.readlines(_BLOCK):
            if pending or any(b'"' in line for line in lines):
                records, pending = _joined(lines, pending)
            else:
                records = lines
            yield [record for record in records if record.strip(b"\r\n")]
            share(min(file.tell() / size, 1.0))
        if pending:
            yield [pending]


def _joined(lines: list[bytes], pending: bytes) -> tuple[list[bytes], bytes]:
    """Join lines whose end is inside of quotes with the next; return what is still open."""
    records = []
    for line in lines:
        if not pending and line.count(b'"') % 2 == 0:
            records.append(line)
            continue
        pending += line
        _check_length(pending)
        if pending.count(b'"') % 2 == 0:
            records.append(pending)
            pending = b""
    return records, pending


def _check_length(record: bytes) -> None:
    if len(record) >= _MAX_RECORD:
        raise InputError(
            "source",
            "a record with an open quote or no end",
            f"made of records of at most {_MAX_RECORD >> 20} MiB",
        )


class _Parquet:
    """A Parquet file, read and written a few thousand rows at a time."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet as parquet
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
