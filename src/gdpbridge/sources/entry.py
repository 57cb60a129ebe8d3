"""One entry for the objects of every tool, told apart without importing any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.sources.budgets import is_budget, profile_of_budget

__all__ = ["event_of", "profile_of"]


def profile_of(source: Any, *, distance: float = 1) -> Profile:
    """Return the privacy profile of another tool's object.

    Args:
        source: an Opacus accountant or its ``state_dict()``; a DpEvent, an RdpAccountant or a
            PrivacyLossDistribution of dp_accounting; a measurement of OpenDP, or the text that
            ``dp.serialize`` makes of it; a budget: of OpenDP, a pair of its measure and bound such
            as ``dp.loss_of(epsilon=1.0)``, or a ``PureDPBudget``, ``ApproxDPBudget`` or
            ``RhoZCDPBudget`` of Tumult Analytics.
        distance: of a measurement of OpenDP, how far neighbouring inputs are apart in its metric.

    Returns:
        A profile; one that is a profile already is returned as it is.

    Raises:
        InputError: for other objects, or one that has no profile here; it is named.
    """
    if isinstance(source, Profile):
        return source
    if is_budget(source):
        return profile_of_budget(source)
    if isinstance(source, Mapping):
        from gdpbridge.mechanisms.opacus import history_in, profile_of_history

        return profile_of_history(history_in(source))
    if isinstance(source, str) and source.lstrip().startswith("{"):
        from gdpbridge.sources.opendp import profile_of_opendp

        return profile_of_opendp(source, distance)
    tools = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    if "dp_accounting" in tools:
        from gdpbridge.sources.dp_accounting import profile_of_object

        return profile_of_object(source)
    if hasattr(source, "history") and "opacus" in tools:
        from gdpbridge.mechanisms.opacus import profile_of_history

        return profile_of_history(list(source.history))
    if "opendp" in tools:
        from gdpbridge.sources.opendp import profile_of_opendp

        return profile_of_opendp(source, distance)
    raise InputError(
        "source",
        type(source).__name__,
        "an Opacus accountant or its state, a DpEvent, RdpAccountant or PrivacyLossDistribution "
        "of dp_accounting, a measurement of OpenDP or its dp.serialize, or a budget of OpenDP or "
        "Tumult Analytics",
    )


def event_of(profile: Profile) -> Any:
    """Return a profile as a DpEvent of dp_accounting, whose accountants take it.

    Raises:
        InputError: for a profile that no event says; it is named.
        MissingExtraError: without dp_accounting, the extra ``pld``.
    """
    from gdpbridge.sources.dp_accounting import event_of_profile

    return event_of_profile(profile)
