"""The ρ of what is known by its zero-concentrated privacy."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge.mechanisms.base import Profile

__all__ = ["rho_of"]


def rho_of(profile: Profile) -> Fraction | None:
    """Return ρ, for groups that of all their records; None for other kinds."""
    if profile.kind not in ("zcdp", "grouped"):
        return None
    # other kinds do without these
    from gdpbridge.mechanisms.zcdp import ZCDP
    from gdpbridge.transformations.grouped import Grouped

    if isinstance(profile, Grouped) and isinstance(profile.base, ZCDP):
        return profile.size**2 * profile.base.exact("rho")
    return profile.exact("rho") if isinstance(profile, ZCDP) else None
