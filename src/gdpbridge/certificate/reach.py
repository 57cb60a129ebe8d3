"""Of which mechanisms certificates can be written: those that the checker builds on its own."""

from __future__ import annotations

from collections.abc import Iterator

from gdpbridge.curves.base import Form
from gdpbridge.mechanisms.base import Profile
from gdpbridge_verify.kinds import KINDS, SAMPLED

__all__ = ["ONLY_COMPOSED", "is_closed", "uncertifiable_because", "uncertifiable_beyond_because"]

# whose formulas the checker knows as composed losses alone
ONLY_COMPOSED = frozenset({"composed", "dpsgd", "sequence", "subsampled"})
# whose samples the checker composes
_BY_LINES = ("gaussian", "gdp")
# the checker's bound is its own, and shows no lower end
_ONLY_ABOVE = ("random-allocation", "tuned")


def uncertifiable_because(profile: Profile) -> str:
    """Return why no certificate can be written about a mechanism; empty if one can."""
    named = profile.certified_as
    if named.kind == "tuned":
        return named.beyond_certificates
    for one in _all(named):
        if one.kind not in KINDS:
            # it may have one by itself, as that of what it is reduced to
            if one is not named and not uncertifiable_because(one):
                return f"there is no certificate yet for what is made of {one.kind}"
            return f"there is no certificate for a mechanism of kind {one.kind} yet"
        known = KINDS[one.kind]
        if known.relations and one.neighbours not in known.relations:
            return f"there is no certificate for {one.kind} with {one.neighbours} neighbours yet"
        if named.kind in ONLY_COMPOSED and not (
            KINDS[one.kind].composes or KINDS[one.kind].of_others
        ):
            what = "samples" if named.kind == "subsampled" else "compositions"
            return f"there is no certificate yet for {what} of {one.kind}"
        if one.kind == "subsampled" and one is not named and one.inner[0].kind not in _BY_LINES:
            return f"there is no certificate yet for compositions of sampled {one.inner[0].kind}"
        if one.kind == "subsampled" and one.inner[0].kind not in (*_BY_LINES, *SAMPLED):
            return f"there is no certificate yet for samples of {one.inner[0].kind}"
        if one.kind == "grouped" and not _is_per_record(one.inner[0]):
            return f"there is no certificate for groups of {one.inner[0].kind} yet"
        whole = known.alone or (known.discrete and named.kind not in ONLY_COMPOSED)
        if whole and one is not named and named.kind != "grouped":
            return f"there is no certificate yet for what is made of {one.kind}"
    composed = Form.COMPOSED, Form.LINEAR
    if named.kind == "subsampled" and _is_sampled(named):
        return named.beyond_certificates
    by_lines = named.curve.form in composed
    if named.kind in ONLY_COMPOSED and not by_lines and not is_closed(named):
        return f"there is no certificate for {named.kind} of such parts yet"
    return named.beyond_certificates


def uncertifiable_beyond_because(profile: Profile) -> str:
    """Return why a calibrated parameter has no certificate, which shows that one beyond misses."""
    named = profile.certified_as
    if named.kind in _ONLY_ABOVE:
        return (
            f"there is no certificate of a calibrated {named.kind}: the checker bounds it from "
            "above alone, and cannot show that the value beyond misses the target"
        )
    return uncertifiable_because(profile)


def is_closed(profile: Profile) -> bool:
    """Whether the checker knows δ of a composition as a formula."""
    # of a sample alone it is a formula anyway
    composed = profile.kind in ONLY_COMPOSED and profile.kind != "subsampled"
    if profile.curve.form not in (Form.SMOOTH, Form.POINTS) or not composed:
        return False
    # the checker is slow to load, and needed for these alone
    from gdpbridge_verify.closed import formula_of
    from gdpbridge_verify.composition import composition_of
    from gdpbridge_verify.refusal import Malformed

    try:
        return formula_of(composition_of(profile.specification()).parts) is not None
    except Malformed:
        return False


def _is_sampled(profile: Profile) -> bool:
    from gdpbridge.transformations.subsample import Subsampled

    assert isinstance(profile, Subsampled)
    return profile.base.kind in SAMPLED and profile.rate is not None


def _is_per_record(base: Profile) -> bool:
    """Whether a parameter of a mechanism grows with groups, and the checker knows all of them."""
    known = KINDS.get(base.kind)
    given = set(base.specification()) - {"kind", "neighbours"}
    return known is not None and bool(known.per_record) and given == set(known.parameters)


def _all(profile: Profile) -> Iterator[Profile]:
    """Yield a mechanism and all that it is made of."""
    yield profile
    for one in profile.inner:
        yield from _all(one)
