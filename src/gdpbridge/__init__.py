"""gdpbridge: from any privacy profile to a certified μ of Gaussian differential privacy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gdpbridge import profiles
from gdpbridge.certificate.checker import Verification, verify
from gdpbridge.certificate.model import Certificate
from gdpbridge.errors import (
    GdpBridgeError,
    InputError,
    MissingExtraError,
    UndecidedError,
    WorkLimitError,
)
from gdpbridge.identify import Identification, TailStatus, Verdict, identify
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, Statement, measure
from gdpbridge.profiles.spec import load_profile

if TYPE_CHECKING:
    from gdpbridge.gaussian import ball
    from gdpbridge.gaussian.curve import (
        beta,
        delta,
        delta_complement,
        epsilon,
        log_delta,
        log_delta_complement,
        mu,
    )

__all__ = [
    "Certificate",
    "GdpBridgeError",
    "Identification",
    "InputError",
    "Interval",
    "Measurement",
    "MissingExtraError",
    "Statement",
    "TailStatus",
    "UndecidedError",
    "Verdict",
    "Verification",
    "WorkLimitError",
    "ball",
    "beta",
    "delta",
    "delta_complement",
    "epsilon",
    "identify",
    "load_profile",
    "log_delta",
    "log_delta_complement",
    "measure",
    "mu",
    "profiles",
    "verify",
]


def __getattr__(name: str) -> object:
    """Load what needs SciPy, which is slow to import, only when it is asked for."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version(__name__)
    if name == "ball":
        return importlib.import_module("gdpbridge.gaussian.ball")
    if name in __all__:
        return getattr(importlib.import_module("gdpbridge.gaussian.curve"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
