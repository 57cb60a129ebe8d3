"""Write the certificate of other answers than μ: δ at an ε, ε at a δ, an attacker's rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from gdpbridge.certificate.adding import rho_of, with_gaussians
from gdpbridge.certificate.binaries import binary_below, binary_text
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.limits import first_written
from gdpbridge.certificate.model import Certificate
from gdpbridge.certificate.reach import (
    is_bounded,
    is_closed,
    is_near,
    needs_lattice,
    uncertifiable_because,
)
from gdpbridge.certificate.rows import rows_of
from gdpbridge.certificate.tangents import (
    TangentsOf,
    bounds_of,
    is_of_divergences,
    lemmas_used,
    place_of_order,
    rows_used,
)
from gdpbridge.certificate.write import begun, range_of
from gdpbridge.certificate.write_closed import directions_of_formula
from gdpbridge.certificate.write_composed import has_line, pieces_at
from gdpbridge.certificate.write_convex import (
    touching_places,
)
from gdpbridge.certificate.write_discrete import plain_laws
from gdpbridge.certificate.write_lattice import lattice_of
from gdpbridge.certificate.write_lemmas import lemmas_from, with_lemmas
from gdpbridge.certificate.write_places import below, place_of
from gdpbridge.certificate.write_zcdp import tangents_at
from gdpbridge.curves.base import Curve, Form
from gdpbridge.curves.composed import ComposedCurve
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tradeoff import touching
from gdpbridge.errors import Advice, InputError, UndecidedError
from gdpbridge.guarantees.boundary import zcdp_boundary
from gdpbridge.identify import Verdict, identify
from gdpbridge.interval import Interval
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.split import has_little_noise
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.densities import Densities
from gdpbridge.mechanisms.formula import Written
from gdpbridge.mechanisms.random_allocation import RandomAllocation
from gdpbridge.mechanisms.skellam import Skellam
from gdpbridge.mechanisms.table import Table
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, decimal_text
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge.transformations.tuned import Tuned
from gdpbridge_verify import document, evidence
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.refusal import OutOfWork

__all__ = ["Asked", "Quantity", "lemmas_of_delta", "write_answers"]

Quantity = Literal["delta", "epsilon", "advantage", "tpr", "beta"]

_DIGITS, _BITS = 15, 256
# a place that is no binary number is rounded to so many bits
_PLACE_BITS = 96
_GRID = 2**40
_FEWER_DIGITS = (6, 3)
_NO_LINE = "no line is close enough there, of those that a certificate has"
_NOT_SHOWN = "the checker could not be convinced of an answer"
# by how much, relative, ends are wider than in the search, which bounds some things more closely
_WIDER = (Fraction(0), Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10**5))
# and how far from where a line touches the trade-off function the places are that show it
_APART = dict(zip(_WIDER, (Fraction(1, 2**n) for n in (34, 17, 12, 6)), strict=True))
# where δ is smooth and a float beyond misses the target by next to nothing: many places, further
# and further off, and δ there to all of its digits
_CLOSELY, _FURTHER, _MORE_DIGITS = Fraction(1, 10**19), [16**n for n in range(8)], 20
_APART[_CLOSELY] = Fraction(1, 2**30)
# of what the checker bounds in its own way, as closely but not alike
_OF_ANOTHER = Fraction(1, 1000), Fraction(1, 100)
_APART |= dict.fromkeys(_OF_ANOTHER, Fraction(1, 16))
_NEARLY = Fraction(1, 10**7), Fraction(1, 10**6)
_APART |= dict.fromkeys(_NEARLY, Fraction(1, 2**8))


@dataclass(frozen=True)
class Asked:
    """What is to be certified.

    Attributes:
        quantity: which number.
        at: the ε, δ, FPR or α that it is taken at; 0 for an advantage.
        bound: what it is claimed to be at most, or at least; None for both ends as they are known.
        at_least: which of both.
        low: whether its lower end is to be proved too, where it has one.
    """

    quantity: Quantity
    at: Fraction = Fraction(0)
    bound: Fraction | None = None
    at_least: bool = False
    low: bool = True


@dataclass(frozen=True)
class _Answered:
    """An answer, and at which ε something of δ is to be shown for it.

    Attributes:
        answer: the answer.
        above: where δ is to be bounded above.
        below: where it is to be bounded below.
        touch: of a rate or f: the signed ε of the line that shows its worse end.
        places: of its other end: some ε, and the ends of δ there.
    """

    answer: evidence.Answer
    above: Fraction | None = None
    below: Fraction | None = None
    touch: Fraction | None = None
    places: tuple[tuple[Fraction, Fraction, Fraction], ...] = ()


def write_answers(profile: Profile, asked: Sequence[Asked]) -> Certificate:
    """Put a certificate together.

    Args:
        profile: a mechanism of which there are certificates.
        asked: the answers.

    Raises:
        InputError: for a mechanism of which there are none.
        UndecidedError: if an answer is, or the checker cannot be convinced of it.
    """
    if why := uncertifiable_because(profile):
        raise InputError("certificate", profile.kind, Advice(f"leave it out: {why}"))
    named = profile.certified_as
    if (other := with_gaussians(named)) is not None:
        return with_lemmas(write_answers(other, asked), named)
    found = identify(named)
    # of a formula the tail would need a proof of its own
    known = found.verdict is not Verdict.UNKNOWN and not isinstance(named, Written)
    claim = document.Claim(
        verdict=found.verdict.value if known else "unknown",
        statement="answers",
        mu=document.Range(low="0", high="inf"),
        eps_h=None,
        failure_probability="0",
        mu_tail=range_of((found.mu_tail if known else None) or Interval(0, "Infinity")),
        profile_is=named.profile_is.value,
    )
    written = partial(_written, begun(named, claim, _BITS, lemmas_of_delta(named)), named, asked)
    return first_written((partial(written, *way) for way in _ways(named)), len(asked))


def lemmas_of_delta(profile: Profile) -> tuple[document.Lemma, ...] | None:
    """Return δ of one run, which poisson numbers need, at the orders where it can be shown."""
    if not isinstance(profile, Tuned) or profile.distribution != "poisson":
        return None
    found: list[document.Lemma] = []
    for tilt in sorted(profile.renyi_orders):
        asked = Asked("delta", place_of_order(1 + tilt), low=False)
        with suppress(UndecidedError):
            one = write_answers(profile.base.certified_as, [asked])
            found += [lemma for lemma in lemmas_from(one) if lemma not in found]
    return tuple(found)


def _written(
    bare: Certificate,
    profile: Profile,
    asked: Sequence[Asked],
    loss: ComposedLoss | None,
    widths: Sequence[Fraction],
) -> Certificate:
    answers = [_first_shown(bare, profile, loss, one, widths) for one in asked]
    written = _with_proof(bare, profile, loss, answers)
    # that of one answer is proved already
    if len(answers) > 1 and not CellChecker(written).proves_answers():
        raise UndecidedError(_NOT_SHOWN)
    return _stored(written)


def _first_shown(
    bare: Certificate,
    profile: Profile,
    loss: ComposedLoss | None,
    asked: Asked,
    widths: Sequence[Fraction],
) -> _Answered:
    """Return an answer as closely as the checker is convinced of it.

    Raises:
        OutOfWork: if it is too much work for it, however it is put.
        UndecidedError: if it is not convinced.
    """
    tries = [(asked, wider) for wider in widths]
    if asked.bound is None:
        # of some classes no mechanism is known that shows the lower end, however wide
        tries = tries[:1] if rho_of(profile) is not None else tries
        tries = [] if profile.kind == "tuned" else tries
        tries += [(replace(asked, low=False), wider) for wider in widths]
    too_long = False
    for one, wider in tries:
        if too_long and one.low:
            continue
        answered = _answered(profile.curve, loss, one, wider)
        tried = _with_proof(bare, profile, loss, [answered])
        try:
            if CellChecker(tried).proves_answers():
                return answered
            if not (loss is None or all(map(has_line, tried.evidence.directions or ()))):
                # Chernoff's bound is no closer for other ends
                raise UndecidedError(_NO_LINE)
        except OutOfWork:
            # one end alone is less work, and digits hardly matter
            if too_long or asked.bound is not None:
                raise
            too_long = True
    raise UndecidedError(_NOT_SHOWN)


def _ways(profile: Profile) -> Sequence[tuple[ComposedLoss | None, Sequence[Fraction]]]:
    """Return how close ends may be: of composed losses to fewer digits, which is less work."""
    curve = profile.curve
    if isinstance(profile, RandomAllocation):
        # the checker has a bound of its own
        return [(None, _OF_ANOTHER)]
    if is_bounded(profile) and needs_lattice(profile):
        return [(None, (*_WIDER[1:], *_OF_ANOTHER))]
    if curve.form is Form.BETWEEN and is_near(profile):
        # the checker bounds the difference in its own way
        return [(None, (*_WIDER[:3], *_NEARLY, _WIDER[3], *_OF_ANOTHER))]
    if not isinstance(curve, ComposedCurve):
        return [(None, (*_WIDER, _CLOSELY))]
    found: list[tuple[ComposedLoss, Sequence[Fraction]]] = [(curve.loss.whole(), _WIDER[:3])]
    found += [(curve.loss_to(digits).whole(), _WIDER[2:3]) for digits in _FEWER_DIGITS]
    if has_little_noise(curve.loss.directions[0].moments):
        # where lines of the whole law need too many nodes, those of rare noise may do
        found += [(curve.loss_to(digits).shown(), _OF_ANOTHER[:1]) for digits in _FEWER_DIGITS]
    return found


def _stored(written: Certificate) -> Certificate:
    table = written.table
    return replace(written, table=replace(table, rows=None)) if table and table.file else written


# --- the answers ------------------------------------------------------------------------------


def _answered(curve: Curve, loss: ComposedLoss | None, asked: Asked, wider: Fraction) -> _Answered:
    if asked.quantity in ("tpr", "beta"):
        return _rate(curve, loss, asked, wider)
    is_eps = asked.quantity == "epsilon"
    low: Fraction | None
    high: Fraction | None
    if asked.bound is not None:
        most = None if is_eps else Fraction(1)
        low, high = (asked.bound, most) if asked.at_least else (Fraction(0), asked.bound)
    else:
        value = _epsilon(curve, loss, asked.at) if is_eps else _delta(curve, loss, asked.at)
        low, high = _ends(value, wider, most=None if is_eps else Fraction(1))
        low = low if asked.low or high is None else Fraction(0)
    answer = evidence.Answer(
        quantity=asked.quantity,
        at=None if asked.quantity == "advantage" else decimal_text(asked.at),
        low=_text(low),
        high=_text(high),
    )
    if is_eps:
        return _Answered(answer, above=high, below=low or None)
    return _Answered(answer, above=asked.at, below=asked.at if low else None)


def _delta(curve: Curve, loss: ComposedLoss | None, eps: Fraction) -> Interval:
    if loss is None:
        return curve.delta_at(eps)
    low, high = loss.delta(eps)
    return Interval(
        decimal_floor(to_fraction(low), _DIGITS), decimal_ceiling(to_fraction(high), _DIGITS)
    )


def _epsilon(curve: Curve, loss: ComposedLoss | None, delta: Fraction) -> Interval:
    found = None if loss is None else loss.epsilon(delta)
    if found is None:
        return curve.epsilon_at(delta)
    return Interval(decimal_floor(found[0], _DIGITS), decimal_ceiling(found[1], _DIGITS))


def _ends(
    value: Interval, wider: Fraction, most: Fraction | None, digits: int = _DIGITS
) -> tuple[Fraction | None, Fraction | None]:
    """Round the ends of an interval outward; None stands for infinity."""
    low, high = (None if end.is_infinite() else Fraction(end) for end in (value.low, value.high))
    if low is not None:
        low = Fraction(decimal_floor(low * (1 - wider), digits))
    if high is not None:
        high = Fraction(decimal_ceiling(high * (1 + wider), digits))
        high = high if most is None else min(high, most)
    return low, high


def _text(value: Fraction | None) -> str:
    return "inf" if value is None else decimal_text(value)


def _rate(curve: Curve, loss: ComposedLoss | None, asked: Asked, wider: Fraction) -> _Answered:
    """Bound f(α) below by the line that touches it best, and above by δ about where that is."""
    best = float(touching(curve, np.array([float(asked.at)]))[0])
    touch = Fraction(round(best * _GRID), _GRID)
    is_power = asked.quantity == "tpr"
    low, high = Fraction(0), Fraction(1)
    if asked.bound is None:
        with precision(_BITS):
            kept = 1 - ball(Fraction(_delta(curve, loss, abs(touch)).high))
            alpha, t = ball(asked.at), ball(abs(touch)).exp()
            line = kept - t * alpha if touch >= 0 else (kept - alpha) / t
            least = to_fraction(line.lower()) * (1 - wider) - wider
        low = Fraction(decimal_floor(least, _DIGITS)) if least > 0 else low
    elif asked.at_least is is_power:
        high = 1 - asked.bound if is_power else asked.bound
    else:
        low = 1 - asked.bound if is_power else asked.bound
    places: tuple[tuple[Fraction, Fraction, Fraction], ...] = ()
    if asked.bound is None and asked.low and asked.at:
        # so much higher it is where the places are: at a kink, or else where it is smooth
        apart = _APART[wider]
        off = 4 * apart if not wider else wider + 2 * apart**2
        high = Fraction(decimal_ceiling(low + off, _DIGITS))
        high = min(high, Fraction(1))
    if high < 1:
        places = _about(curve, loss, abs(touch), asked.at, high, wider)
    ends = (1 - high, 1 - low) if is_power else (low, high)
    answer = evidence.Answer(
        quantity=asked.quantity,
        at=decimal_text(asked.at),
        low=_text(ends[0]),
        high=_text(ends[1]),
    )
    shown = low > 0
    return _Answered(
        answer, abs(touch) if shown else None, touch=touch if shown else None, places=places
    )


def _about(
    curve: Curve,
    loss: ComposedLoss | None,
    touch: Fraction,
    alpha: Fraction,
    missed: Fraction,
    wider: Fraction,
) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
    """Return δ about where a line touches f, and from where on no line is of interest."""
    apart = _APART[wider]
    if touch < apart:
        # δ(1/t) mirrors δ(t), and slopes between places that are too close show nothing
        touch = Fraction(0)
    steps = [apart * power for power in _FURTHER if wider == _CLOSELY or power == 1]
    eps = sorted({touch, *(max(touch + sign * one, 0) for sign in (-1, 1) for one in steps)})
    found = [(one, *_shown_delta(curve, loss, one, wider)) for one in eps]
    last = Fraction(math.ceil(_GRID * max(math.log((1 - missed) / alpha), 0.0)) + 1, _GRID)
    return (*found, *([(last, Fraction(0), Fraction(1))] if last > eps[-1] else []))


def _shown_delta(
    curve: Curve, loss: ComposedLoss | None, eps: Fraction, wider: Fraction
) -> tuple[Fraction, Fraction]:
    digits = _DIGITS if wider != _CLOSELY else _MORE_DIGITS
    low, high = _ends(_delta(curve, loss, eps), wider, most=Fraction(1), digits=digits)
    assert low is not None
    assert high is not None
    return low, high


# --- the proof --------------------------------------------------------------------------------


def _with_proof(
    bare: Certificate, profile: Profile, loss: ComposedLoss | None, answers: Sequence[_Answered]
) -> Certificate:
    bare = replace(bare, claim=replace(bare.claim, answers=tuple(one.answer for one in answers)))
    evidence = replace(bare.evidence, points=tuple(_point(profile, loss, one) for one in answers))
    shown = [one.above for one in answers]
    shown += [eps for one in answers for eps, _, high in one.places if high < 1]
    above = sorted({_place(eps) for eps in shown if eps is not None})
    if is_bounded(profile) and needs_lattice(profile):
        unit, directions = lattice_of(bare)
        # the checker has a law on either side of the mechanism's own
        claim = replace(bare.claim, profile_is=composition_of(bare.mechanism).nature)
        evidence = replace(evidence, unit=unit, directions=directions)
        return replace(bare, claim=claim, evidence=evidence)
    if loss is not None:
        directions = tuple(
            document.Direction(pieces=tuple(pieces_at(direction, above)), cells=())
            for direction in loss.directions
        )
        return replace(bare, evidence=replace(evidence, directions=directions))
    if (rho := rho_of(profile)) is not None:
        places = [one for one in above if one]
        tangents = tangents_at(bare, zcdp_boundary(rho), places, _BITS)
        return replace(bare, evidence=replace(evidence, tangents=tangents))
    if is_of_divergences(profile):
        assert isinstance(profile.curve, SmoothCurve)
        table, bounds = bounds_of(profile)
        known = TangentsOf(profile.curve, bounds, _BITS)
        tangents = known.over(place for eps in above for place in known.places(eps))
        table, evidence = rows_used(profile, table, tangents), replace(evidence, tangents=tangents)
        lemmas = lemmas_used(bare, table)
        return replace(bare, table=table, evidence=evidence, lemmas=lemmas)
    if isinstance(profile, Written):
        places = touching_places(profile.followed.curve, _BITS)
        places += [_place(eps) for one in answers for eps, low, _ in one.places if low]
        places += [_place(one.below) for one in answers if one.below is not None]
        texts = tuple(map(binary_text, sorted(set(places)))) or None
        return replace(bare, evidence=replace(evidence, touching=texts))
    if is_closed(profile) or (profile.curve.form is Form.BETWEEN and is_near(profile)):
        return replace(bare, evidence=replace(evidence, directions=directions_of_formula()))
    if isinstance(profile, Table | TradeoffFunction):
        table, corners = rows_of(profile)
        return replace(bare, table=table, evidence=replace(evidence, corners=corners))
    if profile.curve.form is Form.LINEAR and not isinstance(profile, Densities | Skellam):
        evidence = replace(evidence, directions=plain_laws(bare))
    return replace(bare, evidence=evidence)


def _place(eps: Fraction) -> Fraction:
    return binary_below(eps, _PLACE_BITS) if eps else eps


def _point(profile: Profile, loss: ComposedLoss | None, one: _Answered) -> evidence.Point:
    touch = one.touch
    text = None if touch is None else f"{'-' if touch < 0 else ''}{binary_text(abs(touch))}"
    event, line = below(profile, loss, one.below)
    places = tuple(place_of(profile, *place, loss) for place in one.places)
    return evidence.Point(touch=text, event=event, witness_line=line, places=places or None)
