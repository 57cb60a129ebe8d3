"""Composed discrete losses beside their exact composition."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.mechanisms.base import Profile
from gdpbridge.profiles import PLD, ApproxDP, PureDP, Sequence

Atoms = list[tuple[float, float]]

SHARES = st.floats(0.05, 1.0)
LOSSES = st.one_of(st.floats(-3, 3), st.floats(-0.05, 0.05), st.floats(1, 25)).map(
    # tinier ones are refused as too extreme
    lambda loss: round(loss, 6)
)


def _pld(losses: list[float], weights: list[float]) -> Atoms | None:
    """Atoms whose masses under the other distribution sum to at most 1; the rest is infinite."""
    total = math.fsum(weights)
    atoms = [(loss, weight / total) for loss, weight in zip(losses, weights, strict=True)]
    other = math.fsum(mass * math.exp(-loss) for loss, mass in atoms)
    return atoms if other <= 1 else None


def _response(epsilon: float) -> Atoms:
    return [(epsilon, 1 / (1 + math.exp(-epsilon))), (-epsilon, 1 / (1 + math.exp(epsilon)))]


def _power(atoms: Atoms, times: int) -> Atoms:
    """All counts of each atom, with their multinomial masses."""
    found = []
    for some in itertools.product(range(times + 1), repeat=len(atoms) - 1):
        if sum(some) > times:
            continue
        counts = (*some, times - sum(some))
        ways, left = 1, times
        for count in counts:
            ways *= math.comb(left, count)
            left -= count
        pairs = list(zip(counts, atoms, strict=True))
        mass = ways * math.prod(mass**count for count, (_, mass) in pairs)
        found.append((math.fsum(count * loss for count, (loss, _) in pairs), mass))
    return found


def _delta(parts: list[Atoms], eps: np.ndarray, infinite: float) -> np.ndarray:
    """δ(ε); without an add direction of its own, a PLD has the same losses in both."""
    losses = np.array([math.fsum(loss for loss, _ in atoms) for atoms in itertools.product(*parts)])
    masses = np.array([math.prod(mass for _, mass in atoms) for atoms in itertools.product(*parts)])
    gains = -np.expm1(np.minimum(eps[:, None] - losses, 0.0))
    return infinite + (1 - infinite) * (gains * masses).sum(axis=1)


@settings(max_examples=6)
@given(
    losses=st.lists(LOSSES, min_size=2, max_size=3, unique=True),
    weights=st.lists(SHARES, min_size=3, max_size=3),
    first=st.integers(1, 4),
    epsilon=st.one_of(st.floats(0.005, 0.05), st.floats(0.1, 3)),
    times=st.integers(1, 20),
    failure=st.sampled_from([0.0, 1e-6]),
)
def test_bounds_hold(
    losses: list[float],
    weights: list[float],
    first: int,
    epsilon: float,
    times: int,
    failure: float,
) -> None:
    """The bounds enclose the exact composition, asked for one ε or for many."""
    atoms = _pld(losses, weights[: len(losses)])
    if atoms is None:
        return
    epsilon = float(f"{epsilon:.4g}")
    base: Profile = PureDP(epsilon=epsilon)
    if failure:
        base = ApproxDP(epsilon=epsilon, delta=failure)
    profile = Sequence(parts=[PLD(remove=atoms).compose(first), base.compose(times)])
    eps = np.array([0.0, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0])
    parts = [_power(atoms, first), _power(_response(epsilon), times)]
    infinite = -math.expm1(times * math.log1p(-failure))
    truth = _delta(parts, eps, infinite)
    rounding = 1e-12 * truth + 1e-15
    low, high = profile.delta_bounds(eps)
    assert (low <= truth + rounding).all()
    assert (truth <= high + rounding).all()
    for one, exact in zip(eps[::6], truth[::6], strict=True):
        low, high = profile.delta_bounds(float(one))
        assert low <= exact * (1 + 1e-12) + 1e-15
        assert exact <= high * (1 + 1e-12) + 1e-15


def test_a_largest_place_just_before_the_end() -> None:
    """Only coarse lines show it at first: no more than p is left at the end itself."""
    rare = gdp.profiles.ApproxDP(epsilon=1, delta=1e-6).subsample(rate=0.1).compose(1000)
    noise = gdp.profiles.Laplace(scale=3).subsample(rate=0.02).compose(500)
    runs = gdp.profiles.Sequence(parts=[rare, noise])
    found = gdp.measure(runs)
    mu, p = found.mu, found.failure
    assert p is not None
    assert 0 < mu.low <= mu.high
    assert float(mu.high) - float(mu.low) < 1e-8
    at = [float(found.attained_at) * share for share in (0.5, 0.9, 0.99, 0.999)]
    for eps in at:
        low, _ = runs.delta_bounds(eps)
        assert low <= float(p) + (1 - float(p)) * gdp.delta(float(mu.high), eps) + 1e-15
