"""Of which mechanisms certificates can be written: those that the checker builds on its own."""

from __future__ import annotations

from gdpbridge.certificate.kinds import KINDS
from gdpbridge.mechanisms.base import Profile

__all__ = ["uncertifiable_because"]


def uncertifiable_because(profile: Profile) -> str:
    """Return why no certificate can be written about a mechanism; empty if one can."""
    for one in (profile, *profile.inner):
        if one.kind not in KINDS:
            return f"there is no certificate for a mechanism of kind {one.kind} yet"
    return profile.beyond_certificates
