"""Settings of DP-SGD a minute, with one worker and with two: wall and CPU time.

Run it with ``python benchmarks/bench_sweep.py``; ``--settings N`` for another number of settings,
``--dask`` for a cluster of Dask on this machine. μ at the default p and ε at δ = 1e-5 of settings
drawn at random. The workers are started, and have loaded the library, before time is taken.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import gdpbridge as gdp

SEED = 7
DELTA = 1e-5
WORKERS = (1, 2)
WANTED = 10_000


def settings(number: int) -> list[dict[str, Any]]:
    """Return settings as people train with."""
    draw = random.Random(SEED)
    return [
        {
            "kind": "dpsgd",
            "noise_multiplier": round(draw.uniform(0.5, 3.0), 3),
            "batch_size": draw.choice([64, 128, 256, 512, 1024]),
            "records": 60_000,
            "epochs": draw.choice([1, 2, 5, 10, 20, 50]),
        }
        for _ in range(number)
    ]


@contextmanager
def executor(workers: int, *, dask: bool) -> Iterator[Executor]:
    """Start processes, and have them load what they need."""
    if dask:
        from distributed import Client

        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        with Client(**options) as client, client.get_executor() as pool:
            yield pool
    else:
        from loky import ProcessPoolExecutor

        with ProcessPoolExecutor(workers) as pool:
            yield pool


def main() -> None:
    """Sweep with each number of workers, and print rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=300)
    parser.add_argument("--dask", action="store_true")
    words = parser.parse_args()
    specs, wall = settings(words.settings), {}
    for workers in WORKERS:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with executor(workers, dask=words.dask) as pool:
            gdp.sweep(settings(16 * workers), pool, delta=DELTA)
            start = time.perf_counter()
            found = gdp.sweep(specs, pool, delta=DELTA)
            wall[workers] = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        failed = sum(row["error"] is not None for row in found)
        each = wall[workers] / len(specs)
        print(
            f"{workers} workers: {wall[workers]:.1f} s for {len(specs)} settings, {failed} failed; "
            f"{WANTED:,} would take {each * WANTED / 60:.1f} min; CPU, start and warming up "
            f"included, {cpu / (len(specs) + 16 * workers):.3f} s each"
        )
    print(f"two workers take {wall[2] / wall[1]:.2f} of the time of one")


if __name__ == "__main__":
    main()
