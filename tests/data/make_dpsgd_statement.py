"""Compute log delta(eps) of two DP-SGD runs at 200 eps each, remove direction.

The method is that of make_dpsgd_reference.py, at its first resolution. Needs numpy, scipy and
python-flint, and some minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

from make_dpsgd_reference import REMOVE, log_delta

RUNS = (("9.4", "0.328", 2000), ("1", "0.01", 10_000))
POINTS, LARGEST = 200, 12.0


def main(target: Path) -> None:
    """Write the table."""
    eps = [f"{LARGEST * number / (POINTS - 1):.6g}" for number in range(POINTS)]
    runs = []
    for sigma, q, steps in RUNS:
        values = []
        for one in eps:
            value = log_delta(sigma, q, steps, one, REMOVE)
            values.append(None if value is None else value.mid().str(18, radius=False))
        runs.append({"sigma": sigma, "q": q, "steps": steps, "log_delta": values})
    target.write_text(json.dumps({"eps": eps, "runs": runs}, indent=0) + "\n")


if __name__ == "__main__":
    main(Path(__file__).with_name("dpsgd_statement.json"))
