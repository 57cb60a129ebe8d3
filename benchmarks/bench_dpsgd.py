"""DP-SGD beside the tools of today: μ, ε, and settings drawn at random, on one core.

Run it with ``python benchmarks/bench_dpsgd.py``; ``--settings N`` for another number of settings at
random (``--first M`` of which are summed up, too), ``--random`` for those alone, ``--peers`` for
the peers alone. A peer that is not installed is left out; name another interpreter that has it
with GDPNUM_PYTHON or DP_ACCOUNTING_PYTHON. Each program runs in a fresh process, in turns;
seconds of the processor count, imports left out, the best of several turns; those in all stand
behind.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

from gdpbridge.interval import Interval

TURNS = 3
DELTA = 1e-5
MU = ((9.4, 0.328, 2000), (1.0, 0.01, 10_000))
EPSILON = (*MU, (0.8, 256 / 60_000, 3516))
SEED = 2000

# the first call of a process also loads what it needs
WARM = (2.0, 0.02, 500)
TIMED = f"""
import json, sys, time
def timed(work):
    work(*{WARM})
    start, began = time.process_time(), time.perf_counter()
    found = work(*json.loads(sys.argv[1]))
    print(json.dumps([time.process_time() - start, time.perf_counter() - began, found]))
"""
RUN = """
import gdpbridge as gdp
from gdpbridge.convert import epsilon_at
def run(sigma, rate, steps):
    return gdp.profiles.DPSGD(noise_multiplier=sigma, sample_rate=rate, steps=steps)
"""
OUR_MU = f"""{TIMED}{RUN}
timed(lambda *setting: str(gdp.measure(run(*setting), tol=1e-9, failure=1e-10).mu))
"""
OUR_EPSILON = f"""{TIMED}{RUN}
timed(lambda *setting: str(epsilon_at(run(*setting), {DELTA})))
"""
GDPNUM = f"""{TIMED}
from gdpnum.dpsgd import get_mu_and_regret_for_dpsgd as found
timed(lambda sigma, rate, steps: float(found(sigma, rate, num_steps=steps)[0]))
"""
PLD = f"""{TIMED}
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant
def work(sigma, rate, steps):
    accountant = PLDAccountant()
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)), steps)
    return float(accountant.get_epsilon({DELTA}))
timed(work)
"""


def output(
    python: str, program: str, setting: tuple[float, float, int]
) -> tuple[float, float, object]:
    """Return a program's seconds in a fresh process, and what it found; inf if it fails."""
    words = [python, "-c", program, json.dumps(setting)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return float("inf"), float("inf"), None
    seconds, whole, found = json.loads(done.stdout.splitlines()[-1])
    return seconds, whole, found


def beside(
    what: str, setting: tuple[float, float, int], programs: dict[str, tuple[str, str]]
) -> None:
    """Time programs in turns, and print the best of each and the ratio."""
    best: dict[str, tuple[float, float, object]] = {}
    for _ in range(TURNS):
        for name, (python, program) in programs.items():
            best[name] = min(
                best.get(name, (np.inf, np.inf, None)),
                output(python, program, setting),
                key=lambda one: one[0],
            )
    (ours, whole, found), (theirs, others_whole, other) = best.values()
    ratio = f"{ours / theirs:5.2f}" if other is not None else "not installed"
    print(
        f"{what} {setting}: {ours:.3f} s ({whole:.3f} in all), {found}; {list(best)[1]} "
        f"{theirs:.3f} s ({others_whole:.3f}), {other}; {ratio}",
        flush=True,
    )


def settings(count: int) -> list[tuple[float, float, int]]:
    """Return settings at random: σ in [.3, 20], q in [1e-5, 1], T in [1, 2e5], all log-uniform."""
    random = np.random.default_rng(SEED)

    def drawn(low: float, high: float) -> float:
        return float(f"{np.exp(random.uniform(np.log(low), np.log(high))):.4g}")

    return [(drawn(0.3, 20), drawn(1e-5, 1), int(drawn(1, 2e5))) for _ in range(count)]


def at_random(count: int, first: int) -> None:
    """Find ε of settings at random; print times, of the first ones too, and the widest interval."""
    from gdpbridge import profiles
    from gdpbridge.convert import epsilon_at

    def found(setting: tuple[float, float, int]) -> Interval:
        sigma, rate, steps = setting
        run = profiles.DPSGD(noise_multiplier=sigma, sample_rate=rate, steps=steps)
        return epsilon_at(run, DELTA)

    found(WARM)
    began, seconds, widths = time.perf_counter(), [], []
    for setting in settings(count):
        start = time.process_time()
        answer = found(setting)
        seconds.append(time.process_time() - start)
        widths.append(answer.width / answer.upper if answer.upper else 0.0)
        if seconds[-1] > 1:
            print(f"  slow: {setting} {seconds[-1]:.1f} s, {answer}", flush=True)
        if len(seconds) in {first, count}:
            print(
                f"{len(seconds)} settings at random, ε at δ = {DELTA:g}: {sum(seconds):.1f} s of "
                f"the processor, {time.perf_counter() - began:.1f} s in all, median "
                f"{np.median(seconds):.3f} s, longest {max(seconds):.2f} s, widest interval "
                f"{max(widths):.1e} of ε",
                flush=True,
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process, imports included: {peak:.0f} MiB")


def main() -> None:
    """Time, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=1000)
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--random", action="store_true")
    asked = parser.parse_args()
    if asked.random:
        at_random(asked.settings, asked.first)
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    gdpnum = os.environ.get("GDPNUM_PYTHON", sys.executable)
    accounting = os.environ.get("DP_ACCOUNTING_PYTHON", sys.executable)
    for setting in MU:
        ours = (sys.executable, OUR_MU)
        beside("mu", setting, {"gdpbridge": ours, "gdpnum": (gdpnum, GDPNUM)})
    for setting in EPSILON:
        ours = (sys.executable, OUR_EPSILON)
        beside("epsilon", setting, {"gdpbridge": ours, "dp_accounting": (accounting, PLD)})
    if not asked.peers:
        # a process of its own, whose memory is that of these settings alone
        words = ["--random", f"--settings={asked.settings}", f"--first={asked.first}"]
        subprocess.run([sys.executable, __file__, *words], check=True)


if __name__ == "__main__":
    main()
