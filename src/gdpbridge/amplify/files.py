"""Samples of CSV and Parquet files of any size, in constant memory.

Rows that are left out are written nowhere; a row that is kept is written as it was read.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from gdpbridge.amplify.csv_records import CsvFile
from gdpbridge.amplify.randomness import Bernoulli, Chooser, FixedSize
from gdpbridge.errors import Advice, InputError, MissingExtraError, Words
from gdpbridge.files import partial_file
from gdpbridge.numeric.exact import exact
from gdpbridge.progress import Progress, silent

__all__ = ["SAMPLE_SCHEMES", "fixed_size", "sample_file", "sampling_rate"]

SAMPLE_SCHEMES = ("poisson", "without-replacement")

_BATCH = 1 << 15

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
    is drawn from a CSV file, in some 50 megabytes of memory.

    Args:
        source: a file that ends in .csv or .parquet. CSV has records and quotes as in RFC 4180,
            all of as many cells, in ASCII, UTF-8 or another encoding that extends ASCII; blank
            lines are no records. Anything else is refused, with its line, and nothing is written:
            where records cannot be told apart they cannot be drawn apart either.
        target: the file to write; one that exists is replaced when the sample is complete.
        rate: the chance in (0, 1] that a record is in the sample.
        size: the size of the sample, instead of the rate, for "without-replacement".
        scheme: "poisson", or "without-replacement" for a fixed size: ``size``, or rate times the
            number of records, rounded down.
        header: whether the first record of a CSV file names the columns; it is always written, and
            so it must be one line, none of whose cells is a number.
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
    table = CsvFile(source, header) if kind == ".csv" else _Parquet(source)
    try:
        if scheme == "poisson":
            assert probability is not None
            chooser: Chooser = Bernoulli(probability)
        else:
            total = table.count(lambda share: progress("counting records", share))
            chooser = FixedSize(fixed_size(probability, size, total), total)
        with partial_file(target, private=True) as partial:
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
