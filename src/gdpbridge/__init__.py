"""gdpbridge: from any privacy profile to a certified μ of Gaussian differential privacy."""

from __future__ import annotations

from gdpbridge.starting import guard_start

# the imports below take a good part of a second, and run what they find
guard_start()

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from gdpbridge import profiles
from gdpbridge.errors import (
    GdpBridgeError,
    InputError,
    MissingExtraError,
    RefusedError,
    UnavailableError,
    UndecidedError,
    WorkLimitError,
)

if TYPE_CHECKING:
    from gdpbridge import ledger, plot
    from gdpbridge.amplify.clip_rectify import ClipRectifyPlan, clip_and_rectify
    from gdpbridge.amplify.files import sample_file
    from gdpbridge.amplify.frames import sample
    from gdpbridge.amplify.subsample import SubsamplePlan, subsampling_plan
    from gdpbridge.amplify.tradeoff import ClippingTradeoff, clipping_tradeoff
    from gdpbridge.auditing import Audit, audit, audit_counts, audit_guesses, audit_mechanism
    from gdpbridge.calibrate import calibrate
    from gdpbridge.calibration import Calibration
    from gdpbridge.certificate.model import Certificate
    from gdpbridge.certificate.verify import Verification, verify
    from gdpbridge.check import Checked, check
    from gdpbridge.claims import Claim
    from gdpbridge.compose import Composition, Part, compose, compose_certificates
    from gdpbridge.curves.nature import Nature
    from gdpbridge.fit import regret, regret_certificate
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
    from gdpbridge.identify import Identification, TailStatus, Verdict, identify
    from gdpbridge.interval import Interval
    from gdpbridge.measure import Measurement, Standing, Statement, measure
    from gdpbridge.mechanisms.base import Profile
    from gdpbridge.planning import Plan, PlanRow, plan
    from gdpbridge.report.privacy import PrivacyReport, privacy_report
    from gdpbridge.risk import Risk, risk
    from gdpbridge.sources.entry import event_of, profile_of
    from gdpbridge.specification.load import load_profile
    from gdpbridge.specification.release import Release
    from gdpbridge.sweep import Sweep, sweep

__all__ = [
    "Audit",
    "Calibration",
    "Certificate",
    "Checked",
    "Claim",
    "ClipRectifyPlan",
    "ClippingTradeoff",
    "Composition",
    "GdpBridgeError",
    "Identification",
    "InputError",
    "Interval",
    "Measurement",
    "MissingExtraError",
    "Nature",
    "Part",
    "Plan",
    "PlanRow",
    "PrivacyReport",
    "Profile",
    "RefusedError",
    "Release",
    "Risk",
    "Standing",
    "Statement",
    "SubsamplePlan",
    "Sweep",
    "TailStatus",
    "UnavailableError",
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
    "check",
    "clip_and_rectify",
    "clipping_tradeoff",
    "compose",
    "compose_certificates",
    "delta",
    "delta_complement",
    "epsilon",
    "event_of",
    "identify",
    "ledger",
    "load_profile",
    "log_delta",
    "log_delta_complement",
    "measure",
    "mu",
    "plan",
    "plot",
    "privacy_report",
    "profile_of",
    "profiles",
    "regret",
    "regret_certificate",
    "risk",
    "sample",
    "sample_file",
    "subsampling_plan",
    "sweep",
    "verify",
]


# what is loaded is what is used: each name's module, which is imported when the name is first used
_MODULES = {
    "ball": "gdpbridge.gaussian.ball",
    "ledger": "gdpbridge.ledger",
    "plot": "gdpbridge.plot",
}
_NAMES = {
    "amplify.clip_rectify": ("ClipRectifyPlan", "clip_and_rectify"),
    "amplify.files": ("sample_file",),
    "amplify.frames": ("sample",),
    "amplify.subsample": ("SubsamplePlan", "subsampling_plan"),
    "amplify.tradeoff": ("ClippingTradeoff", "clipping_tradeoff"),
    "auditing": ("Audit", "audit", "audit_counts", "audit_guesses", "audit_mechanism"),
    "calibrate": ("calibrate",),
    "calibration": ("Calibration",),
    "certificate.verify": ("Verification", "verify"),
    "certificate.model": ("Certificate",),
    "check": ("Checked", "check"),
    "claims": ("Claim",),
    "compose": ("Composition", "Part", "compose", "compose_certificates"),
    "curves.nature": ("Nature",),
    "fit": ("regret", "regret_certificate"),
    "gaussian.curve": (
        "beta",
        "delta",
        "delta_complement",
        "epsilon",
        "log_delta",
        "log_delta_complement",
        "mu",
    ),
    "identify": ("Identification", "TailStatus", "Verdict", "identify"),
    "interval": ("Interval",),
    "measure": ("Measurement", "Standing", "Statement", "measure"),
    "mechanisms.base": ("Profile",),
    "planning": ("Plan", "PlanRow", "plan"),
    "report.privacy": ("PrivacyReport", "privacy_report"),
    "risk": ("Risk", "risk"),
    "sources.entry": ("event_of", "profile_of"),
    "specification.load": ("load_profile",),
    "specification.release": ("Release",),
    "sweep": ("Sweep", "sweep"),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version(__name__)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keeps ``gdpbridge.measure`` a function when the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # the import system makes each submodule an attribute of its package
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
