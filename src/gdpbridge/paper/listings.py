"""The paper's two listings as they are printed, to show what comes out of them.

The library's methods "staircase" and "shuffled" are the corrected ones. Here the cells are gone
through as printed, with n = ⌈√8·c·π·ε_h⌉ + 1, d = ε_h/(n - 1), i = 0 to n + 1, and both updates
pairing the arguments of μ(ε, δ) the wrong way round. A binary search is not run: it ends on the two
points of its lattice about μ(ε, δ), and these are found by rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.mechanisms.base import Profile

__all__ = ["Listing", "Pairing", "Steps", "naive_listing", "optimised_listing", "steps"]

# of the arguments of μ(ε, δ): as in the listings, or as in the staircase theorem
Pairing = Literal["printed", "theorem"]

# where the binary search begins, as the paper suggests
_MU_MAX = 10.0


@dataclass(frozen=True)
class Steps:
    """The cells of a listing and their exact steps.

    Attributes:
        n: the paper's n; there are n + 2 cells.
        width: d, the width of a cell.
        lower: μ(x⁻, δ(x⁺)) on each cell, of shape (n + 2,).
        upper: μ(x⁺, δ(x⁻)), likewise.
    """

    n: int
    width: float
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


@dataclass(frozen=True)
class Listing:
    """What a listing ends with.

    Attributes:
        n: the paper's n.
        low: its μ⁻.
        high: its μ⁺.
        lower_searches: how many binary searches were for μ⁻.
        upper_searches: likewise for μ⁺.
    """

    n: int
    low: float
    high: float
    lower_searches: int
    upper_searches: int


def steps(profile: Profile, eps_h: float, c: int) -> Steps:
    """Return the exact steps on the cells that the listings go through.

    Args:
        profile: the mechanism.
        eps_h: the end of the head, > 0.
        c: the reciprocal of the margin.
    """
    n = math.ceil(math.sqrt(8) * c * math.pi * eps_h) + 1
    width = eps_h / (n - 1)
    places = np.asarray(width * np.arange(n + 3), dtype=np.float64)
    log, log_c = profile.curve.logs(places)
    lower = mu_from_logs(places[:-1], log[1:], log_c[1:])
    upper = mu_from_logs(places[1:], log[:-1], log_c[:-1])
    return Steps(n, width, lower, upper)


def naive_listing(profile: Profile, eps_h: float, c: int, pairing: Pairing) -> Listing:
    """Run the naive listing: two binary searches in each cell; arguments as for :func:`steps`."""
    cells = steps(profile, eps_h, c)
    for_low, for_high = _paired(cells, pairing)
    low, _ = _search(float(for_low.max()), c)
    _, high = _search(float(for_high.max()), c)
    return Listing(cells.n, low, high, for_low.size, for_high.size)


def optimised_listing(
    profile: Profile, eps_h: float, c: int, pairing: Pairing, seed: int
) -> Listing:
    """Run the optimised listing: shuffled cells, a search only where the record is beaten.

    Args:
        profile: the mechanism.
        eps_h: the end of the head, > 0.
        c: the reciprocal of the margin.
        pairing: how the arguments are paired.
        seed: of the shuffle.
    """
    cells = steps(profile, eps_h, c)
    for_low, for_high = _paired(cells, pairing)
    order = np.random.default_rng(seed).permutation(for_low.size)
    low = high = 0.0
    lower_searches = upper_searches = 0
    for to_low, to_high in zip(for_low[order].tolist(), for_high[order].tolist(), strict=True):
        if high < to_high:
            _, high = _search(to_high, c)
            upper_searches += 1
        if low < to_low:
            low, _ = _search(to_low, c)
            lower_searches += 1
    return Listing(cells.n, low, high, lower_searches, upper_searches)


def _paired(cells: Steps, pairing: Pairing) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the steps that μ⁻ and μ⁺ are made of."""
    if pairing == "theorem":
        return cells.lower, cells.upper
    return cells.upper, cells.lower


def _search(mu: float, c: int) -> tuple[float, float]:
    """Return where the binary search on [0, 10] ends: lattice points less than 1/(2c) apart."""
    halvings = math.floor(math.log2(_MU_MAX * 2 * c)) + 1
    spacing = _MU_MAX / 2.0**halvings
    below = min(math.floor(mu / spacing), 2**halvings - 1)
    return below * spacing, (below + 1) * spacing
