"""Audit a program around an OpenDP measurement: a clamped sum with Laplace noise.

The right program clamps each value to [0, 1] before the sum; the wrong one forgets to, so that one
large value moves the sum by more than the noise is made for. Both are run on two neighbouring data
sets, with and without that value.

    pip install 'gdpbridge[mechanisms]'
    python examples/audit_opendp.py
"""

from __future__ import annotations

from collections.abc import Callable

import opendp.prelude as dp

import gdpbridge as gdp

SCALE = 1.0
CLAIM = gdp.profiles.Laplace(scale=SCALE, sensitivity=1.0)
WORLDS = ([0.2, 0.5, 0.9], [0.2, 0.5, 0.9, 7.0])

Program = Callable[[list[float]], float]


def programs() -> dict[str, Program]:
    """Return the right program, and the one that forgets to clamp."""
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noisy = dp.m.make_laplace(*space, scale=SCALE)

    def clamped(values: list[float]) -> float:
        return float(noisy(sum(min(max(value, 0.0), 1.0) for value in values)))

    def unclamped(values: list[float]) -> float:
        return float(noisy(sum(values)))

    return {"clamped": clamped, "unclamped": unclamped}


def main() -> None:
    """Audit both, and print what was found."""
    for name, program in programs().items():
        found = gdp.audit_mechanism(program, worlds=WORLDS, runs=5000, against=CLAIM, delta=0)
        print(f"{name}: {found.sentence}")


if __name__ == "__main__":
    main()
