"""Of which mechanisms certificates can be written: those that the checker builds on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gdpbridge.certificate.adding import (
    is_sum,
    rho_of,
    with_gaussians,
    without_certificate_because,
)
from gdpbridge.curves.base import Form
from gdpbridge.mechanisms.base import Profile
from gdpbridge_verify.kinds import KINDS
from gdpbridge_verify.sampled import SAMPLED, SAMPLED_BY_LAW

if TYPE_CHECKING:
    from gdpbridge_verify.transforms import Runs

__all__ = [
    "ONLY_COMPOSED",
    "hides_far_out",
    "is_bounded",
    "is_closed",
    "is_near",
    "needs_lattice",
    "one_sided_because",
    "uncertifiable_because",
]

# whose formulas the checker knows as composed losses alone
ONLY_COMPOSED = frozenset({"composed", "dpsgd", "sequence", "subsampled"})
# whose samples the checker composes
_SAMPLED_RUNS = (
    "approx-dp", "discrete-laplace", "gaussian", "gdp", "laplace", "permute-and-flip", "pure-dp",
    "sparse-vector",
)  # fmt: skip
# the checker's bound is its own, and shows no lower end
_ONLY_ABOVE = ("random-allocation", "tuned")


def uncertifiable_because(profile: Profile) -> str:
    """Return why no certificate can be written about a mechanism; empty if one can."""
    named = profile.certified_as
    why = _because(named)
    if why and named.kind == "composed" and _has_one_of_one_run(named.inner[0]):
        return (
            f"{why}, but there is one of one run: gdpbridge compose puts several together, with "
            "that file named as often as there are runs"
        )
    return why


def _has_one_of_one_run(base: Profile) -> bool:
    """Whether a single run has a certificate of a finite μ."""
    from gdpbridge.identify import Verdict, identify

    # past a failure one may have a finite μ as well, or none
    return not uncertifiable_because(base) and identify(base).verdict is Verdict.GDP


def _because(named: Profile) -> str:
    if named.kind == "tuned":
        return named.beyond_certificates or _without_delta_because(named)
    if is_sum(named):
        return without_certificate_because(named)
    if (other := with_gaussians(named)) is not None:
        return uncertifiable_because(other)
    for one in _all(named):
        if one.kind not in KINDS:
            # it may have one by itself, as that of what it is reduced to
            if one is not named and not uncertifiable_because(one):
                return f"there is no certificate yet for what is made of {one.kind}"
            return f"there is no certificate for a mechanism of kind {one.kind} yet"
        if one.kind == "permute-and-flip" and "monotonic" in one.specification():
            # else it is named without
            return (
                "there is no certificate for permute-and-flip of monotonic scores with an ε whose "
                "half no float is"
            )
        known = KINDS[one.kind]
        if known.relations and one.neighbours not in known.relations:
            return f"there is no certificate for {one.kind} with {one.neighbours} neighbours yet"
        inside = one is not named and named.kind in ("composed", "sequence")
        if inside and one.neighbours == "replace-one" and "add" in one.specification():
            return (
                "there is no certificate yet for compositions of losses in two directions with "
                "replace-one neighbours"
            )
        if one.kind in ("table", "tradeoff-function") and inside:
            # its class has a worst mechanism
            if _is_log(one):
                return "there is no certificate yet for compositions of a table of log δ"
            if _too_long(one) or _parts(one) is None:
                return (
                    f"there is no certificate for compositions of a {one.kind} with so many rows, "
                    "or so long ones"
                )
            continue
        if named.kind in ONLY_COMPOSED and not (
            KINDS[one.kind].composes or KINDS[one.kind].of_others
        ):
            what = "samples" if named.kind == "subsampled" else "compositions"
            return f"there is no certificate yet for {what} of {one.kind}"
        if one.kind == "subsampled" and one is not named and one.inner[0].kind not in _SAMPLED_RUNS:
            return f"there is no certificate yet for compositions of sampled {one.inner[0].kind}"
        replaced = one.kind == "subsampled" and one.neighbours != "add-remove"
        if replaced and one is not named and one.inner[0].kind not in ("gaussian", "gdp"):
            return (
                "there is no certificate yet for compositions of samples without replacement of "
                f"{one.inner[0].kind}"
            )
        if one.kind == "subsampled" and one.inner[0].kind not in (*SAMPLED, *SAMPLED_BY_LAW):
            return f"there is no certificate yet for samples of {one.inner[0].kind}"
        if one.kind == "grouped" and not _is_per_record(one.inner[0]):
            return f"there is no certificate for groups of {one.inner[0].kind} yet"
        whole = (known.alone or known.discrete) and not (
            known.composes and named.kind in ONLY_COMPOSED
        )
        if whole and one is not named and named.kind != "grouped":
            return f"there is no certificate yet for what is made of {one.kind}"
    if (kind := _sampled_without_lines(named)) and not is_bounded(named):
        return f"there is no certificate yet for {kind} on samples beside losses without bounds"
    composed = Form.COMPOSED, Form.LINEAR
    if _is_sampled(named):
        return named.beyond_certificates
    if named.kind == "subsampled" and named.curve.form is Form.SMOOTH:
        return f"there is no certificate yet for a single sample of {named.inner[0].kind}"
    # the curve of others may be dear
    if named.kind in ONLY_COMPOSED and not (
        named.curve.form in composed or is_closed(named) or is_bounded(named) or is_near(named)
    ):
        return f"there is no certificate for {named.kind} of such parts yet"
    return named.beyond_certificates


def _without_delta_because(tuned: Profile) -> str:
    """Return why no certificate tells δ of one run, which those of poisson numbers of runs need."""
    base = tuned.inner[0].certified_as
    if tuned.specification()["distribution"] != "poisson":
        return ""
    if base.kind == "table":
        return "there is no certificate for poisson numbers of runs of table yet"
    return uncertifiable_because(base)


def hides_far_out(profile: Profile) -> bool:
    """Whether the checker does not follow how δ falls far out, so that nothing is claimed of it."""
    if profile.kind == "composed" and profile.inner[0].kind == "skellam":
        return True
    if profile.kind not in ("densities", "random-allocation", "skellam"):
        return False
    from gdpbridge.mechanisms.densities import Densities

    # of a range with two ends it knows the largest loss
    plain, level = isinstance(profile, Densities) and profile.pair.bounded, profile.tail.level
    return not (plain and level is not None and level.value == 0)


def one_sided_because(profile: Profile, *, at_zero: bool = True) -> str:
    """Return why no certificate can show that what is beyond a calibrated value misses the target.

    That the target is met is shown all the same; empty if both are.

    Args:
        profile: the mechanism at a value of the parameter.
        at_zero: whether the target is μ or an advantage, and not δ at another ε or a rate.
    """
    named = profile.certified_as
    if rho_of(named) is not None and not at_zero:
        return (
            f"of {named.kind} no mechanism is known that attains δ at other ε than 0: that the "
            "value beyond misses the target is not shown"
        )
    if named.kind in _ONLY_ABOVE:
        return (
            f"the checker bounds {named.kind} from above alone: that the value beyond misses the "
            "target is not shown"
        )
    return ""


def is_closed(profile: Profile) -> bool:
    """Whether the checker knows δ of a composition as a formula."""
    # of a sample alone it is a formula anyway
    composed = profile.kind in ONLY_COMPOSED and profile.kind != "subsampled"
    if profile.curve.form not in (Form.SMOOTH, Form.POINTS) or not composed:
        return False
    # the checker is slow to load, and needed for these alone
    from gdpbridge_verify.closed import formula_of

    parts = _parts(profile)
    return parts is not None and formula_of(parts) is not None


def is_near(profile: Profile) -> bool:
    """Whether the checker can show a composition to be nearly one Gaussian mechanism."""
    if profile.kind not in ONLY_COMPOSED | {"discrete-gaussian"}:
        return False
    from gdpbridge_verify.composition import is_near as is_near_by_parts

    parts = _parts(profile)
    return parts is not None and is_near_by_parts(parts)


def is_bounded(profile: Profile) -> bool:
    """Whether the checker can put all losses of a composition on a lattice."""
    if profile.kind not in ONLY_COMPOSED | {"pld", "discrete-laplace"} or _is_sampled(profile):
        return False
    parts = _parts(profile)
    return parts is not None and all(_has_place(part) for part in parts)


def _sampled_without_lines(profile: Profile) -> str:
    """Return a kind of which runs on samples are composed, and known on a lattice alone, or ''."""
    kinds = {one.inner[0].kind for one in _all(profile) if one.kind == "subsampled"}
    if profile.kind not in ("composed", "sequence"):
        return ""
    if profile.curve.form is Form.COMPOSED:
        return "laplace" if "laplace" in kinds else ""
    return min(kinds - {"gaussian", "gdp"}, default="")


def needs_lattice(profile: Profile) -> bool:
    """Whether nothing but a lattice will do for a composition of bounded losses."""
    from gdpbridge_verify.exponentials import Exponential
    from gdpbridge_verify.samples import Atomic, SampledLaplace

    parts = [part.transform for part in _parts(profile) or ()]
    if profile.curve.form is Form.BETWEEN or any(isinstance(o, SampledLaplace) for o in parts):
        return True
    if profile.curve.form is Form.POINTS and any(type(one) is Exponential for one in parts):
        return True
    # along lines they are as good as others
    by_lines = profile.curve.form is Form.COMPOSED
    return not by_lines and any(isinstance(one, Atomic) for one in parts)


def _parts(profile: Profile) -> Sequence[Runs] | None:
    """Return what the checker reads of a composition; None if it does not read it."""
    from gdpbridge_verify.composition import composition_of
    from gdpbridge_verify.refusal import Malformed, OutOfWork

    try:
        return composition_of(profile.specification()).parts
    except (Malformed, OutOfWork):
        return None


def _has_place(part: Runs) -> bool:
    from gdpbridge_verify.exponentials import Exponential
    from gdpbridge_verify.finite import DiscreteGaussian, Finite
    from gdpbridge_verify.samples import Bounded
    from gdpbridge_verify.transforms import Nothing

    one = part.transform
    known = Bounded | Exponential | Finite | Nothing
    return isinstance(one, known) and not isinstance(one, DiscreteGaussian)


def _too_long(profile: Profile) -> bool:
    """Whether the rows of a mechanism that is composed are longer than a text may be."""
    from gdpbridge_verify.document import MAX_TEXT

    return len(profile.specification()["rows"] or "") > MAX_TEXT


def _is_log(profile: Profile) -> bool:
    from gdpbridge.mechanisms.table import Table

    return isinstance(profile, Table) and profile.is_log


def _is_sampled(profile: Profile) -> bool:
    # what is not used is not loaded
    if profile.kind != "subsampled":
        return False
    from gdpbridge.transformations.subsample import Subsampled

    assert isinstance(profile, Subsampled)
    one_run = profile.base.specification().get("runs", "1") == "1"
    return profile.base.kind in (*SAMPLED, *SAMPLED_BY_LAW) and one_run and profile.rate is not None


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
