"""Composition by one tilted Fourier transform, with its errors bounded beforehand.

A law's masses are multiplied by e^{θL} and normalised by Z; the composed law of S = ΣL is found by
the fast Fourier transform, and the tilt is taken out of the sums at the end:

    θ ≥ 1:      E[(e^S - e^ε)⁺] = Z·e^{(1-θ)ε}·Σ_{S > ε} ν(S)·e^{-θ(S-ε)}(e^{S-ε} - 1),
    0 < θ < 1:  E[min(e^S, e^ε)] = Z·e^{(1-θ)ε}·Σ ν(S)·min(e^{(1-θ)(S-ε)}, e^{-θ(S-ε)}).

Every term is positive. What a transform gets wrong is small beside the largest mass, so that the
sums are right relative to themselves within a few standard deviations of the tilted mean, however
small they are. The weights of ν are at most κ = (θ-1)^{θ-1}/θ^θ, or 1, which turns bounds of mass
into bounds of the sums:

- Mass left out: atoms dropped at the ends, and losses beyond the law's ends as they were.
- Mass outside the window, by Chernoff's bound. The transform wraps it around into the window.
- The transform itself. Every output is a sum of products of an input and log₂ N twiddle factors, so
  that with ‖ν‖₁ = 1 it is off by at most γ = c·log₂ N units; a T-th power by T·γ(|z| + γ)^{T-1}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gdpbridge.losses.laws import UNIT, Law
from gdpbridge.losses.step import Loss
from gdpbridge.numeric.arrays import Floats, Indices

__all__ = [
    "LOG_SHARE",
    "MAX_POINTS",
    "Part",
    "Stretch",
    "WindowError",
    "compose_tilted",
    "log_chernoff",
    "log_moment",
]

# logarithm of the share of mass that may be left out, or lie outside the window
LOG_SHARE = -52.0
# a transform of so many numbers takes some 300 MiB
MAX_POINTS = 2 << 20
# units of rounding that a butterfly of a transform costs: a complex product and a sum make 4.3
_BUTTERFLY = 8.0
# exp, log and products of them
_FEW_UNITS = 8 * UNIT
_DEVIATIONS = np.geomspace(0.25, 40.0, 60)


class Part:
    """A law in one direction, and the loss that it stands for.

    Args:
        law: the law of the step's loss under Q.
        loss: the loss.
    """

    def __init__(self, law: Law, loss: Loss) -> None:
        self.loss, self.times = loss, loss.times
        self.ends = law.ends
        self.law = law.mirrored() if loss.mirrored else law

    def log_beyond(self, theta: float) -> float:
        """Bound log E[e^{θL}] of the losses beyond the law's ends."""
        tilt, (low, high) = self.loss.tilt(theta), self.ends
        step = self.loss.step
        above = -math.inf if high == math.inf else step.log_beyond(tilt, high)
        below = -math.inf if low == -math.inf else step.log_short_of(tilt, low)
        return float(np.logaddexp(above, below))


@dataclass(frozen=True)
class Stretch:
    """What one tilt says of the composed loss at neighbouring lattice points.

    Attributes:
        theta: θ; the numbers are log E[(e^S - e^ε)⁺] for θ ≥ 1, else log E[min(e^S, e^ε)].
        start: the loss at the first lattice point.
        spacing: the distance of lattice points.
        log_low: lower bounds at the lattice points.
        log_high: upper bounds.
    """

    theta: float
    start: float
    spacing: float
    log_low: Floats
    log_high: Floats

    @property
    def is_call(self) -> bool:
        """Whether the numbers are calls."""
        return self.theta >= 1

    @property
    def size(self) -> int:
        """How many lattice points there are."""
        return self.log_low.size

    @property
    def stop(self) -> float:
        """The loss at the last lattice point."""
        return self.start + (self.size - 1) * self.spacing

    def cut(self, first: int, last: int) -> Stretch:
        """Return the part between two lattice points."""
        return replace(
            self,
            start=self.start + first * self.spacing,
            log_low=self.log_low[first : last + 1].copy(),
            log_high=self.log_high[first : last + 1].copy(),
        )


@dataclass(frozen=True)
class _Tilt:
    """A law after tilting, cut to where its mass is."""

    index: Indices
    nu: Floats
    centred: Floats
    mean: float
    log_z: float
    dropped: float
    error: float


def compose_tilted(parts: Sequence[Part], theta: float) -> Stretch:
    """Return bounds of the composed laws' sums.

    The bounds are of the laws, not of what these stand for; losses beyond a law's ends are added
    to the upper bound as they are.

    Args:
        parts: laws on lattices of the same spacing.
        theta: θ > 0.

    Raises:
        WindowError: if the window would need more than ``MAX_POINTS`` points.
    """
    tilts = [_tilt(part, theta) for part in parts]
    times = np.array([part.times for part in parts])
    spacing = float(parts[0].law.lattice.spacing)
    origin = math.fsum(part.times * part.law.lattice.start for part in parts)
    log_z = float(sum(part.times * tilt.log_z for part, tilt in zip(parts, tilts, strict=True)))
    low, high = _window(tilts, times)
    first = math.floor((low - origin) / spacing)
    count = math.ceil((high - origin) / spacing) - first + 1
    if count > MAX_POINTS:
        raise WindowError(count)
    nu, error = _transform(tilts, times, first, count)
    eps = origin + (first + np.arange(nu.size)) * spacing
    missing = 2.0 * math.exp(LOG_SHARE)
    left_out = _exp(float(times @ [tilt.dropped for tilt in tilts]) * 1.01) - 1
    sums, largest, reach = (_calls if theta >= 1 else _minima)(nu, theta, spacing)
    noise = error * reach + missing * largest
    off = _FEW_UNITS * (8 + math.log2(nu.size)) + float(times @ [tilt.error for tilt in tilts])
    scale = log_z + (1 - theta) * eps
    off += _FEW_UNITS * (np.abs(scale) + abs(log_z) + np.abs(theta * eps) + abs(theta * origin))
    with np.errstate(divide="ignore"):
        log_high = scale + np.log(sums + noise + left_out * largest) + off
        log_low = scale + np.log(np.maximum(sums - noise, 0.0)) - off
    return Stretch(theta, float(eps[0]), spacing, log_low, log_high)


def log_moment(parts: Sequence[Part], theta: float) -> float:
    """Return an upper bound of log E[e^{θS}], the losses beyond the laws' ends included."""
    total = 0.0
    for part in parts:
        tilt = _tilt(part, theta)
        # the masses need not add up to 1: log_z is rounded
        whole = math.fsum(tilt.nu) + tilt.dropped
        total += part.times * (tilt.log_z + math.log(whole) + tilt.error + _FEW_UNITS)
    return total + _FEW_UNITS * len(parts) * (1 + abs(total))


def log_chernoff(moment: float, theta: float, eps: Floats) -> Floats:
    """Bound log E[(e^S - e^ε)⁺] by a bound of log E[e^{θS}], θ ≥ 1."""
    scale = (1 - theta) * eps
    return moment + scale + _log_kappa(theta) + _FEW_UNITS * (1 + np.abs(scale) + abs(moment))


class WindowError(Exception):
    """The window of a transform would be too wide."""

    def __init__(self, points: int) -> None:
        super().__init__(f"a transform of {points:,} points")
        self.points = points


def _tilt(part: Part, theta: float) -> _Tilt:
    law = part.law
    loss = law.lattice.losses(law.index)
    log_weight = law.log_mass + theta * loss
    log_z = float(np.logaddexp.reduce(log_weight))
    nu = np.exp(log_weight - log_z)
    share = math.exp(LOG_SHARE) / part.times
    start = int(np.searchsorted(np.cumsum(nu), share, side="right"))
    stop = nu.size - int(np.searchsorted(np.cumsum(nu[::-1]), share, side="right"))
    dropped = float(nu[:start].sum() + nu[stop:].sum())
    dropped += _exp(part.log_beyond(theta) - log_z)
    kept = slice(start, stop)
    error = law.error[kept] + _FEW_UNITS * (
        1 + np.abs(log_weight[kept]) + np.abs(theta * loss[kept]) + abs(log_z)
    )
    mean = float(nu[kept] @ loss[kept] / nu[kept].sum())
    return _Tilt(
        law.index[kept], nu[kept], loss[kept] - mean, mean, log_z, dropped, float(error.max())
    )


def _window(tilts: list[_Tilt], times: np.ndarray) -> tuple[float, float]:
    """Return losses outside which at most e^{LOG_SHARE} of the mass is, on either side."""
    mean = float(sum(count * tilt.mean for count, tilt in zip(times, tilts, strict=True)))
    variance = sum(
        count * float(tilt.nu @ tilt.centred**2) for count, tilt in zip(times, tilts, strict=True)
    )
    scale = math.sqrt(variance) or 1.0
    ends = []
    for sign in (-1.0, 1.0):
        rates = sign * _DEVIATIONS / scale
        cumulants = np.zeros(rates.size)
        for count, tilt in zip(times, tilts, strict=True):
            exponents = rates[:, None] * tilt.centred[None, :]
            peak = exponents.max(axis=1)
            inner = np.exp(exponents - peak[:, None]) @ tilt.nu
            cumulants += count * (np.log(inner) + peak)
        distances = (np.maximum(cumulants, 0.0) - LOG_SHARE) / np.abs(rates)
        ends.append(mean + sign * float(distances.min()))
    return ends[0], ends[1]


def _transform(
    tilts: list[_Tilt], times: np.ndarray, first: int, count: int
) -> tuple[Floats, float]:
    """Return the composed masses from lattice point ``first`` on, and what each may be off by."""
    from scipy.fft import irfft, next_fast_len, rfft

    size = next_fast_len(max(count, 16), real=True)
    gamma = _BUTTERFLY * UNIT * math.log2(size)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    log_bound = np.zeros(spectrum.size)
    relative = np.zeros(spectrum.size)
    for number, tilt in zip(times, tilts, strict=True):
        z = rfft(np.bincount(tilt.index % size, weights=tilt.nu, minlength=size))
        modulus = np.abs(z) + gamma
        spectrum *= _power(z, int(number))
        log_bound += number * np.log(modulus)
        relative += number * (gamma / modulus + 4 * UNIT)
    bound = 1.001 * np.exp(log_bound)
    # the half spectrum stands for both halves
    total, off = 2 * float(bound.sum()), 2 * float(bound @ np.expm1(np.minimum(relative, 50.0)))
    masses = irfft(spectrum, n=size)
    return np.roll(np.maximum(masses, 0.0), -(first % size)), (off + gamma * total) / size


def _power(z: np.ndarray, exponent: int) -> np.ndarray:
    """Return z to a whole power by squaring: its relative error is √5 units a factor at most."""
    result = None
    while True:
        if exponent & 1:
            result = z.copy() if result is None else result * z
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        z = z * z


def _calls(nu: Floats, theta: float, spacing: float) -> tuple[Floats, float, float]:
    """Return Σ_{S > ε} ν·e^{-θ(S-ε)}(e^{S-ε} - 1), the largest weight, and the sum of weights."""
    # with x = e^{-(θ-1)h}, y = e^{-θh} and A = Σ_{S ≥ ε} ν·x^{(S-ε)/h}, the sum D has
    # D(ε - h) = y·D(ε) + (x - y)·A(ε), where nothing cancels
    slower = _decaying_sums(nu[::-1], (theta - 1) * spacing)
    sums = _decaying_sums(slower, theta * spacing)
    sums *= math.exp(-theta * spacing) * math.expm1(spacing)
    shifted = np.append(0.0, sums[:-1])[::-1]
    largest = math.exp(_log_kappa(theta))
    fast = theta * spacing
    weights = min(_geometric((theta - 1) * spacing), nu.size)
    # of both series as many terms as there are points
    weights -= -math.expm1(-fast * nu.size) * _geometric(fast)
    return shifted, largest, min(max(weights, 0.0) + 1.0, nu.size * largest)


def _minima(nu: Floats, theta: float, spacing: float) -> tuple[Floats, float, float]:
    """Return Σ ν·min(e^{(1-θ)(S-ε)}, e^{-θ(S-ε)}), the largest weight, and the sum of weights."""
    below = _decaying_sums(nu, (1 - theta) * spacing)
    above = _decaying_sums(nu[::-1], theta * spacing)[::-1]
    weights = 1 + _geometric((1 - theta) * spacing) + _geometric(theta * spacing)
    return (
        below + np.append(above[1:], 0.0) * math.exp(-theta * spacing),
        1.0,
        min(weights, nu.size),
    )


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _decaying_sums(values: Floats, rate: float) -> Floats:
    """Return Σ_{j ≤ i} values_j·e^{-rate·(i-j)}, by doubling: a sum of 2k terms from two of k."""
    sums = values.copy()
    length = 1
    while length < sums.size and (factor := math.exp(-rate * length)) > 0:
        sums[length:] += factor * sums[:-length]
        length *= 2
    return sums


def _geometric(rate: float) -> float:
    """Return Σ_{k ≥ 1} e^{-rate·k}."""
    return 1 / math.expm1(min(rate, 700.0)) if rate > 0 else math.inf


def _log_kappa(theta: float) -> float:
    """Return the logarithm of the largest e^{-θx}(e^x - 1)."""
    if theta <= 1:
        return 0.0
    return (theta - 1) * math.log1p(-1 / theta) - math.log(theta)
