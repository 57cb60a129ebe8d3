"""Numbers that users give one by one or as arrays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gdpbridge.errors import InputError
from gdpbridge.numeric.exact import exact

__all__ = ["checked_points", "decimals_of", "shaped_like"]


def checked_points(values: ArrayLike, field: str, top: float) -> NDArray[np.float64]:
    """Return numbers in [0, top] as an array.

    Raises:
        InputError: for others, naming the field.
    """
    allowed = f"a number or an array of numbers in [0, {top:g}]"
    try:
        points = np.asarray(values)
        if points.dtype.kind not in "iuf":
            raise TypeError
        points = points.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(field, values, allowed) from None
    outside = ~((points >= 0) & (points <= top))
    if outside.any():
        raise InputError(field, points[outside].flat[0], allowed)
    return points


def decimals_of(points: NDArray[np.float64]) -> list[Fraction]:
    """Return the decimals that floats stand for."""
    return [exact(point) for point in points.ravel().tolist()]


def shaped_like(given: ArrayLike, values: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Return a float where a number was given, else the array."""
    return float(values) if np.ndim(given) == 0 else values
