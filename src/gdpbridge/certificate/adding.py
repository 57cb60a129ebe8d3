"""What is known by guarantees that add up over runs: ρ, and Rényi divergences at some orders."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from gdpbridge.curves.constants import upper_bound
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import written_above

__all__ = [
    "gaussian_mu",
    "is_by_orders",
    "is_exact_sum",
    "is_sum",
    "rho_of",
    "with_gaussians",
    "without_certificate_because",
]

_RUNS = ("composed", "sequence")
# whose ρ is known by the checker, which adds them up
_BY_RHO = ("gaussian", "gdp", "zcdp")
# unlike ρ, of each of which a document has the μ; and orders
_MOST = 50
_MOST_ORDERS = 100


def rho_of(profile: Profile) -> Fraction | None:
    """Return ρ, for groups that of all their records and of runs their sum; None for others."""
    if profile.kind not in ("zcdp", "grouped", *_RUNS) or is_by_orders(profile):
        return None
    # other kinds do without these
    from gdpbridge.mechanisms.zcdp import ZCDP
    from gdpbridge.transformations.grouped import Grouped

    if isinstance(profile, Grouped) and not isinstance(profile.base, ZCDP):
        return None
    known = profile.concentration
    return None if known is None or not known.counts else known.rho


def is_by_orders(profile: Profile) -> bool:
    """Whether runs are known by the sums of their Rényi divergences."""
    return profile.kind in _RUNS and profile.renyi_orders is not None


def is_exact_sum(profile: Profile) -> bool:
    """Whether all divergences of runs are numbers that are given."""
    return all(one.kind in ("renyi", "zcdp") for one in _leaves(profile))


def is_sum(profile: Profile) -> bool:
    """Whether a guarantee of runs is a sum of those of each."""
    return profile.kind in _RUNS and (is_by_orders(profile) or rho_of(profile) is not None)


def without_certificate_because(profile: Profile) -> str:
    """Return why such a sum has no certificate; empty if it has."""
    leaves = list(_leaves(profile))
    if not is_by_orders(profile):
        unknown = [one.kind for one in leaves if not _is_by_rho(one)]
        if unknown:
            return f"there is no certificate yet for compositions of zcdp and {unknown[0]}"
        from gdpbridge.guarantees.concentrated import MAX_RHO

        known = profile.concentration
        assert known is not None
        if known.rho > MAX_RHO:
            return f"there is no certificate for ρ of over {float(MAX_RHO):g} together"
        if len(known.counts) > _MOST:
            return f"there is no certificate for more than {_MOST} unlike ρ yet"
        return ""
    from gdpbridge_verify.refusal import OutOfWork
    from gdpbridge_verify.tuned import is_known

    for one in leaves:
        if one.beyond_certificates:
            return one.beyond_certificates
        try:
            is_read = is_known(one.specification())
        except OutOfWork:
            is_read = False
        if not is_read:
            return f"there is no certificate yet for compositions of {one.kind} by orders"
    if len(profile.renyi_orders or ()) > _MOST_ORDERS:
        return f"there is no certificate for sums at more than {_MOST_ORDERS} orders yet"
    return ""


def with_gaussians(profile: Profile) -> Profile | None:
    """Return runs with a Gaussian mechanism in the place of what is known by its ρ, among others.

    Returns:
        None where nothing is, or ρ alone is added up.
    """
    if profile.kind not in _RUNS or is_sum(profile):
        return None
    found = _replaced(profile)
    return None if found is profile else found


def gaussian_mu(rho: Fraction) -> float:
    """Return the μ that stands for a ρ among others, rounded up."""
    from gdpbridge.guarantees.concentrated import zcdp_mu

    return written_above(upper_bound(zcdp_mu(rho)))


def _replaced(profile: Profile) -> Profile:
    from gdpbridge.mechanisms.gaussian import GDP
    from gdpbridge.mechanisms.zcdp import ZCDP
    from gdpbridge.transformations.compose import Composed
    from gdpbridge.transformations.sequence import Sequence

    if isinstance(profile, ZCDP):
        return GDP(mu=gaussian_mu(profile.exact("rho")), neighbours=profile.neighbours)
    if isinstance(profile, Composed):
        base = _replaced(profile.base)
        return profile if base is profile.base else Composed(base=base, times=profile.times)
    if isinstance(profile, Sequence):
        parts = tuple(map(_replaced, profile.parts))
        same = all(one is part for one, part in zip(parts, profile.parts, strict=True))
        return profile if same else Sequence(parts=parts)
    return profile


def _is_by_rho(one: Profile) -> bool:
    return one.kind in _BY_RHO or (one.kind == "grouped" and one.inner[0].kind in _BY_RHO)


def _leaves(profile: Profile) -> Iterator[Profile]:
    """Yield what is run."""
    if profile.kind not in _RUNS:
        yield profile
        return
    for one in profile.inner:
        yield from _leaves(one)
