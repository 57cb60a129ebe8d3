"""Check: is a claim about a mechanism true? Decided by proved bounds, on either side.

The claim may come from anywhere: a model card, a training library's printed ε, a paper. What is
compared with it is the interval that :mod:`gdpbridge.convert` or :func:`gdpbridge.measure` proves.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast, overload

from gdpbridge.claims import Claim, read_all
from gdpbridge.convert import beta_at, delta_at, epsilon_at
from gdpbridge.curves.base import Form
from gdpbridge.curves.nature import Nature
from gdpbridge.errors import Advice, InputError, UndecidedError, WorkLimitError
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, Statement, measure
from gdpbridge.measure.entry import is_provable
from gdpbridge.mechanisms.base import Neighbours, Profile, as_profile
from gdpbridge.numeric.exact import decimal_text, float_ceiling, float_floor
from gdpbridge.showing import Shown
from gdpbridge.sources.entry import profile_of
from gdpbridge.transformations.subsample import SCHEMES

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate

__all__ = ["Checked", "certificate_of", "check"]

# a μ that is as close to the claim is measured again, so closely
_CLOSER = ("1e-15", "1e-30")
_PLACES = tuple(2.0**power for power in range(-3, 15))
_CLOSE_FORMS = (Form.SMOOTH, Form.LINEAR)
_UNSAMPLED = "no sampling"
_FIXED = "replace-one neighbours and batches of a fixed size"
# what else a training run may have been, by the parameters that say so
_RUNS: dict[str, dict[str, Any]] = {
    f"{relation} neighbours and {drawn}": {"neighbours": relation, "sampling": sampling}
    for relation, drawn, sampling in (
        ("add-remove", "Poisson samples", "poisson"),
        ("replace-one", "Poisson samples", "poisson"),
        ("replace-one", "batches of a fixed size", "fixed-size"),
    )
}


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    """What :func:`check` says of a claim.

    Attributes:
        claim: the claim.
        profile: the mechanism that it was checked for.
        holds: whether it is true; None if that is undecided.
        value: an interval for the number that it is about.
        margin: how far the claimed number is on the safe side, at least; below 0 where the claim is
            false; None where it is undecided.
        witness: where the claim is false, what shows it, as numbers by their names.
        certified: whether the answer is proved, and nothing in it is taken on trust.
        reason: the answer in a sentence.
        notes: for which neighbours and samples it is, and for which others it would be the same.
    """

    claim: Claim
    profile: Profile
    holds: bool | None
    value: Interval
    margin: float | None
    witness: Mapping[str, float] | None
    certified: bool
    reason: str
    notes: tuple[str, ...]

    @property
    def certificate(self) -> Certificate:
        """A document that proves a true claim to someone else.

        Raises:
            InputError: where the claim is not true, or there are no certificates of such
                mechanisms.
            UndecidedError: if the checker cannot be convinced.
        """
        return certificate_of([self])


def certificate_of(answers: Sequence[Checked]) -> Certificate:
    """Return one document that proves several claims about one mechanism.

    Raises:
        InputError: where one is not true, or they do not go together.
        UndecidedError: if the checker cannot be convinced.
    """
    for one in answers:
        if not one.holds:
            raise InputError("certificate", one.claim.text, "of claims that are true")
        if one.profile != answers[0].profile:
            raise InputError("certificate", one.claim.text, "of claims for the same neighbours")
    first = answers[0]
    if any(one.claim.quantity == "mu" for one in answers):
        if len(answers) > 1 or first.claim.at_least:
            advice = Advice("a claim of μ has one of its own: give it alone, with <=")
            raise InputError("certificate", first.claim.text, advice)
        found = _measured(first.profile, first.claim, None)
        if found.certificate is None or found.statement is not _statement(first.claim):
            why = found.uncertified_because or "μ is that of the run without sampling"
            raise InputError("certificate", first.claim.text, Advice(f"leave it out: {why}"))
        return found.certificate
    from gdpbridge.certificate.write_answers import Asked, write_answers

    asked = [
        Asked(cast(Any, one.claim.quantity), one.claim.at, one.claim.bound, one.claim.at_least)
        for one in answers
    ]
    return write_answers(first.profile, asked)


def _statement(claim: Claim) -> Statement:
    if claim.head is not None:
        return Statement.HEAD
    return Statement.WHOLE if claim.failure is None else Statement.APPROXIMATE


@overload
def check(profile: Any, claims: str | Claim) -> Checked: ...
@overload
def check(profile: Any, claims: Sequence[str | Claim]) -> list[Checked]: ...


def check(profile: Any, claims: str | Claim | Sequence[str | Claim]) -> Checked | list[Checked]:
    """Tell whether claims about a mechanism are true.

    Args:
        profile: a mechanism's privacy profile, or what :func:`gdpbridge.profile_of` takes, such as
            an accountant of Opacus.
        claims: a claim, such as "epsilon <= 8 at delta = 1e-5", "delta <= 1e-5 at epsilon = 8",
            "(8, 1e-5)-DP", "mu <= 1", "mu <= 1 up to epsilon = 10", "mu <= 1 with p = 1e-6",
            "advantage <= 0.1", "tpr <= 0.01 at fpr = 0.001" or "beta >= 0.9 at alpha = 0.05"; with
            ">=" the claim is that the number is no less. "for add-remove neighbours", or for
            "replace-one" or "zero-out" ones, may follow. Of a list, a list of answers comes.

    Returns:
        True with its margin, false with a witness, or undecided.

    Raises:
        InputError: for what is no claim, or no mechanism.
    """
    mechanism = profile_of(profile)
    others = _others(mechanism)
    found = [_checked(mechanism, claim, others) for claim in read_all(claims)]
    return found[0] if isinstance(claims, str | Claim) else found


def _checked(profile: Profile, claim: Claim, others: Mapping[str, Profile]) -> Checked:
    meant, note = _for_relation(profile, claim.relation, others)
    if meant is None:
        found, meant = _undecided(claim, note), profile
        notes: tuple[str, ...] = ()
    else:
        found = _decided(meant, claim)
        converted = meant.remarks[:1] if meant.kind == "converted" else ()
        notes = (note, *converted, *_elsewhere(meant, claim, found.holds, others))
    trust = tuple(f"taken on trust: {one}" for one in meant.assumptions)
    return Checked(
        claim, meant, found.holds, found.value, found.margin, found.witness,
        found.holds is not None and is_provable(meant), found.reason, (*notes, *trust),
    )  # fmt: skip


@dataclass(frozen=True)
class _Found:
    holds: bool | None
    value: Interval
    margin: float | None
    witness: Mapping[str, float] | None
    reason: str


def _undecided(claim: Claim, why: str, value: Interval | None = None) -> _Found:
    largest = "Infinity" if claim.quantity in ("epsilon", "mu") else 1
    return _Found(None, value or Interval(0, largest), None, None, f"undecided: {why}")


def _decided(profile: Profile, claim: Claim) -> _Found:
    """Compare a claim with what is proved of a mechanism."""
    try:
        value, at = _value(profile, claim)
    except (UndecidedError, WorkLimitError) as error:
        return _undecided(claim, str(error))
    holds = _holds(value, claim)
    is_in = f"{claim.symbol} is {_interval(value)}{claim.where}"
    # of all numbers but f(α) the larger is the worse
    safe = claim.at_least is (claim.quantity == "beta")
    nature = profile.profile_is
    if holds is not None and nature is Nature.BOUND and holds is not safe:
        why = f"{is_in} by an upper bound of δ, and the mechanism's own may be smaller"
        return _undecided(claim, why, value)
    if holds is None:
        return _undecided(claim, is_in, value)
    margin = _margin(value, claim, holds=holds)
    if holds:
        return _Found(True, value, margin, None, f"true: {is_in}")
    whose = " for some mechanism with this guarantee" if nature is Nature.CLASS and safe else ""
    witness = _witness(profile, claim, value, at)
    return _Found(False, value, margin, witness, f"false: {is_in}{whose}")


def _interval(value: Interval) -> str:
    if value.low == value.high:
        return f"{value}".replace("inf", "infinite")
    return f"in {value}"


# --- the number ------------------------------------------------------------------------------


def _value(profile: Profile, claim: Claim) -> tuple[Interval, float | None]:
    """Return an interval for what the claim is about; of a μ, also where it is attained."""
    at = decimal_text(claim.at)
    match claim.quantity:
        case "epsilon":
            return epsilon_at(profile, at), None
        case "delta" | "advantage":
            return delta_at(profile, at), None
        case "beta":
            return beta_at(profile, at), None
        case "tpr":
            return beta_at(profile, at).complement, None
    return _mu(profile, claim)


def _mu(profile: Profile, claim: Claim) -> tuple[Interval, float | None]:
    """Measure, as closely as the claim asks."""
    whole = _statement(claim) is Statement.WHOLE
    for tol in (None, *_CLOSER):
        found = _measured(profile, claim, tol)
        value: Interval | None = found.whole_range_mu if whole else found.mu
        if value is None:
            raise UndecidedError("no μ for every ε is known, as the tail is not")
        if _holds(value, claim) is not None or profile.curve.form not in _CLOSE_FORMS:
            break
    return value or found.mu, found.attained_at if value is found.mu else None


def _measured(profile: Profile, claim: Claim, tol: str | None) -> Measurement:
    head, failure = (
        None if one is None else decimal_text(one) for one in (claim.head, claim.failure)
    )
    if _statement(claim) is Statement.WHOLE and profile.default_failure is not None:
        # what the whole range has stands beside any statement, of which this one is the least work
        failure = "0.9"
    return measure(profile, tol, head, failure)


def _ends(value: Interval) -> list[Fraction | float]:
    return [math.inf if end.is_infinite() else Fraction(end) for end in (value.low, value.high)]


def _holds(value: Interval, claim: Claim) -> bool | None:
    low, high = _ends(value)
    # on the line itself a strict claim is false
    shown, other = (operator.gt, operator.le) if claim.strict else (operator.ge, operator.lt)
    if claim.at_least:
        return True if shown(low, claim.bound) else False if other(high, claim.bound) else None
    return True if shown(claim.bound, high) else False if other(claim.bound, low) else None


def _margin(value: Interval, claim: Claim, *, holds: bool) -> float:
    """Return how far the claim is on the safe side, rounded towards the claimed number."""
    low, high = _ends(value)
    nearer = high if claim.at_least is not holds else low
    if isinstance(nearer, float):
        return math.inf if claim.at_least else -math.inf
    off = nearer - claim.bound if claim.at_least else claim.bound - nearer
    return float_floor(off) if holds else float_ceiling(off)


def _witness(
    profile: Profile, claim: Claim, value: Interval, attained: float | None
) -> dict[str, float]:
    """Return numbers that show that a claim is false."""
    if claim.at_least or claim.strict or claim.quantity in ("tpr", "beta"):
        shown = value.upper if claim.at_least else value.lower
        where = _PLACE_OF.get(claim.quantity)
        return {**({where: float(claim.at)} if where else {}), claim.quantity: shown}
    if claim.quantity == "mu":
        return _mu_witness(profile, claim, value, attained)
    eps = claim.bound if claim.quantity == "epsilon" else claim.at
    found = delta_at(profile, decimal_text(eps)) if claim.quantity == "epsilon" else value
    return {"epsilon": float(eps), "delta": found.lower}


_PLACE_OF = {"epsilon": "delta", "delta": "epsilon", "tpr": "fpr", "beta": "alpha"}


def _mu_witness(
    profile: Profile, claim: Claim, value: Interval, attained: float | None
) -> dict[str, float]:
    """Return an ε at which δ is proved to be above what the claimed μ allows."""
    allowed = (decimal_text(claim.bound), decimal_text(claim.failure or Fraction(0)))
    places = () if attained is None or not math.isfinite(attained) else (attained,)
    if profile.curve.form in _CLOSE_FORMS:
        places = (*places, *_PLACES)
    for eps in places:
        if claim.head is not None and Fraction(eps) > claim.head:
            continue
        found = delta_at(profile, eps)
        if found.low > delta_at(allowed, eps).high:
            return {"epsilon": eps, "delta": found.lower}
    tail = profile.tail.mu_tail
    by_tail = tail is not None and _statement(claim) is Statement.WHOLE
    return {"mu_tail": tail.lower} if by_tail and tail else {"mu": value.lower}


# --- other neighbours, other samples ------------------------------------------------------------


def _for_relation(
    profile: Profile, relation: Neighbours | None, others: Mapping[str, Profile]
) -> tuple[Profile | None, str]:
    """Return the mechanism for the neighbours of a claim, and what to say.

    None stands for a mechanism of which nothing is known for these neighbours.
    """
    own = profile.neighbours
    if relation is None:
        named = (
            f"for {own} neighbours; the claim names none"
            if own
            else "for the neighbours for which the mechanism was stated; neither it nor the claim "
            "names them"
        )
        return profile, named
    if own == relation:
        return profile, f"for {own} neighbours, as claimed"
    if own is None:
        return profile, f"for {relation} neighbours, if the mechanism was stated for these"
    for name, one in others.items():
        if one.neighbours == relation and name != _UNSAMPLED:
            return one, f"for {name}, as claimed"
    with suppress(InputError):
        found = profile.to_neighbours(relation)
        return found, f"for {relation} neighbours, as claimed"
    return None, f"the mechanism is stated for {own} neighbours, and the claim is not"


def _elsewhere(
    profile: Profile, claim: Claim, holds: bool | None, others: Mapping[str, Profile]
) -> Iterator[str]:
    """Say for which other neighbours and samples the claim is true, or no longer."""
    same: list[str] = []
    not_so: list[str] = []
    at_point = claim
    if claim.quantity == "epsilon":
        # one δ tells it, for less work than the least ε
        at_point = replace(claim, quantity="delta", bound=claim.at, at=claim.bound)
    for name, other in others.items():
        if other == profile or (claim.relation not in (None, other.neighbours)):
            continue
        if claim.quantity == "mu" and other.curve.form not in _CLOSE_FORMS:
            # another measurement of a training run is more than was asked for
            continue
        if name == _FIXED and (not_so or not holds):
            # dear, and no better than what fails already
            continue
        found = _decided(other, at_point)
        if found.holds:
            same.append(name)
        elif name != _UNSAMPLED:
            not_so.append(f"{name} ({found.reason})")
    if same:
        yield f"{'also ' if holds else ''}true for {' and for '.join(same)}"
    if holds:
        yield from (f"not shown for {one}" for one in not_so)


def _others(profile: Profile) -> dict[str, Profile]:
    """Return what a mechanism that samples records may also have been, by what differs."""
    run = profile.certified_as
    changes = {
        **{name: _of_run(change) for name, change in _RUNS.items()},
        **{
            f"{relation} neighbours and {scheme} samples": _of_sample(scheme)
            for scheme, relation in SCHEMES.items()
            if scheme != "with-replacement"
        },
        _UNSAMPLED: _unsampled,
    }
    found: dict[str, Profile] = {}
    for name, change in changes.items():
        with suppress(InputError):
            other = as_profile(_changed(run.model_dump(), change))
            if isinstance(other, Profile) and other not in (run, profile, *found.values()):
                found[name] = other
    return found


_Data = dict[str, Any]
_Change = Callable[[_Data], _Data]


def _changed(data: Any, change: _Change) -> Any:
    """Apply a change to what samples records, wherever in a mechanism it is."""
    if isinstance(data, list | tuple):
        return [_changed(one, change) for one in data]
    if not isinstance(data, dict):
        return data
    if data.get("kind") in ("dpsgd", "subsampled"):
        return change(data)
    inner = {name: _changed(one, change) for name, one in data.items()}
    # what is made of others takes their relation
    return {**inner, "neighbours": None} if inner != data else inner


def _of_run(change: _Data) -> _Change:
    def changed(data: _Data) -> _Data:
        if data["kind"] != "dpsgd":
            return data
        if change["sampling"] == "poisson":
            return {**data, **change}
        sizes = ("batch_size", "records") if data["batch_size"] else ("sample_rate",)
        kept = ("kind", "noise_multiplier", "steps", *sizes)
        return {**{name: data[name] for name in kept}, **change}

    return changed


def _of_sample(scheme: str) -> _Change:
    def changed(data: _Data) -> _Data:
        if data["kind"] != "subsampled" or data["scheme"] == "with-replacement":
            return data
        return {**data, "scheme": scheme, "neighbours": SCHEMES[scheme]}

    return changed


def _unsampled(data: _Data) -> _Data:
    if data["kind"] == "subsampled":
        return dict(data["base"])
    kept = ("kind", "noise_multiplier", "steps", "neighbours")
    return {**{name: data[name] for name in kept}, "sample_rate": 1.0}
