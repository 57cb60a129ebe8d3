"""DP-SGD beside the tools of today: end to end, and δ(ε) on many points.

Run it with ``python benchmarks/bench_dpsgd.py``. A peer that is not installed is left out; name
another interpreter that has it with GDPNUM_PYTHON or DP_ACCOUNTING_PYTHON. Whole processes are
timed in turns in one run, and the best of several turns counts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import numpy as np

TURNS = 3
SETTING = "noise_multiplier=1.0, sample_rate=0.01"
POINTS = 1000

OURS = f"""
import gdpbridge as gdp
found = gdp.measure(gdp.profiles.DPSGD({SETTING}, steps=10_000), tol=1e-4, failure=1e-10)
print(f"mu in [{{found.mu.low}}, {{found.mu.high}}] at p = 1e-10")
"""
GDPNUM = f"""
import gdpnum
mu, _ = gdpnum.dpsgd.get_mu_and_regret_for_dpsgd({SETTING}, num_steps=10_000)
print(f"mu = {{mu:.6f}} for every epsilon, which it is not")
"""
MANY = f"""
import time
import numpy as np
eps = np.linspace(0, 10, {POINTS})
def best(work):
    work()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
"""
MANY_OURS = f"""{MANY}
import gdpbridge as gdp
run = gdp.profiles.DPSGD({SETTING}, steps=10_000)
print(best(lambda: run.delta(eps)))
"""
MANY_THEIRS = f"""{MANY}
from dp_accounting.pld import privacy_loss_distribution as pld
run = pld.from_gaussian_mechanism(
    1.0, sampling_prob=0.01, value_discretization_interval=1e-4, use_connect_dots=True
).self_compose(10_000)
print(best(lambda: run.get_delta_for_epsilon(eps)))
"""


def output(python: str, program: str) -> tuple[float, str]:
    """Wall time of a fresh process, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=False, env=os.environ
    )
    return time.perf_counter() - start, done.stdout.strip() if not done.returncode else ""


def main() -> None:
    """Time, compare and print."""
    gdpnum = os.environ.get("GDPNUM_PYTHON", sys.executable)
    accounting = os.environ.get("DP_ACCOUNTING_PYTHON", sys.executable)
    best: dict[str, float] = {}
    printed: dict[str, str] = {}
    for _ in range(TURNS):
        for name, python, program in (
            ("gdpbridge", sys.executable, OURS),
            ("gdpnum", gdpnum, GDPNUM),
        ):
            seconds, printed[name] = output(python, program)
            best[name] = min(best.get(name, np.inf), seconds)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    for name, seconds in best.items():
        shown = printed[name] or "not installed"
        print(f"{name:12} {seconds:6.2f} s end to end   {shown}")
    if printed["gdpnum"]:
        print(f"ratio        {best['gdpbridge'] / best['gdpnum']:6.2f}")
    print(f"peak memory of the largest process {peak:.0f} MiB")
    ours, theirs = output(sys.executable, MANY_OURS)[1], output(accounting, MANY_THEIRS)[1]
    print(f"delta(eps) on {POINTS} points: gdpbridge {float(ours) * 1e3:.2f} ms", end="")
    if theirs:
        print(
            f", dp_accounting {float(theirs) * 1e3:.0f} ms, {float(theirs) / float(ours):.0f} times"
        )
    else:
        print(", dp_accounting not installed")


if __name__ == "__main__":
    main()
