"""Evaluations and time of the measuring methods, side by side.

Run it with ``python benchmarks/bench_measure.py`` for a table of ratios, or through pytest, which
checks the one ratio that is promised: certified at 1e-12 needs at least a hundred times fewer
evaluations than shuffled at 1e-3.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.errors import GdpBridgeError
from gdpbridge.mechanisms.base import Profile

MECHANISMS: dict[str, Profile] = {
    "laplace 0.5": profiles.Laplace(scale=0.5),
    "pure-dp 1": profiles.PureDP(epsilon=1),
    "sgd-family 2 1 2": profiles.SGDFamily(A=2, B=1, sigma=2),
    "sgd-family 2 0.5 2": profiles.SGDFamily(A=2, B=0.5, sigma=2),
    "icea 20 4": profiles.ICEA(messages=20, users=4),
    "randomized-response 0.3 7": profiles.RandomizedResponse(noise_parameter=0.3, buckets=7),
}
RUNS = [
    ("certified", "1e-9"),
    ("certified", "1e-12"),
    ("certified", "1e-30"),
    ("adaptive", "1e-3"),
    ("adaptive", "1e-6"),
    ("adaptive", "1e-9"),
    ("shuffled", "1e-2"),
    ("shuffled", "1e-3"),
    ("staircase", "1e-2"),
    ("staircase", "1e-3"),
]
TURNS = 3


@dataclass(frozen=True)
class Cost:
    """What one measurement took."""

    evaluations: int
    seconds: float


def cost(profile: Profile, method: str, tol: str) -> Cost | None:
    """The best of several turns; None where the method refuses."""
    best = None
    for _ in range(TURNS):
        started = time.perf_counter()
        try:
            found = gdp.measure(profile, tol, method=method)
        except GdpBridgeError:
            return None
        seconds = time.perf_counter() - started
        if best is None or seconds < best.seconds:
            best = Cost(found.evaluations, seconds)
    return best


def main() -> None:
    """Print evaluations and time as multiples of those of certified at 1e-12."""
    for name, profile in MECHANISMS.items():
        unit = cost(profile, "certified", "1e-12")
        assert unit is not None
        print(f"\n{name}: 1 = {unit.evaluations} evaluations, {1000 * unit.seconds:.1f} ms")
        for method, tol in RUNS:
            this = cost(profile, method, tol)
            if this is None:
                print(f"  {method:<10}{tol:>6}  refused")
                continue
            evaluations = this.evaluations / unit.evaluations
            seconds = this.seconds / unit.seconds
            print(f"  {method:<10}{tol:>6}{evaluations:>12.1f} x{seconds:>10.2f} x")


def test_certified_needs_a_hundredth_of_the_evaluations() -> None:
    """laplace 0.5, in one run: certified at 1e-12 beside shuffled at 1e-3."""
    profile = MECHANISMS["laplace 0.5"]
    certified, shuffled = cost(profile, "certified", "1e-12"), cost(profile, "shuffled", "1e-3")
    assert certified is not None
    assert shuffled is not None
    assert shuffled.evaluations >= 100 * certified.evaluations


if __name__ == "__main__":
    main()
