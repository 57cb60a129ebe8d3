"""Write a certificate: the claim, and evidence that the checker is known to accept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from itertools import chain

from gdpbridge.certificate.adding import is_sum, rho_of, with_gaussians
from gdpbridge.certificate.binaries import binary_below, binary_text, optional_binary_text
from gdpbridge.certificate.cells import all_accepted, require_far_enough
from gdpbridge.certificate.checker import CellChecker
from gdpbridge.certificate.limits import first_written
from gdpbridge.certificate.model import SCHEMA, Certificate
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.certificate.reach import hides_far_out, is_bounded, is_closed, is_near, needs_lattice
from gdpbridge.certificate.tangents import is_of_divergences
from gdpbridge.certificate.write_closed import with_formula
from gdpbridge.certificate.write_composed import at_zero, with_directions
from gdpbridge.certificate.write_convex import with_cells, with_chords
from gdpbridge.certificate.write_discrete import above, with_laws
from gdpbridge.certificate.write_lattice import with_lattice
from gdpbridge.certificate.write_lemmas import lemmas_of_rho, with_lemmas
from gdpbridge.certificate.write_near import with_nearness
from gdpbridge.certificate.write_zcdp import with_head_of_runs, with_tangents
from gdpbridge.curves.base import Form
from gdpbridge.curves.composed import ComposedCurve
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import UndecidedError
from gdpbridge.guarantees.boundary import zcdp_boundary
from gdpbridge.identify import identify
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.densities import Densities
from gdpbridge.mechanisms.formula import Formula, Written
from gdpbridge.mechanisms.random_allocation import RandomAllocation
from gdpbridge.mechanisms.renyi import Renyi
from gdpbridge.mechanisms.skellam import Skellam
from gdpbridge.mechanisms.table import Table
from gdpbridge.mechanisms.thresholded_release import ThresholdedRelease
from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, decimal_text, exact
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction
from gdpbridge.transformations.clip_rectify import ClipRectify
from gdpbridge.transformations.compose import Composed
from gdpbridge.transformations.tuned import Tuned
from gdpbridge_verify.document import Claim, Evidence, Lemma, Range
from gdpbridge_verify.evidence import Breakpoint
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import OutOfWork

__all__ = ["begun", "range_of", "write"]

# of a μ that answers rest on
_DIGITS = 15
# of a claim whose digits are all too much work for the checker
_FEWER_DIGITS = 15, 9
# beyond which lines, which are long, are left for a lattice
_MOST_BYTES = 100_000
# of squares, relatively
_TOO_CLOSE = Fraction(1, 500)
# by which another bound may be above that which was measured
_ANOTHER = Fraction(0), Fraction(1, 10_000), Fraction(1, 1000), Fraction(1, 200)
# by which a tail may begin later than in the search
_MOST_STEPS = 40


def range_of(interval: Interval) -> Range:
    """Return an interval as a certificate states it."""
    return Range(low=_mu_text(interval.low), high=_mu_text(interval.high))


def write(
    profile: Profile, claim: Claim, proof: Proof, lemmas: tuple[Lemma, ...] | None = None
) -> Certificate:
    """Put a certificate together.

    Args:
        profile: the mechanism.
        claim: what is claimed of it.
        proof: what the search left behind.
        lemmas: what else it takes, of poisson numbers of runs.

    Raises:
        UndecidedError: if the checker cannot be convinced of a cell, or that would be too much
            work.
    """
    if claim.statement == "approximate" and Fraction(claim.failure_probability) >= 1:
        raise UndecidedError("there is nothing to prove of what may always fail")
    # the mechanism's own δ may be all that is possible in a class
    named = profile.certified_as
    other = with_gaussians(named)
    if other is None:
        return _as_closely(named, claim, proof, lemmas)
    tail = identify(other).mu_tail
    if tail is not None and claim.verdict == "gdp":
        claim = replace(claim, mu_tail=range_of(tail))
    return with_lemmas(_as_closely(other, claim, proof, None), named)


def _as_closely(
    named: Profile, claim: Claim, proof: Proof, lemmas: tuple[Lemma, ...] | None
) -> Certificate:
    """Claim as many digits as the checker can be convinced of."""
    stated = replace(claim, profile_is=named.profile_is.value)
    first = partial(_written, named, stated, proof, lemmas)
    others = (partial(_written, named, *one, lemmas) for one in _looser(stated, proof))
    return first_written(chain([first], others))


def _looser(claim: Claim, proof: Proof) -> Iterator[tuple[Claim, Proof]]:
    """Yield claims of fewer and fewer digits, each with its proof."""
    most: str = claim.mu_tail.high
    known = claim.statement == "approximate" and "inf" not in (most, claim.mu.high)
    if known and 0 <= Fraction(most) - Fraction(claim.mu.low) <= _ANOTHER[2] * Fraction(most):
        # what is μ-GDP as a whole is so past a failure, too
        mu = replace(claim.mu, high=most)
        yield replace(claim, mu=mu), replace(proof, cells=())
    if proof.looser is None and proof.cells and most != "inf" != claim.mu.high:
        for digits in _FEWER_DIGITS:
            ends = (
                decimal_floor(Fraction(claim.mu.low), digits),
                decimal_ceiling(Fraction(claim.mu.high), digits),
            )
            low_text, high_text = (decimal_text(exact(one)) for one in ends)
            if len(high_text) < len(claim.mu.high):
                yield replace(claim, mu=Range(low=low_text, high=high_text)), proof
    low = Fraction(claim.mu.low)
    while proof.looser is not None:
        low_of, high, proof = proof.looser()
        low = min(low, low_of)
        yield replace(claim, mu=Range(low=decimal_text(low), high=decimal_text(high))), proof


def begun(
    profile: Profile, claim: Claim, bits: int, lemmas: tuple[Lemma, ...] | None = None
) -> Certificate:
    """Return a certificate with nothing of its proof but what the mechanism needs.

    Args:
        profile: the mechanism.
        claim: the claim.
        bits: the precision to which places are bracketed.
        lemmas: those of poisson numbers of runs.
    """
    by_rows = isinstance(profile, Written | Renyi | Table | TradeoffFunction | Tuned)
    if isinstance(profile, Formula) and profile.is_exact and profile.possible is not True:
        # the user's word alone is no proof
        claim = replace(claim, profile_is="bound")
    if hides_far_out(profile):
        claim = replace(claim, verdict="unknown", mu_tail=Range(low="0", high="inf"))
    smooth = profile.curve.form is Form.SMOOTH and not is_closed(profile)
    by_rule = rho_of(profile) is not None or isinstance(profile, Densities)
    no_formula = by_rows or by_rule or not smooth or is_sum(profile)
    # where δ of a sample no longer falls the checker sees by itself
    no_formula = no_formula or profile.kind == "subsampled"
    spec = _specification(profile) if by_rows else profile.specification()
    if is_sum(profile) and by_rule:
        lemmas = lemmas_of_rho(spec, max(len(claim.mu.high.partition(".")[2]), _DIGITS))
    return Certificate(
        schema=SCHEMA,
        generator=f"gdpbridge {version('gdpbridge')}",
        mechanism=spec,
        lemmas=lemmas,
        claim=claim,
        evidence=Evidence(
            breakpoints=() if no_formula else _breakpoints(profile, bits),
            cells=(),
            witness=None,
            tail_from=None,
        ),
    )


def _written(
    profile: Profile, claim: Claim, proof: Proof, lemmas: tuple[Lemma, ...] | None
) -> Certificate:
    if not is_bounded(profile) or _is_by_points(profile):
        return _as_measured(profile, claim, proof, lemmas)
    if not needs_lattice(profile):
        # as closely as it was measured, if that is not too much for the checker
        try:
            found = _as_measured(profile, claim, proof)
            if len(found.to_json()) <= _MOST_BYTES:
                return found
        except (OutOfWork, UndecidedError):
            pass
    return with_lattice(begun(profile, claim, proof.bits), proof, profile)


def _as_measured(
    profile: Profile, claim: Claim, proof: Proof, lemmas: tuple[Lemma, ...] | None = None
) -> Certificate:
    bare = begun(profile, claim, proof.bits, lemmas)
    if claim.mu.high == "inf":
        # nothing is claimed of an upper end, and the line at the witness alone is needed
        proof = replace(proof.shown(), cells=(), directions=())
    else:
        proof = _past_the_last_bracket(proof, bare.evidence.breakpoints)
    tail_from = optional_binary_text(proof.tail_from)
    evidence = replace(bare.evidence, witness=_witness(proof), tail_from=tail_from)
    bare = replace(bare, evidence=evidence)
    composed = profile.curve.form is Form.COMPOSED
    rho = rho_of(profile)
    by_rows = isinstance(profile, Written | Table | TradeoffFunction) or is_of_divergences(profile)
    discrete = profile.curve.form is Form.LINEAR and not by_rows
    if isinstance(profile.curve, ComposedCurve) and _is_nothing(claim):
        return at_zero(bare, profile.curve)
    if composed:
        return with_directions(bare, proof)
    if isinstance(profile, Densities | Skellam | ThresholdedRelease):
        return with_cells(_covering(bare, profile), proof, profile.curve)
    if isinstance(profile, RandomAllocation) or _is_by_points(profile):
        return _of_allocation(bare, proof, profile)
    if profile.curve.form is Form.BETWEEN:
        return with_nearness(bare, profile)
    if discrete:
        return _by_laws(bare, proof, profile)
    if rho is not None and is_sum(profile):
        return with_head_of_runs(bare, zcdp_boundary(rho), proof.bits)
    if rho is not None:
        return with_tangents(bare, proof, zcdp_boundary(rho))
    if by_rows:
        return with_chords(bare, proof, profile)
    if is_closed(profile):
        return with_formula(bare, proof, profile)
    if claim.mu.high == "inf":
        return bare
    checker = CellChecker(bare)
    proof = _past_where_it_decays(proof, checker)
    bare = replace(
        bare, evidence=replace(bare.evidence, tail_from=optional_binary_text(proof.tail_from))
    )
    (cells,) = all_accepted(checker, [proof.cells])
    require_far_enough(checker, [cells])
    return replace(bare, evidence=replace(bare.evidence, cells=cells))


def _is_nothing(claim: Claim) -> bool:
    """Whether past a failure no noise is needed, so that the search was left out."""
    high: str = claim.mu.high
    return claim.statement == "approximate" and high != "inf" and Fraction(high) == 0


def _by_laws(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Show discrete losses by their law, or noise to be nearly Gaussian where that is as good."""
    near = bare.claim.statement == "whole" and is_near(profile)
    if near and not proof.cells and bare.claim.mu.high != "inf":
        # the tail was all of the proof, of an upper end that is claimed
        return with_nearness(bare, profile)
    try:
        found = with_laws(bare, proof, profile)
    except (OutOfWork, UndecidedError):
        if not near:
            raise
        return with_nearness(bare, profile)
    if near and found.claim.mu.high != bare.claim.mu.high:
        with suppress(UndecidedError):
            other = with_nearness(bare, profile)
            return min(found, other, key=lambda one: Fraction(one.claim.mu.high))
    return found


def _is_by_points(profile: Profile) -> bool:
    """Whether the checker's bound of runs is its own."""
    return isinstance(profile, Composed) and isinstance(profile.base, Skellam)


def _of_allocation(bare: Certificate, proof: Proof, profile: Profile) -> Certificate:
    """Claim what the checker's bound shows, which is as good as the one measured, but another."""
    claim = bare.claim
    bare = replace(bare, evidence=replace(bare.evidence, witness=None))
    for wider in _ANOTHER:
        mu = Range(low="0", high=above(claim.mu.high, wider))
        # δ(ε_h) of a head is the checker's too
        is_head = claim.statement == "head"
        failure = above(claim.failure_probability, wider if is_head else Fraction(0))
        wide = replace(claim, mu=mu, failure_probability=failure)
        try:
            return with_laws(replace(bare, claim=wide), proof, profile)
        except UndecidedError:
            continue
    raise UndecidedError("the checker's bound is not as good")


def _covering(bare: Certificate, profile: Profile) -> Certificate:
    """Let mu.high be that of Gaussian noise, where it is so close that cells would be too many."""
    square = profile.noise_square if isinstance(profile, ThresholdedRelease) else None
    mu = bare.claim.mu
    if square is None or mu.high == "inf":
        return bare
    least = Fraction(mu.high) ** 2
    if not least < square < (1 + _TOO_CLOSE) * least:
        return bare
    scale = 10 ** len(mu.high.partition(".")[2])
    root = math.isqrt(math.ceil(square * scale**2) - 1) + 1
    wider = replace(mu, high=decimal_text(Fraction(root, scale)))
    return replace(bare, claim=replace(bare.claim, mu=wider))


def _specification(profile: Profile) -> dict[str, str | None]:
    """Return what is known by rows, which stand beside it, or by a text."""
    found: dict[str, str | None] = {"kind": profile.kind, "neighbours": profile.neighbours}
    if isinstance(profile, TradeoffFunction):
        return profile.stated()
    if isinstance(profile, Written):
        found |= {"text": profile.text} | (
            {"exact": "true"} if profile.profile_is is Nature.OWN else {}
        )
        found |= {f"set.{name}": decimal_text(exact(v)) for name, v in profile.values.items()}
    if isinstance(profile, Tuned):
        found |= {"mean": decimal_text(profile.exact("mean")), "distribution": profile.distribution}
        found |= {"shape": decimal_text(profile.exact("shape"))}
        base = profile.base.certified_as
        own = {"kind": base.kind, "neighbours": base.neighbours}
        inner = own if isinstance(base, Renyi) else base.specification()
        found |= {f"base.{name}": text for name, text in inner.items()}
    return found


def _witness(proof: Proof) -> str | None:
    if proof.witness is None:
        return None
    # an ε_h in decimals is rounded down
    at = proof.witness
    return "tail" if at == "tail" else binary_text(binary_below(at, proof.bits))


def _past_the_last_bracket(proof: Proof, breakpoints: tuple[Breakpoint, ...]) -> Proof:
    """Let a tail that begins within the last bracket begin at its end, as the checker wants it."""
    if proof.tail_from is None or not breakpoints:
        return proof
    end: Fraction = binary(breakpoints[-1].high)
    if proof.tail_from >= end:
        return proof
    *cells, last = proof.cells
    extended = ProvedCell(last.low, end, None)
    return replace(proof, cells=(*cells, extended), tail_from=end)


def _past_where_it_decays(proof: Proof, checker: CellChecker) -> Proof:
    """Let the tail begin where the checker can follow it, which sees less than the search does."""
    start = proof.tail_from
    if start is None:
        return proof
    cells = list(proof.cells)
    for _ in range(_MOST_STEPS):
        if checker.proves_tail(start):
            return replace(proof, cells=tuple(cells), tail_from=start)
        # the last cell may end beyond where the tail began
        low = cells[-1].high if cells else Fraction(0)
        start = max(low, start) * Fraction(5, 4) or Fraction(1)
        cells.append(ProvedCell(low, start, (low + start) / 2))
    raise UndecidedError("the tail could not be certified")


def _breakpoints(profile: Profile, bits: int) -> tuple[Breakpoint, ...]:
    """Bracket the breakpoints that are not rational; the checker knows the others."""
    # the knots of clip and rectify are in its specification, its base may have breakpoints
    inner = profile.base if isinstance(profile, ClipRectify) else profile
    curve = inner.curve
    # every kind that the checker knows is one of formulas
    assert isinstance(curve, SmoothCurve)
    with precision(bits):
        brackets = [
            piece.bracket() for piece in curve.pieces[1:] if not isinstance(piece.start, Fraction)
        ]
        return tuple(
            Breakpoint(low=binary_text(to_fraction(low)), high=binary_text(to_fraction(high)))
            for low, high in brackets
        )


def _mu_text(value: Decimal) -> str:
    return "inf" if value.is_infinite() else format(value, "f")
