"""Of which mechanisms certificates can be written: those that the checker builds on its own."""

from __future__ import annotations

from gdpbridge.certificate.checker.mechanisms import KINDS
from gdpbridge.mechanisms.base import Profile
from gdpbridge.transformations.clip_rectify import MAX_RUNS, ClipRectify

__all__ = ["uncertifiable_because"]


def uncertifiable_because(profile: Profile) -> str:
    """Return why no certificate can be written about a mechanism; empty if one can."""
    # a clipped mechanism is checked by way of what is clipped
    inner = profile.base if isinstance(profile, ClipRectify) else profile
    if inner.kind not in KINDS:
        return f"there is no certificate for a mechanism of kind {inner.kind} yet"
    if isinstance(profile, ClipRectify) and len(profile.runs) > MAX_RUNS:
        return f"there is no certificate for a clipped mechanism with more than {MAX_RUNS} runs"
    return ""
