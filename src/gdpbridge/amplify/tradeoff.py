"""What bounds and ε_h cost: clipping against noise, for a distribution that is no secret."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gdpbridge.amplify.clip_rectify import clip_and_rectify
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.arrays import Floats

__all__ = ["ClippingTradeoff", "TradeoffRow", "clipping_tradeoff"]


@dataclass(frozen=True)
class TradeoffRow:
    """What one choice of ε_h and bounds costs.

    Attributes:
        eps_h: the width of the bounds over the scale of the noise.
        lower: y⁻.
        upper: y⁺.
        clipped_share: the share of the answers outside the bounds.
        bias: by how much clipping moves the mean.
        clipping_error: the root mean square of what clipping changes.
        noise_error: the standard deviation of the noise.
        mu: the μ of the result, if a profile was given.
    """

    eps_h: float
    lower: float
    upper: float
    clipped_share: float
    bias: float
    clipping_error: float
    noise_error: float
    mu: Interval | None

    @property
    def total_error(self) -> float:
        """The root mean square of both errors together; the noise is independent."""
        return math.hypot(self.clipping_error, self.noise_error)


@dataclass(frozen=True)
class ClippingTradeoff:
    """The answer of :func:`clipping_tradeoff`; as text, a table.

    Attributes:
        rows: one for each ε_h and pair of bounds, in the order given.
    """

    rows: tuple[TradeoffRow, ...]

    def best(self, eps_h: float) -> TradeoffRow:
        """Return the row with the least total error for an ε_h.

        Raises:
            InputError: if the table has no such ε_h.
        """
        rows = [row for row in self.rows if row.eps_h == eps_h]
        if not rows:
            known = ", ".join(f"{value:g}" for value in dict.fromkeys(r.eps_h for r in self.rows))
            raise InputError("eps_h", eps_h, f"one of {known}")
        return min(rows, key=lambda row: row.total_error)

    def __str__(self) -> str:
        names = ["ε_h", "y⁻", "y⁺", "clipped", "bias", "clipping", "noise", "total", "μ"]
        lines = ["".join(f"{name:>11}" for name in names)]
        for row in self.rows:
            mu = "" if row.mu is None else f"{row.mu.upper:.6g}"
            values = [row.bias, row.clipping_error, row.noise_error, row.total_error]
            lines.append(
                f"{row.eps_h:>11.5g}{row.lower:>11.5g}{row.upper:>11.5g}"
                f"{row.clipped_share:>11.2%}"
                + "".join(f"{value:>11.4g}" for value in values)
                + f"{mu:>11}"
            )
        return "\n".join(lines)


def clipping_tradeoff(
    outputs: ArrayLike | Callable[[int], ArrayLike],
    eps_h: Iterable[float],
    bounds: Iterable[tuple[float, float]],
    *,
    profile: Profile | None = None,
    draws: int = 100_000,
) -> ClippingTradeoff:
    """Tabulate what clipping and noise cost for each ε_h and each pair of bounds.

    Args:
        outputs: answers drawn from a distribution that you suppose, or a function that draws that
            many. Never the private data, nor the mechanism's answers about it: bounds chosen by
            them would say something of them that no μ accounts for.
        eps_h: the values of ε_h to try.
        bounds: the pairs (y⁻, y⁺) to try.
        profile: the mechanism's profile, to tabulate μ too.
        draws: how many answers to draw, where ``outputs`` is a function.

    Raises:
        InputError: for an argument outside its range.
    """
    values = _values(outputs, draws)
    pairs, widths = list(bounds), [float(value) for value in eps_h]
    for name, given in (("eps_h", widths), ("bounds", pairs)):
        if not given:
            raise InputError(name, Words("empty"), Advice("give at least one to try"))
    for pair in pairs:
        if len(pair) != 2 or not -math.inf < pair[0] < pair[1] < math.inf:
            raise InputError("bounds", pair, "pairs of finite numbers, the lower first")
    for value in widths:
        if not 0 < value < math.inf:
            raise InputError("eps_h", value, "a number > 0 and at most 100000")
    # μ depends on ε_h alone
    mus = {
        value: None
        if profile is None
        else clip_and_rectify(profile, eps_h=value, lower=0, upper=1).mu
        for value in dict.fromkeys(widths)
    }
    return ClippingTradeoff(
        tuple(_row(values, value, *pair, mus[value]) for value in widths for pair in pairs)
    )


def _row(
    values: Floats, eps_h: float, lower: float, upper: float, mu: Interval | None
) -> TradeoffRow:
    moved = np.clip(values, lower, upper) - values
    return TradeoffRow(
        eps_h=eps_h,
        lower=float(lower),
        upper=float(upper),
        clipped_share=float(np.mean(moved != 0)),
        bias=float(np.mean(moved)),
        clipping_error=float(np.sqrt(np.mean(moved**2))),
        noise_error=math.sqrt(2.0) * (upper - lower) / eps_h,
        mu=mu,
    )


def _values(outputs: ArrayLike | Callable[[int], ArrayLike], draws: int) -> Floats:
    if draws < 1:
        raise InputError("draws", draws, "a whole number ≥ 1")
    try:
        values = np.asarray(outputs(draws) if callable(outputs) else outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("outputs", outputs, "numbers, or a function that draws them") from None
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError("outputs", Words(f"of shape {values.shape}"), "a row of finite numbers")
    return values
