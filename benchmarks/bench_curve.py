"""Speed of μ(ε, δ) beside a root finder in a loop and beside an implied-volatility code.

Run it with ``python benchmarks/bench_curve.py``. All are timed in turns in one run; the best
of several turns counts.
"""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable

import lbriv
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from gdpbridge.gaussian import curve

PAIRS = 1_000_000
LOOP_PAIRS = 5_000
TURNS = 5
MEBI = 2.0**20


def plain_delta(mu: float, eps: float, delta: float) -> float:
    """δ_μ(ε) − δ as the textbook has it."""
    return float(ndtr(-eps / mu + mu / 2) - math.exp(eps) * ndtr(-eps / mu - mu / 2) - delta)


def brentq_loop(eps: list[float], delta: list[float]) -> list[float]:
    """The obvious way to invert it."""
    return [brentq(plain_delta, 1e-6, 1e3, args=pair) for pair in zip(eps, delta, strict=True)]


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def extra_memory(work: Callable[[], np.ndarray]) -> float:
    """Peak allocation beyond the result, in MiB."""
    tracemalloc.start()
    result = work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - result.nbytes) / MEBI


def main() -> None:
    """Time, compare and print."""
    rng = np.random.default_rng(2022)
    eps = rng.uniform(0.0, 20.0, PAIRS)
    delta = 10.0 ** rng.uniform(-300.0, math.log10(0.9), PAIRS)
    strike = np.exp(eps)
    some_eps, some_delta = eps[:LOOP_PAIRS].tolist(), delta[:LOOP_PAIRS].tolist()

    works: dict[str, tuple[Callable[[], object], int]] = {
        "gdpbridge mu": (lambda: curve.mu(eps, delta), PAIRS),
        "lbriv implied volatility": (
            lambda: lbriv.vectorized_implied_vol_strikes(delta, 1.0, strike, 1),
            PAIRS,
        ),
        f"brentq loop, from {LOOP_PAIRS} pairs": (
            lambda: brentq_loop(some_eps, some_delta),
            LOOP_PAIRS,
        ),
        "gdpbridge log_delta": (lambda: curve.log_delta(eps, mu), PAIRS),
        "gdpbridge epsilon": (lambda: curve.epsilon(mu, delta), PAIRS),
    }
    mu = curve.mu(eps, delta)
    best = dict.fromkeys(works, math.inf)
    for _ in range(TURNS):
        for name, (work, pairs) in works.items():
            best[name] = min(best[name], seconds(work) / pairs)

    ours = best["gdpbridge mu"]
    print(f"{PAIRS} pairs: ε uniform in [0, 20], δ log-uniform in [1e-300, 0.9]")
    print(f"{'':32}{'ns a pair':>12}{'s for all':>12}{'times mu':>12}")
    for name, each in best.items():
        print(f"{name:32}{each * 1e9:12.0f}{each * PAIRS:12.3f}{each / ours:12.2f}")
    print(f"extra memory of mu: {extra_memory(lambda: curve.mu(eps, delta)):.1f} MiB")

    theirs = lbriv.vectorized_implied_vol_strikes(delta, 1.0, strike, 1)
    gap = np.abs(theirs / mu - 1.0)
    ordinary = eps >= 0.1
    print(
        f"gap to lbriv: {np.nanmax(gap[ordinary]):.1e} at most for ε ≥ 0.1, "
        f"{np.nanmax(gap):.1e} at most, {np.isnan(theirs).sum()} unsolved by lbriv"
    )
    hard = curve.mu(100.0, 1e-300)
    other = float(
        lbriv.vectorized_implied_vol_strikes(np.array([1e-300]), 1.0, np.exp(np.array([100.0])), 1)[
            0
        ]
    )
    print(f"at ε = 100, δ = 1e-300: gdpbridge {hard:.16g}, lbriv {other:.16g}")


if __name__ == "__main__":
    main()
