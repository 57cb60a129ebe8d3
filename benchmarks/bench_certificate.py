"""How long checking a certificate takes beside measuring.

Run it with ``python benchmarks/bench_certificate.py``. For each kind and statement it prints the
milliseconds of measuring and of verifying (the best of a few runs, taken in turns) and their
ratio, which is to be at most 2.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gdpbridge
from gdpbridge import profiles
from gdpbridge.mechanisms.base import Profile

ROUNDS = 5
MOST = 2.0

PROFILES: list[Profile] = [
    profiles.Laplace(scale=2.0),
    profiles.Laplace(scale=0.01),
    profiles.PureDP(epsilon=1.0),
    profiles.ApproxDP(epsilon=1.0, delta=1e-6),
    profiles.ApproxDP(epsilon=0.1, delta=1e-6),
    profiles.RandomizedResponse(noise_parameter=0.3, buckets=4),
    profiles.Gaussian(sigma=2.0),
    profiles.GDP(mu=1.0),
    profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0),
    profiles.SGDFamily(A=1.0, B=0.5, sigma=1.0),
    profiles.SGDFamily(A=1.0, B=0.1, sigma=1.0),
    profiles.ICEA(messages=50, users=10),
]
STATEMENTS: list[dict[str, Any]] = [
    {}, {"eps_h": 1}, {"eps_h": 100}, {"failure": 0.01}, {"failure": 1e-6}, {"tol": "1e-30"},
]  # fmt: skip


def main() -> None:
    """Print the table."""
    print(f"{'mechanism':40} {'asked for':18} cells     kB  measure   verify ratio")
    worst = 0.0
    for profile in PROFILES:
        values = ", ".join(
            f"{name} {value:g}" for name, value in profile.model_dump().items()
            if isinstance(value, float | int)
        )  # fmt: skip
        for how in STATEMENTS:
            asked = ", ".join(f"{name}={value}" for name, value in how.items()) or "default"
            document = gdpbridge.measure(profile, **how).certificate
            if document is None:
                continue
            measured, verified = best_of(
                lambda how=how, profile=profile: gdpbridge.measure(again(profile), **how),
                lambda document=document: gdpbridge.verify(document),
            )
            ratio = verified / measured
            worst = max(worst, ratio)
            print(
                f"{f'{profile.kind} ({values})':40.40} {asked:18} {len(document.evidence.cells):5} "
                f"{len(document.to_json()) / 1000:6.1f} {1000 * measured:8.2f} "
                f"{1000 * verified:8.2f} {ratio:5.2f}{' !' if ratio > MOST else ''}"
            )
    print(f"largest ratio {worst:.2f}, to be at most {MOST:g}")


def again(profile: Profile) -> Profile:
    """The same profile without what was kept of earlier measurements."""
    return type(profile)(**profile.model_dump())


def best_of(*functions: Callable[[], object]) -> list[float]:
    """The least seconds of each function, run in turns."""
    least = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for i, function in enumerate(functions):
            started = time.process_time()
            function()
            least[i] = min(least[i], time.process_time() - started)
    return least


if __name__ == "__main__":
    main()
