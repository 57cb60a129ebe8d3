"""The float64 curve on pairs (log δ, log(1 - δ)), for callers that hold both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gdpbridge.gaussian import curve

__all__ = ["log_pair", "mu_from_logs"]

Array = NDArray[np.float64]


def mu_from_logs(eps: Array, log_delta: Array, log_complement: Array) -> Array:
    """Return μ(ε, δ), using whichever of the two logarithms is the better conditioned."""
    return np.asarray(curve._in_blocks(curve._mu_from_log, eps, log_delta, log_complement))


def log_pair(eps: Array, mu: Array) -> tuple[Array, Array]:
    """Return log δ_μ(ε) and log(1 - δ_μ(ε)), both accurate."""
    return curve._log_pair(eps, mu)
