"""Record the bounds on epsilon that prv_accountant proves, for random DP-SGD settings.

Needs prv-accountant 0.2.0. Each setting runs in its own process with a time limit.
"""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import time
from pathlib import Path

SEED, COUNT, LIMIT = 20221128, 40, 20.0
DELTA, EPS_ERROR = 1e-5, 0.02
CALL = """
import sys
from prv_accountant.dpsgd import DPSGDAccountant
sigma, q, steps, delta, eps_error = (float(x) for x in sys.argv[1:])
account = DPSGDAccountant(noise_multiplier=sigma, sampling_probability=q, max_steps=int(steps),
                          eps_error=eps_error, delta_error=delta / 1000)
print(*(repr(float(x)) for x in account.compute_epsilon(delta=delta, num_steps=int(steps))))
"""


def uniform(rng: random.Random, low: float, high: float) -> float:
    """A number between low and high, uniform in its logarithm."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def bounds(sigma: float, q: float, steps: int) -> dict[str, object]:
    """The lower bound, the estimate and the upper bound, or the error's message."""
    row: dict[str, object] = {"sigma": sigma, "q": q, "steps": steps}
    start = time.monotonic()
    call = [sys.executable, "-c", CALL, *map(repr, (sigma, q, steps, DELTA, EPS_ERROR))]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        row["error"] = f"no answer within {LIMIT:.0f} s"
        return row
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        row["error"] = next(
            (x for x in reversed(lines) if re.match(r"\w+(Error|Warning)", x)), lines[-1]
        )
        return row
    row["eps_low"], row["eps_estimate"], row["eps_up"] = map(float, done.stdout.split())
    row["seconds"] = round(time.monotonic() - start, 2)
    return row


def main(target: Path) -> None:
    """Write the table."""
    rng = random.Random(SEED)
    rows = []
    for _ in range(COUNT):
        sigma = float(f"{uniform(rng, 0.3, 50):.4g}")
        q = float(f"{uniform(rng, 1e-5, 1):.4g}")
        rows.append(bounds(sigma, q, round(uniform(rng, 1, 1e6))))
        print(rows[-1], file=sys.stderr, flush=True)
        table = {
            "about": "prv-accountant 0.2.0: proved bounds on eps at delta. Made by "
            "make_dpsgd_prv_bounds.py.",
            "delta": DELTA,
            "eps_error": EPS_ERROR,
            "seed": SEED,
            "settings": rows,
        }
        target.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).with_name("prv_bounds.json"))
