"""Bernoulli samples of rows keyed by a secret, for engines that compute a partition when they like.

A row is in the sample if a keyed hash of what names it is below the rate: H(k₂, H(k₁, name)) with
SHA-256 (NMAC, Bellare, Canetti and Krawczyk 1996, whose outputs cannot be told from random ones by
who does not know the key). So a row is in or out however often its partition is computed, on
every engine alike, and nothing is numbered or looked up. Rows of one name are in or out together,
which no longer is Poisson sampling: the columns that name a row must tell it from all others.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gdpbridge.errors import InputError, Words
from gdpbridge.numeric.arrays import Mask

__all__ = ["Keyed", "keyed_sample"]

_BITS = 256
_LEAST_KEY = 16
_ALLOWED = "bytes, 16 at least, from a source that cannot be predicted such as secrets.token_bytes"


class Keyed:
    """Says of rows by what names them whether they are in the sample.

    Args:
        rate: the chance in (0, 1] that a row is in it; rounded down to 256 bits.
        key: the secret; a new one from the operating system if None.

    Raises:
        InputError: for a key that is too short.
    """

    def __init__(self, rate: Fraction, key: bytes | None) -> None:
        if key is not None and (not isinstance(key, bytes) or len(key) < _LEAST_KEY):
            raise InputError("key", Words("too short, or not bytes"), _ALLOWED)
        secret = secrets.token_bytes(32) if key is None else key
        self._inner, self._outer = (
            hashlib.sha256(word + secret).hexdigest() for word in (b"inner:", b"outer:")
        )
        # of a rate of 1, what no hash reaches
        bound = int(rate * (1 << _BITS))
        self._bound = f"{bound:064x}" if rate < 1 else "g"

    def choose(self, names: Sequence[str]) -> Mask:
        """Return which of the rows so named are in the sample."""
        return np.array([self._hash(one) < self._bound for one in names], dtype=np.bool_)

    def _hash(self, name: str) -> str:
        inside = hashlib.sha256((self._inner + name).encode()).hexdigest()
        return hashlib.sha256((self._outer + inside).encode()).hexdigest()

    def keep(self, part: Any, by: Sequence[str]) -> Any:
        """Return the rows of a part of a frame that Narwhals knows that are in the sample."""
        import narwhals

        frame = narwhals.from_native(part, eager_only=True)
        columns = [frame[name].cast(narwhals.String).to_list() for name in by]
        mask = self.choose([_name(cells) for cells in zip(*columns, strict=True)])
        return frame.filter(mask.tolist()).to_native()

    def condition(self, by: Sequence[str]) -> str:
        """Return the same as a condition in SQL, for DuckDB."""
        cells = (f"CAST({_quoted(name)} AS VARCHAR)" for name in by)
        name = " || ".join(f"coalesce(length({one}) || ':' || {one}, 'n')" for one in cells)
        return f"sha256('{self._outer}' || sha256('{self._inner}' || {name})) < '{self._bound}'"


def _name(cells: Sequence[str | None]) -> str:
    """What names a row: no two rows of different cells have one name."""
    return "".join("n" if one is None else f"{len(one)}:{one}" for one in cells)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def keyed_sample(data: Any, frame: Any, engine: str, keyed: Keyed, by: Sequence[str]) -> Any:
    """Return the rows of a frame that are in a keyed sample; lazily where the frame is lazy.

    Raises:
        InputError: for a column that is not there or has neither whole numbers nor text, or an
            engine that cannot map partitions.
    """
    import narwhals

    schema = frame.collect_schema()
    for name in by:
        if name not in schema:
            raise InputError("by", name, f"one of the columns: {', '.join(map(str, schema))}")
        kind = schema[name]
        if not (kind.is_integer() or kind == narwhals.String):
            found = Words(f"of {name!r}, which is {kind}")
            raise InputError("by", found, "columns of whole numbers or text")
    if not hasattr(frame, "collect"):
        return keyed.keep(data, by)
    match engine:
        case "dask":
            return data.map_partitions(keyed.keep, by, meta=data._meta)
        case "duckdb":
            return data.filter(keyed.condition(by))
        case "polars":
            return data.map_batches(lambda part: keyed.keep(part, by))
        case "pyspark":
            return data.mapInArrow(
                lambda parts: (one for part in parts for one in _batches(keyed, part, by)),
                data.schema,
            )
    raise InputError("data", engine, "of dask, duckdb, polars or pyspark where by= is given")


def _batches(keyed: Keyed, part: Any, by: Sequence[str]) -> Any:
    import pyarrow

    return keyed.keep(pyarrow.Table.from_batches([part]), by).to_batches()
