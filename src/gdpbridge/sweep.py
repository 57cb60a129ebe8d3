"""Sweeps: many mechanisms, a row each, on the processors of this machine or of a cluster.

A row holds what was asked or, where a mechanism could not be measured, the error. With a journal, a
file of JSON lines, finished rows survive a kill and are not computed again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any, TypedDict, overload

from gdpbridge.errors import GdpBridgeError, InputError, Words, WorkLimitError
from gdpbridge.files import read_bounded
from gdpbridge.measure import Measurement, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.progress import Progress, silent, with_bar
from gdpbridge.showing import Framed
from gdpbridge.specification.load import MAX_BYTES, load_profile

__all__ = ["Sweep", "grid", "sweep"]

_LOG = logging.getLogger(__name__)
_MOST = 10_000_000
# rows that one task computes: sending one takes a millisecond, and a kill loses no more than these
_CHUNK = 8
# tasks handed over ahead of the workers
_AHEAD = 64
_RANGE = "a list of values, or a range 0.1:2:0.1 in a text"


class Options(TypedDict):
    """What is asked of each mechanism."""

    delta: float | None
    eps_h: float | None
    failure: float | None
    tol: float | None
    mu: bool


Row = dict[str, Any]


class Sweep(Framed, Sequence[Row]):
    """The rows of a sweep, in the order of what was asked.

    Each has the number of its mechanism (``index``), its parameters, and mu_low, mu_high, verdict,
    statement, failure_probability, certified, seconds; with a ``delta``, also epsilon_low and
    epsilon_high; and error, None where all went well.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sweep: ...
    def __getitem__(self, index: int | slice) -> Row | Sweep:
        return Sweep(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __repr__(self) -> str:
        failed = sum(row["error"] is not None for row in self._rows)
        return f"<Sweep of {len(self):,} mechanisms, {failed:,} of them failed>"

    def _repr_html_(self) -> str:
        from html import escape

        columns = self.to_dict()
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        cells = zip(*(values[:50] for values in columns.values()), strict=True)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape('' if cell is None else str(cell))}</td>" for cell in row)
            + "</tr>"
            for row in cells
        )
        return f"<table><tr>{head}</tr>{body}</table><p>{escape(repr(self))}</p>"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name; None where a row has no such number."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        return {name: [row.get(name) for row in self._rows] for name in names}

    def _columns(self) -> dict[str, list[Any]]:
        return self.to_dict()


@with_bar
def sweep(
    specs: Iterable[Profile | Mapping[str, Any] | str | Path],
    executor: Executor | None = None,
    *,
    workers: int | None = None,
    delta: Real | None = None,
    eps_h: Real | None = None,
    failure: Real | None = None,
    tol: Real | None = None,
    mu: bool = True,
    journal: str | Path | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Measure many mechanisms, a row each.

    Args:
        specs: mechanisms, as for :func:`gdpbridge.load_profile`, or profiles.
        executor: where the work is done: any of ``concurrent.futures``, a Dask client's
            ``get_executor()``, …; processes on this machine if None (loky's if it is installed).
        workers: how many processes, where no executor is given; as many as processors if None.
        delta: asks for the least ε at this δ in [0, 1], proved, in columns epsilon_low and
            epsilon_high.
        eps_h: as for :func:`gdpbridge.measure`.
        failure: likewise.
        tol: likewise.
        mu: whether to measure μ; without it, a sweep for ε alone is quicker.
        journal: a file for finished rows; those of the same mechanism and question are taken from
            it, so that a sweep that was killed goes on.
        progress: called with a sentence and a share in [0, 1] during long work; None draws a bar
            in a terminal or a notebook once that takes over a second.

    Returns:
        The rows in the order of ``specs``. A mechanism that is refused or undecided has its error
        in the column error.

    Raises:
        InputError: for workers or a journal that cannot be used.
    """
    if not mu and delta is None:
        raise InputError.missing("delta", "give it where mu is false")
    options = Options(
        delta=_number("delta", delta),
        eps_h=_number("eps_h", eps_h),
        failure=_number("failure", failure),
        tol=_number("tol", tol),
        mu=mu,
    )
    given, report = [_plain(one) for one in specs], progress or silent
    rows: dict[int, Row] = {}
    with _journal(journal) as (known, file):
        keys = [_key(one, options) for one in given]
        rows = {at: known[key] | {"index": at} for at, key in enumerate(keys) if key in known}
        missing = [at for at in range(len(given)) if at not in rows]
        if rows:
            _LOG.info("%d rows are taken from the journal %s", len(rows), journal)
        with _running(executor, workers) as pool:
            for number, found in _computed(pool, [(at, given[at]) for at in missing], options):
                rows[number] = found
                if file is not None:
                    file.write(json.dumps({"key": keys[number], "row": found}) + "\n")
                    file.flush()
                report("sweeping", len(rows) / len(given))
    _LOG.info("swept %d mechanisms", len(given))
    return Sweep(rows[at] for at in range(len(given)))


def grid(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the mechanisms of a grid: every combination of the values of its table ``grid``.

    Args:
        document: a mechanism's specification in which a table ``grid`` gives parameters a list of
            values, or a range "0.1:2:0.1" whose end is in it; the last one varies fastest.

    Raises:
        InputError: for a grid that is none, or has more than ten million mechanisms.
    """
    if not document:
        raise InputError.missing("kind", 'name a mechanism, such as kind = "dpsgd"')
    axes = document.get("grid", {})
    if not isinstance(axes, Mapping):
        raise InputError("grid", Words("not a table"), f"a table of parameters, each {_RANGE}")
    rest = {name: value for name, value in document.items() if name != "grid"}
    values = {name: _axis(f"grid.{name}", axis) for name, axis in axes.items()}
    if math.prod(map(len, values.values())) > _MOST:
        raise InputError("grid", Words("too large"), f"of at most {_MOST:,} mechanisms")
    return [
        {**rest, **dict(zip(values, chosen, strict=True))}
        for chosen in itertools.product(*values.values())
    ]


def _axis(name: str, axis: Any) -> list[Any]:
    if isinstance(axis, list) and axis:
        return axis
    try:
        first, last, step = (Decimal(part) for part in axis.split(":"))
        count = int((last - first) / step) + 1
        if step <= 0 or not 1 <= count <= _MOST:
            raise ValueError
    except (ArithmeticError, AttributeError, ValueError):
        raise InputError(name, axis, _RANGE) from None
    points = [first + at * step for at in range(count)]
    return [int(one) if one == one.to_integral_value() else float(one) for one in points]


def _number(name: str, value: Real | None) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, value, "a number") from None


def _plain(one: Any) -> Any:
    """A profile or a path stays what it is; a specification may be sent as it is."""
    return dict(one) if isinstance(one, Mapping) else one


def _key(one: Any, options: Options) -> str:
    data = one.model_dump() if isinstance(one, Profile) else one
    if isinstance(one, str | Path):
        # what a file holds may change between two runs
        try:
            data = read_bounded(one, MAX_BYTES).hex()
        except InputError:
            data = str(one)
    text = json.dumps([data, options], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _journal(path: str | Path | None) -> Iterator[tuple[dict[str, Row], IO[str] | None]]:
    """Give the rows that a journal holds, and the journal to write to."""
    if path is None:
        yield {}, None
        return
    known: dict[str, Row] = {}
    try:
        with Path(path).open("a+", encoding="utf-8") as file:
            file.seek(0)
            kept = 0
            for text in file:
                try:
                    entry = json.loads(text)
                    known[entry["key"]] = entry["row"]
                except (ValueError, TypeError, KeyError):
                    # a kill may have cut the last line
                    break
                kept += len(text.encode())
            file.truncate(kept)
            yield known, file
    except OSError as error:
        allowed = f"a file that can be written ({error.strerror})"
        raise InputError("journal", str(path), allowed) from None


@contextmanager
def _running(executor: Executor | None, workers: int | None) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    count = os.cpu_count() or 1 if workers is None else workers
    if not (isinstance(count, int) and 1 <= count <= 10_000):
        raise InputError("workers", workers, "a whole number from 1 to 10000")
    try:
        from loky import get_reusable_executor

        made: Executor = get_reusable_executor(max_workers=count)
    except ImportError:
        # threads do not survive a fork
        made = ProcessPoolExecutor(count, mp_context=get_context("spawn"))
    before = os.environ.get("PYTHONSAFEPATH")
    # workers must not import what lies in the current directory
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        with made:
            yield made
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _computed(
    pool: Executor, tasks: Sequence[tuple[int, Any]], options: Options
) -> Iterator[tuple[int, Row]]:
    """Compute rows as they come, a few tasks handed over ahead."""
    chunks = iter([tasks[at : at + _CHUNK] for at in range(0, len(tasks), _CHUNK)])
    running: set[Future[list[tuple[int, Row]]]] = set()
    try:
        while True:
            for chunk in itertools.islice(chunks, _AHEAD - len(running)):
                running.add(pool.submit(_rows, chunk, options))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()
    finally:
        for future in running:
            future.cancel()


def _rows(chunk: Sequence[tuple[int, Any]], options: Options) -> list[tuple[int, Row]]:
    """Compute some rows, in a worker."""
    return [(at, {"index": at, **_row(one, options)}) for at, one in chunk]


def _row(one: Any, options: Options) -> Row:
    row: Row = {}
    try:
        profile = one if isinstance(one, Profile) else load_profile(one)
        row = _parameters(profile)
        if options["mu"]:
            row |= _measured(profile, options)
        if options["delta"] is not None:
            low, high = profile.epsilon_bounds(options["delta"])
            row |= {"delta": options["delta"], "epsilon_low": low, "epsilon_high": high}
    except (GdpBridgeError, ArithmeticError, MemoryError) as error:
        if not row and isinstance(one, Mapping):
            row = {name: value for name, value in one.items() if not isinstance(value, Mapping)}
        return {**row, "error": str(error) or type(error).__name__}
    return {**row, "error": None}


def _parameters(profile: Profile) -> Row:
    found = profile.model_dump(exclude_none=True)
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for name, value in found.items()
    }


def _measured(profile: Profile, options: Options) -> Row:
    found = _measurement(profile, options)
    return {
        "mu_low": found.mu.lower,
        "mu_high": found.mu.upper,
        "verdict": found.verdict.value,
        "statement": found.statement.value,
        "failure_probability": found.failure_probability,
        "certified": found.certified,
        "seconds": round(found.seconds, 6),
    }


def _measurement(profile: Profile, options: Options) -> Measurement:
    tol, eps_h, failure = options["tol"], options["eps_h"], options["failure"]
    if eps_h is None and failure is None and profile.default_failure is not None:
        # where p is not asked for, μ is found at others too, which no row shows
        with suppress(WorkLimitError):
            return measure(profile, tol, None, float(profile.default_failure))
    return measure(profile, tol, eps_h, failure)
