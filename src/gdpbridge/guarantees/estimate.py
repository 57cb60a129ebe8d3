"""The tail of a formula as a computer algebra system sees it: an estimate, and called one."""

from __future__ import annotations

from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import EstimatedTail, UnknownTail
from gdpbridge.errors import MissingExtraError
from gdpbridge.expressions.symbolic import tail_limit
from gdpbridge.expressions.tree import Node

__all__ = ["estimated_tail"]


def estimated_tail(tree: Node | None, is_log: bool) -> Tail:
    """Return the symbolic limit of ε/√(-2 log δ) as an estimate of μ_t, if one is found.

    Without the extra ``symbolic`` the tail is simply not known.
    """
    if tree is None:
        return UnknownTail()
    try:
        limit = tail_limit(tree, is_log)
    except MissingExtraError:
        return UnknownTail()
    if limit is None:
        return UnknownTail()
    return EstimatedTail(limit, "a symbolic limit of ε²/(-2 log δ), which is not a proof")
