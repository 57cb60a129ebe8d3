"""Time and memory of sampling a CSV file of a gigabyte, beside pandas in chunks.

Run it with ``python benchmarks/bench_sampling.py [MEGABYTES]``. Each way runs in a process of its
own; the memory is the most that process ever held, interpreter and imports included.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

RATE = 0.01
OURS = """
from gdpbridge.amplify.files import sample_file
kept = sample_file(source, target, RATE, scheme={scheme!r})
"""
PANDAS = """
import pandas
kept = 0
for number, chunk in enumerate(pandas.read_csv(source, chunksize=100_000)):
    part = chunk.sample(frac=RATE)  # not a Poisson sample, nor from a secure generator
    part.to_csv(target, mode="a" if number else "w", header=not number, index=False)
    kept += len(part)
"""
WAYS = {
    "poisson": OURS.format(scheme="poisson"),
    "without-replacement (two passes)": OURS.format(scheme="without-replacement"),
    "pandas, chunk by chunk": PANDAS,
}
HARNESS = """
import resource, sys, time
source, target, RATE = sys.argv[1], sys.argv[2], float(sys.argv[3])
start = time.perf_counter()
{way}
seconds = time.perf_counter() - start
print(kept, f"{{seconds:.1f}}", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(path: Path, size: int) -> int:
    """Write rows of a hundred bytes or so, one in seven with a quoted comma; return how many."""
    rows = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            for _ in range(10_000):
                name = f'"name, {rows}"' if rows % 7 == 0 else f"name {rows}"
                file.write(f"{rows},{name},{rows * 0.37:.6f},2024-01-01T00:00:00,some text of it\n")
                rows += 1
    return rows


def main() -> None:
    """Print a line for each way."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.csv", Path(folder) / "out.csv"
        rows = write(source, size * 10**6)
        print(f"{rows:,} rows, {source.stat().st_size / 1e6:,.0f} MB, rate {RATE}")
        for name, way in WAYS.items():
            script = HARNESS.format(way=way)
            words = [sys.executable, "-c", script, str(source), str(target), str(RATE)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
                continue
            kept, seconds, mebi = done.stdout.split()
            print(f"{name}: {int(kept):,} rows in {seconds} s, at most {mebi} MiB")


if __name__ == "__main__":
    main()
