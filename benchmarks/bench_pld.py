"""A discrete privacy loss: fifty runs of 0.2-DP randomized response, to its least μ.

Run it with ``python benchmarks/bench_pld.py``; name an interpreter that has dp_accounting with
DP_ACCOUNTING_PYTHON. We compose the two atoms exactly and prove μ to 1e-12. dp_accounting rounds
losses to a grid of 1e-4, and a supremum over ε then takes δ(ε) at every point of that grid. It is
also timed at the 26 losses alone, which only somebody who knows the answer would choose.
"""

from __future__ import annotations

import os
import subprocess
import sys

TURNS = 3

_TIMED = """
import math
import time
def best(work):
    work()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
"""
OURS = f"""{_TIMED}
import gdpbridge as gdp
share = 1 / (1 + math.exp(-0.2))
def work():
    one = gdp.profiles.PLD(remove=[(-0.2, 1 - share), (0.2, share)])
    return gdp.measure(one.compose(50), tol=1e-12)
print(best(work), work().mu)
"""
THEIRS = f"""{_TIMED}
import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
def composed():
    share = 2 / (1 + math.exp(0.2))
    one = pld.from_randomized_response(share, 2, value_discretization_interval=1e-4)
    return one.self_compose(50)
grid = np.arange(0, 10, 1e-4)
known = 0.4 * np.arange(26)
print(best(lambda: composed().get_delta_for_epsilon(grid)))
def few():
    run = composed()
    return [run.get_delta_for_epsilon(eps) for eps in known]
print(best(few))
"""


def output(python: str, program: str) -> list[str]:
    """The words that a fresh process prints; none if it fails."""
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return [] if done.returncode else done.stdout.split()


def main() -> None:
    """Time in turns and print the best of each."""
    theirs = os.environ.get("DP_ACCOUNTING_PYTHON", sys.executable)
    ours, grid, known, mu = [], [], [], ""
    for _ in range(TURNS):
        seconds, *ends = output(sys.executable, OURS)
        ours.append(float(seconds))
        mu = " ".join(ends)
        found = output(theirs, THEIRS)
        if found:
            grid.append(float(found[0]))
            known.append(float(found[1]))
    print(f"gdpbridge      {1e3 * min(ours):8.2f} ms   μ in {mu}, certified")
    if not grid:
        print("dp_accounting  not installed")
        return
    print(f"dp_accounting  {1e3 * min(grid):8.2f} ms   δ(ε) at the {100_000:,} points of its grid")
    print(f"               {1e3 * min(known):8.2f} ms   δ(ε) at the 26 losses alone")
    print(f"ratio          {min(ours) / min(grid):8.4f} and {min(ours) / min(known):.3f}")


if __name__ == "__main__":
    main()
