"""The 2020 census: ε and μ of each level and of whole files, each μ with a certificate, as a table.

    python examples/census/certify.py FOLDER [FILE ...]

FILE is dhc_persons, dhc_units, redistricting_persons_noise or redistricting_units_noise; without
any, all are taken. Certificates are written to FOLDER/FILE, and checked. Of each row:

    ρ           of zCDP, as the noise has it
    ε, Bureau   at δ = 10⁻¹⁰, by the Bureau's formula, ρ + 2√(ρ·log 1/δ)
    ε by ρ      at the same δ, the least one that follows from ρ-zCDP
    ε           at the same δ, of the noise as it is
    μ           for every ε, of the noise as it is: what the certificate proves

All are rounded up from proved bounds but ρ and the Bureau's formula. The last columns are bytes of
the certificate, and seconds of work for the row, and of a process of its own that checks it.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import gdpbridge as gdp

DELTA = 1e-10
FILES = ("redistricting_persons_noise", "redistricting_units_noise", "dhc_persons", "dhc_units")
HEAD = "| level | ρ | ε, Bureau | ε by ρ | ε | μ | bytes | seconds | to check |"
HERE = Path(__file__).parent


def rounded_up(value: float) -> str:
    """Return a number with four decimals, which is not below."""
    return f"{math.ceil(value * 1e4 - 1e-9) / 1e4:.4f}"


def names(specification: Path) -> list[str]:
    """Return what the comments call the levels."""
    lines = specification.read_text(encoding="utf-8").splitlines()
    return [line[2:].partition(":")[0] for line in lines if line.startswith("# ") and ": ρ" in line]


def rho_of(profile: gdp.Profile) -> float:
    """Return half the sum of all 1/σ²."""
    return (
        sum(one.times * float(one.transform.tail_variance) for one in profile.privacy_losses()) / 2
    )


def row(name: str, profile: gdp.Profile, target: Path) -> str:
    """Measure a level or a file, write and check its certificate, and return its row."""
    begun, rho = time.process_time(), rho_of(profile)
    bureau = rho + 2 * math.sqrt(rho * math.log(1 / DELTA))
    by_rho = float(gdp.profiles.ZCDP(rho=rho).epsilon_bounds(DELTA)[1])
    epsilon = float(profile.epsilon_bounds(DELTA)[1])
    certificate = gdp.measure(profile, failure=0).certificate
    if certificate is None:
        sys.exit(f"{name}: no certificate")
    certificate.save(target)
    made = time.process_time()
    before = os.times()
    checked = subprocess.run(
        [sys.executable, "-m", "gdpbridge_verify", str(target)],
        check=False,
        capture_output=True,
        text=True,
    )
    if checked.returncode:
        sys.exit(f"{name}: {checked.stdout}{checked.stderr}")
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    mu = float(certificate.claim.mu.high)
    numbers = [f"{rho:.5f}", *map(rounded_up, (bureau, by_rho, epsilon, mu))]
    sizes = [str(target.stat().st_size), f"{made - begun:.1f}", f"{spent:.1f}"]
    return f"| {name} | {' | '.join([*numbers, *sizes])} |"


def table(specification: Path, folder: Path) -> None:
    """Print the rows of a file, and write its certificates."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = gdp.load_profile(specification)
    print(f"\n{specification.stem}\n\n{HEAD}\n|{'---|' * HEAD.count(' | ')}---|", flush=True)
    for number, (name, level) in enumerate(zip(names(specification), profile.parts, strict=True)):
        print(row(name, level, folder / f"level_{number}.json"), flush=True)
    print(row("all levels", profile, folder / "all.json"), flush=True)


if __name__ == "__main__":
    for file in sys.argv[2:] or FILES:
        table(HERE / f"{file}.toml", Path(sys.argv[1]) / file)
