"""Speed of tables and of exact composition, from the input to a proved μ.

Run it with ``python benchmarks/bench_table.py``. The best of several turns counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gdpbridge as gdp
from gdpbridge import profiles

ROWS = 1_000_000
TURNS = 3


def best(work: Callable[[], object]) -> float:
    """Wall time of the fastest of several calls."""
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def report(what: str, seconds: float) -> None:
    """Print a line of the table."""
    print(f"{what:<60}{1000 * seconds:>10.0f} ms")


def table_of(eps: np.ndarray, delta: np.ndarray, folder: Path) -> None:
    """Time a million rows: reading, the envelope, and the proof."""
    path = folder / "pairs.csv"
    lines = (f"{e!r},{d!r}" for e, d in zip(eps.tolist(), delta.tolist(), strict=True))
    path.write_text("eps,delta\n" + "\n".join(lines), encoding="utf-8")
    text = path.read_text(encoding="utf-8").split("\n", 1)[1].replace("\n", ",").split(",")
    report("  float() of every number alone, for scale", best(lambda: list(map(float, text))))
    report("  read and check a CSV file", best(lambda: profiles.Table(str(path))))
    pairs = profiles.Table(str(path))
    report("  the envelope", best(pairs.build_curve))
    report("  measure, the envelope found", best(lambda: gdp.measure(pairs)))


def main() -> None:
    """Time everything."""
    rng = np.random.default_rng(0)
    eps = np.linspace(0, 2, ROWS)
    true = np.asarray(profiles.Laplace(scale=0.5).delta(eps))
    with tempfile.TemporaryDirectory() as folder:
        print("a million rows, all of them corners")
        table_of(eps, true, Path(folder))
        print("a million rows, most of them implied by others")
        table_of(eps, np.minimum(true * (1 + rng.random(ROWS)), 1), Path(folder))
    for times in (50, 10_000, 1_000_000):
        pure = profiles.PureDP(epsilon=1 / times**0.5)
        report(
            f"{times:,} runs of {times**-0.5:g}-DP to 1e-9",
            best(lambda pure=pure, times=times: gdp.measure(pure.compose(times))),
        )


if __name__ == "__main__":
    main()
