"""What a spend costs with a million entries in the history, beside a thousand.

Run it with ``python benchmarks/bench_ledger.py [URL]``; URL names an empty PostgreSQL database, and
without it an SQLite file in a temporary folder is used. It prints the milliseconds of a spend and
of a status (median of a hundred) at both lengths, their ratio, which is to be at most 1.5, and the
seconds of a whole verification.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gdpbridge.ledger import Entry, Kind, Ledger
from gdpbridge.ledger.entries import Books

LENGTHS = (1_000, 1_000_000)
ROUNDS = 100
MOST_RATIO, MOST_MS = 1.5, 50.0


def entries(name: str, count: int) -> Iterator[Entry]:
    """A valid history of so many entries."""
    books = Books(name)
    common = {"time": "2026-01-01T00:00:00.000000+00:00", "actor": "benchmark", "request": "0" * 64}

    def entry(kind: Kind, **content: object) -> Entry:
        number = books.count + 1
        return books.append(
            Entry(number=0, kind=kind, key=f"k{number}", purpose="count", **common, **content)
        )

    yield entry(Kind.CREATE, details={"name": name, "unit": "person", "neighbours": "add-remove"})
    yield entry(Kind.BUDGET, mu="1000", mu_squared="1000000", failure="0.001")
    for _ in range(count - 2):
        yield entry(Kind.SPEND, mu="0.1", mu_squared="0.01", failure="0", statement="whole")


def median_ms(work: Callable[[], object]) -> float:
    """The median time of a call in milliseconds."""
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1e3)
    return statistics.median(taken)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(sys.argv[1] if len(sys.argv) > 1 else Path(folder) / "ledger.sqlite")
        book.init()
        rows: list[tuple[float, float]] = []
        for count in LENGTHS:
            name = f"d{count}"
            book.load(entries(name, count))
            book.spend(name, mu=0.1, purpose="warm")
            spend = median_ms(lambda name=name: book.spend(name, mu=0.1, purpose="count"))
            status = median_ms(lambda name=name: book.status(name))
            started = time.perf_counter()
            book.verify(name)
            verify = time.perf_counter() - started
            rows.append((spend, status))
            print(
                f"{count:>9,} entries: spend {spend:6.2f} ms, status {status:6.2f} ms, "
                f"verify {verify:6.1f} s"
            )
        ratios = [late / early for early, late in zip(*rows, strict=True)]
        print(f"ratios: spend {ratios[0]:.2f}, status {ratios[1]:.2f}")
        if max(ratios) > MOST_RATIO or max(rows[-1]) > MOST_MS:
            sys.exit(f"more than {MOST_RATIO} times as long, or over {MOST_MS:g} ms")


if __name__ == "__main__":
    main()
