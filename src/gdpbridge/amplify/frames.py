"""Samples of data frames and Arrow tables; lazily where the frame is lazy.

Frames come through Narwhals. It has no random numbers of its own, and engines draw theirs from
generators that can be predicted, anew at each evaluation. So the numbers of the rows are drawn
here, once, from the operating system's generator, and the engine only looks them up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gdpbridge.amplify.files import fixed_size, sampling_rate
from gdpbridge.amplify.keyed import Keyed, keyed_sample
from gdpbridge.amplify.randomness import Bernoulli, Chooser, FixedSize
from gdpbridge.errors import InputError, MissingExtraError, WorkLimitError

__all__ = ["sample"]

MAX_LAZY_ROWS = 1_000_000

_BATCH = 1 << 16
_INDEX = "__gdpbridge_row__"


def sample(
    data: Any,
    rate: float | None = None,
    *,
    size: int | None = None,
    scheme: str = "poisson",
    order_by: str | Sequence[str] | None = None,
    engine_random: str | None = None,
    by: str | Sequence[str] | None = None,
    key: bytes | None = None,
) -> Any:
    """Draw a random sample of the rows of a frame, with the operating system's randomness.

    Args:
        data: a frame or table that Narwhals knows (pandas, Polars, PyArrow; lazily Polars, DuckDB,
            Dask, PySpark), or an Arrow ``RecordBatchReader``, of which batches are sampled as they
            come.
        rate: the chance in (0, 1] that a row is in the sample.
        size: the size of the sample, instead of the rate, for "without-replacement".
        scheme: "poisson", or "without-replacement" for a fixed size: ``size``, or rate times the
            number of rows, rounded down.
        order_by: columns by which a lazy frame's rows are numbered, together unique; needed where
            the engine knows no order.
        engine_random: names an engine ("duckdb") whose own random function is to be used all the
            same, for "poisson" only. It can be predicted, and draws anew at each evaluation.
        by: columns of whole numbers or text that together tell each row from all others; "poisson"
            only. A row is then in the sample by a keyed hash of them: partition by partition, the
            same however often one is computed, on Dask, DuckDB, Polars and Spark, without a limit.
        key: with by, the secret, 16 bytes or more; a new one if None. It must stay secret, and
            be used for one sample.

    Returns:
        What was given, with the rows of the sample only.

    Raises:
        InputError: for an argument outside its range.
        MissingExtraError: without the extra ``tables``.
        WorkLimitError: if more than a million rows of a lazy frame would have to be looked up.
    """
    probability = sampling_rate(rate, size, scheme)
    if _is_reader(data) and engine_random is None:
        if probability is None or scheme != "poisson":
            raise InputError("scheme", scheme, "poisson for a stream, whose length is not known")
        return _from_reader(data, Bernoulli(probability))
    frame = _narwhals_frame(data)
    engine = str(frame.implementation)
    if by is not None:
        if probability is None or scheme != "poisson":
            raise InputError("scheme", scheme, "poisson where by= is given")
        columns = [by] if isinstance(by, str) else list(by)
        return keyed_sample(data, frame, engine, Keyed(probability, key), columns)
    if key is not None:
        raise InputError.missing("by", "give the columns that tell rows apart, to go with the key")
    if engine_random is not None:
        return _by_engine(data, engine, engine_random, probability, scheme)
    if hasattr(frame, "collect"):
        return _lazily(frame, engine, probability, size, scheme, order_by)
    rows = len(frame)
    mask = _chooser(probability, size, scheme, rows).choose(rows)
    return frame.filter(mask.tolist()).to_native()


def _narwhals_frame(data: Any) -> Any:
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("tables", "sampling a frame") from None
    try:
        return narwhals.from_native(data)
    except TypeError:
        raise InputError(
            "data", type(data).__name__, "a frame or table that Narwhals knows"
        ) from None


def _chooser(probability: Fraction | None, size: int | None, scheme: str, rows: int) -> Chooser:
    if scheme == "poisson":
        assert probability is not None
        return Bernoulli(probability)
    return FixedSize(fixed_size(probability, size, rows), rows)


def _is_reader(data: Any) -> bool:
    return type(data).__name__ == "RecordBatchReader" and hasattr(data, "read_next_batch")


def _from_reader(reader: Any, chooser: Chooser) -> Any:
    import pyarrow

    def batches() -> Iterator[Any]:
        for batch in reader:
            yield batch.filter(pyarrow.array(chooser.choose(batch.num_rows)))

    return type(reader).from_batches(reader.schema, batches())


def _lazily(
    frame: Any,
    engine: str,
    probability: Fraction | None,
    size: int | None,
    scheme: str,
    order_by: str | Sequence[str] | None,
) -> Any:
    """Draw the numbers of the rows, and let the engine look them up."""
    import narwhals

    total = int(frame.select(narwhals.len()).collect().item())
    chooser = _chooser(probability, size, scheme, total)
    chosen = _numbers(chooser, total)
    try:
        numbered = frame.with_row_index(_INDEX, order_by=order_by)
    except TypeError:
        allowed = f"given for {engine}: it has no order of its own to number rows by"
        raise InputError("order_by", order_by, allowed) from None
    return numbered.filter(narwhals.col(_INDEX).is_in(chosen)).drop(_INDEX).to_native()


def _numbers(chooser: Chooser, total: int) -> list[int]:
    chosen: list[int] = []
    for start in range(0, total, _BATCH):
        mask = chooser.choose(min(_BATCH, total - start))
        chosen += (np.flatnonzero(mask) + start).tolist()
        if len(chosen) > MAX_LAZY_ROWS:
            raise WorkLimitError(
                f"the sample would have more than {MAX_LAZY_ROWS:,} rows to look up lazily: give "
                "by= the columns that tell rows apart, read the data as Arrow batches, or write it "
                "to a Parquet file and sample that",
                needed=len(chosen),
                limit=MAX_LAZY_ROWS,
            )
    return chosen


def _by_engine(
    data: Any, engine: str, accepted: str, probability: Fraction | None, scheme: str
) -> Any:
    """Filter by the engine's own random function, where the user names the engine."""
    if engine != accepted or accepted not in _ENGINE_FILTERS:
        raise InputError(
            "engine_random",
            accepted,
            f"left out: only the random function of {', '.join(_ENGINE_FILTERS)} can be accepted, "
            f"for a frame of that engine, and this one is of {engine}",
        )
    if scheme != "poisson" or probability is None:
        raise InputError("scheme", scheme, "poisson where the engine draws")
    return data.filter(_ENGINE_FILTERS[accepted].format(threshold=int(probability * 2**32)))


# random() has no more than 32 random bits; the rate is rounded down
_ENGINE_FILTERS = {"duckdb": "floor(random() * 4294967296) < {threshold}"}
