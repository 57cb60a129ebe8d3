"""Groups of records: the mechanism that protects one record as another protects a group."""

from __future__ import annotations

import decimal

from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.parameters import Spec, apart, parameters_of
from gdpbridge_verify.refusal import Malformed

_MOST_RECORDS = 1_000_000


def ungrouped(spec: Spec) -> Spec:
    """Return the mechanism that protects a record as a grouped one does a group.

    k records move an answer by k times the sensitivity, and a chain of k pairs of neighbours
    multiplies a range of losses, or a μ by k; of an ε it gives the largest loss
    (Dong, Roth and Su 2022, theorem 2.14).
    """
    own, base = apart(spec)
    size = parameters_of(own)["size"]
    known = KINDS.get(base.get("kind") or "")
    if known is None or not known.per_record or size > _MOST_RECORDS:
        raise Malformed("mechanism.base.kind", base.get("kind"), "one that is known for groups")
    if base.get("neighbours") != own.get("neighbours"):
        raise Malformed("mechanism.base.neighbours", base.get("neighbours"), "those of the group")
    values = parameters_of(base)
    if base["kind"] == "pure-dp" and size > 1 and values["epsilon"]:
        # the trade-off function of such a chain is that of noise which the answer moves in by k
        return {
            "kind": "discrete-laplace",
            "neighbours": base.get("neighbours"),
            "scale": str(1 / values["epsilon"]),
            "sensitivity": str(size),
        }
    with decimal.localcontext(prec=1000):
        # ρ-zCDP for a record is k²ρ-zCDP for k (Bun and Steinke 2016, proposition 27)
        times = int(size) ** (2 if known.per_record == "rho" else 1)
        product = decimal.Decimal(base[known.per_record] or "") * times
    return {**base, known.per_record: str(product)}


def nature_in_place(given: Spec, placed: Spec) -> Nature | None:
    """Return what δ is that another stands for, where it is not what that of the other is.

    Args:
        given: the mechanism.
        placed: the same, with what may stand in the place of a ρ.
    """
    if placed != given:
        # that says more
        return "bound"
    # of k steps, not all that their ρ allows is possible; for an ε it is the worst
    natures: dict[str | None, Nature] = {"zcdp": "bound", "pure-dp": "class"}
    is_group = given.get("kind") == "grouped" and given["size"] != "1"
    return natures.get(given["base.kind"]) if is_group else None
