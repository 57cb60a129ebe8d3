"""gdpbridge: from any privacy profile to a certified μ of Gaussian differential privacy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gdpbridge import profiles
from gdpbridge.calibrate import Calibration, calibrate
from gdpbridge.compose import Composition, Part, compose
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
from gdpbridge.risk import Risk, risk
from gdpbridge.specification.load import load_profile

if TYPE_CHECKING:
    from gdpbridge import ledger, plot
    from gdpbridge.amplify.clip_rectify import ClipRectifyPlan, clip_and_rectify
    from gdpbridge.amplify.files import sample_file
    from gdpbridge.amplify.frames import sample
    from gdpbridge.amplify.subsample import SubsamplePlan, subsampling_plan
    from gdpbridge.amplify.tradeoff import ClippingTradeoff, clipping_tradeoff
    from gdpbridge.auditing import Audit, audit, audit_counts, audit_guesses, audit_mechanism
    from gdpbridge.certificate.checker import Verification, verify
    from gdpbridge.certificate.model import Certificate
    from gdpbridge.fit import regret
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
    from gdpbridge.report.privacy import PrivacyReport, privacy_report
    from gdpbridge.sources.entry import profile_of
    from gdpbridge.specification.release import Release

__all__ = [
    "Audit",
    "Calibration",
    "Certificate",
    "ClipRectifyPlan",
    "ClippingTradeoff",
    "Composition",
    "GdpBridgeError",
    "Identification",
    "InputError",
    "Interval",
    "Measurement",
    "MissingExtraError",
    "Part",
    "PrivacyReport",
    "Release",
    "Risk",
    "Statement",
    "SubsamplePlan",
    "TailStatus",
    "UndecidedError",
    "Verdict",
    "Verification",
    "WorkLimitError",
    "audit",
    "audit_counts",
    "audit_guesses",
    "audit_mechanism",
    "ball",
    "beta",
    "calibrate",
    "clip_and_rectify",
    "clipping_tradeoff",
    "compose",
    "delta",
    "delta_complement",
    "epsilon",
    "identify",
    "ledger",
    "load_profile",
    "log_delta",
    "log_delta_complement",
    "measure",
    "mu",
    "plot",
    "privacy_report",
    "profile_of",
    "profiles",
    "regret",
    "risk",
    "sample",
    "sample_file",
    "subsampling_plan",
    "verify",
]


_MODULES = {
    "ball": "gdpbridge.gaussian.ball",
    "ledger": "gdpbridge.ledger",
    "plot": "gdpbridge.plot",
}
# names whose modules are slow to import, for SciPy or for pydantic's models
_LAZY = {
    **dict.fromkeys(
        ("Audit", "audit", "audit_counts", "audit_guesses", "audit_mechanism"), "gdpbridge.auditing"
    ),
    "Certificate": "gdpbridge.certificate.model",
    "ClipRectifyPlan": "gdpbridge.amplify.clip_rectify",
    "ClippingTradeoff": "gdpbridge.amplify.tradeoff",
    "PrivacyReport": "gdpbridge.report.privacy",
    "Release": "gdpbridge.specification.release",
    "SubsamplePlan": "gdpbridge.amplify.subsample",
    "Verification": "gdpbridge.certificate.checker",
    "clip_and_rectify": "gdpbridge.amplify.clip_rectify",
    "clipping_tradeoff": "gdpbridge.amplify.tradeoff",
    "sample": "gdpbridge.amplify.frames",
    "sample_file": "gdpbridge.amplify.files",
    "subsampling_plan": "gdpbridge.amplify.subsample",
    "privacy_report": "gdpbridge.report.privacy",
    "profile_of": "gdpbridge.sources.entry",
    "regret": "gdpbridge.fit",
    "verify": "gdpbridge.certificate.checker",
    **dict.fromkeys(
        (
            "beta",
            "delta",
            "delta_complement",
            "epsilon",
            "log_delta",
            "log_delta_complement",
            "mu",
        ),
        "gdpbridge.gaussian.curve",
    ),
}


def __getattr__(name: str) -> object:
    """Load what is slow to import only when it is asked for."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version(__name__)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
