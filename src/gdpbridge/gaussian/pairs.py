"""The float64 curve on pairs (log δ, log(1 - δ)), for callers that hold both."""

from __future__ import annotations

import numpy as np

from gdpbridge.gaussian import curve
from gdpbridge.numeric.arrays import Floats

__all__ = ["log_pair", "mu_from_logs"]


def mu_from_logs(eps: Floats, log_delta: Floats, log_complement: Floats) -> Floats:
    """Return μ(ε, δ), using whichever of the two logarithms is the better conditioned."""
    return np.asarray(curve._in_blocks(curve._mu_from_log, eps, log_delta, log_complement))


def log_pair(eps: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Return log δ_μ(ε) and log(1 - δ_μ(ε)), both accurate."""
    return curve._log_pair(eps, mu)
