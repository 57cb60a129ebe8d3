"""One measurement: its statement is chosen, the tail and the head are measured and joined."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from gdpbridge.certificate.proof import Proof, continued
from gdpbridge.curves.base import Curve, Form
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.tail import Handover, Scope
from gdpbridge.curves.tails import CERTAIN
from gdpbridge.errors import InputError, UndecidedError, WorkLimitError
from gdpbridge.identify import Verdict, identify
from gdpbridge.interval import Interval
from gdpbridge.measure.method import Method, default_method
from gdpbridge.measure.problem import Answer, Problem
from gdpbridge.measure.result import Measurement, Statement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.decide import MorePrecisionError, certainly
from gdpbridge.numeric.effort import MOST_WORK, Limit
from gdpbridge.numeric.exact import (
    bound_above,
    ceiling_to_places,
    digits_of,
    float_ceiling,
    floor_to_places,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, float_above, fraction_above, to_fraction
from gdpbridge.progress import Progress

__all__ = ["DEFAULT_HEAD", "LEAST_TOL", "MEASURED_ELSE", "Request", "bounds_of"]

MEASURED_ELSE = (
    "ask for a larger tol, past a larger failure probability, or for a head; convert finds ε at a δ"
)
"""What can be done where a μ takes too much work."""

# beyond ε = 100 few mechanisms have a δ that matters
DEFAULT_HEAD = Fraction(100)
# at these failure probabilities too where the default statement needs one
_FAILURES = tuple(Fraction(1, 10**digits) for digits in (5, 8, 10, 15, 20))
_ONE = Fraction(1)
# how much more work they may be together than one statement
_OTHERS = 2
# and where a head is measured by δ at single ε
_BY_CHORDS = 2
_BITS = 256
# the least width that is asked for
LEAST_TOL = Fraction(1, 10**100)
# the exponent of the least failure probability that is written out
_LEAST_FAILURE = -4000
_INFINITE = Interval("Infinity", "Infinity")
_VAGUE = "the ends of the interval are so far apart that they say little"
_BY_TAIL = "the supremum is the tail parameter μ_t, approached as ε grows"


@dataclass(frozen=True)
class _Failure:
    """A failure probability: an exact upper bound, and the floats to report."""

    exact: Fraction = Fraction(0)
    probability: float = 0.0
    log: float = -math.inf


@dataclass(frozen=True)
class _Found:
    """What was found for one statement."""

    statement: Statement
    mu: Interval
    proof: Proof | None
    attained_at: float = 0.0
    failure: _Failure = _Failure()
    evaluations: int = 0
    cells: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """A checked call of :func:`measure`; the width may be given, or a default one."""

    profile: Profile
    tol: Fraction
    given: bool
    keeps_to_tol: bool
    scales: bool
    eps_h: Fraction | None
    failure: Fraction | None
    method: Method
    progress: Progress

    def answer(self, started: float) -> Measurement:
        """Choose the statement, measure, and put the result together."""
        identified = identify(self.profile)
        eps_h, failure = self._scope(identified.verdict)
        if eps_h is not None:
            found = self._head_or_chords(eps_h)
        elif failure:
            found = self._approximate_or_whole(failure, identified.verdict)
        else:
            with self._limit("μ").part():
                found = self._whole()
        whole = self._whole_range(identified.verdict, found)
        by_failure, undecided = self._by_failure(found, whole)
        return Measurement(
            profile=self.profile,
            verdict=identified.verdict,
            reason=identified.reason,
            statement=found.statement,
            mu=found.mu,
            attained_at=found.attained_at,
            eps_h=None if eps_h is None else float(eps_h),
            failure_probability=found.failure.probability,
            log_failure_probability=found.failure.log,
            whole_range_mu=whole,
            mu_tail=identified.mu_tail,
            tail_status=identified.tail_status,
            certified=found.proof is not None and not self.profile.assumptions,
            method=self.method.name,
            evaluations=found.evaluations,
            cells=found.cells,
            by_failure=by_failure,
            seconds=time.perf_counter() - started,
            notes=(
                *found.notes,
                *(f"at p = {p:g} it is undecided: {why}" for p, why in undecided.items()),
                *((_VAGUE,) if found.mu.is_vague else ()),
                *self.profile.remarks,
                *self.profile.assumptions,
            ),
            failure=found.failure.exact,
            evidence=None if self.profile.assumptions else found.proof,
            undecided=tuple(undecided),
        )

    def _by_failure(
        self, found: _Found, whole: Interval | None
    ) -> tuple[tuple[tuple[float, Interval], ...], dict[float, str]]:
        """Measure at other failure probabilities too where the default statement needs one.

        Returns:
            An interval for each, and why it could not be decided at some: there it lies between
            those of a larger and a smaller probability, as μ falls with p.
        """
        default = self.profile.default_failure
        if default is None or found.statement is not Statement.APPROXIMATE or self.failure:
            return (), {}
        known: dict[float, Interval] = {}
        why: dict[float, str] = {}
        bounds: dict[float, Interval] = {}
        # all of them together
        limit = self._limit("μ past another failure probability", _OTHERS * MOST_WORK)
        for p in (p for p in _FAILURES if p >= self.profile.least_failure):
            try:
                with limit.part():
                    known[float(p)] = found.mu if p == default else self._approximate(p).mu
            except (UndecidedError, WorkLimitError) as error:
                why[float(p)] = str(error)
                bounds[float(p)] = bounds_of(error)
        for at, own in bounds.items():
            low = max([mu.low for other, mu in known.items() if other > at] + [own.low])
            less = [mu.high for other, mu in known.items() if other < at]
            less += [] if whole is None else [whole.high]
            bounds[at] = Interval(low, min([*less, own.high]))
        return tuple(sorted((known | bounds).items(), reverse=True)), why

    def _scope(self, verdict: Verdict) -> Scope:
        """Return the statement asked for, or the default."""
        if self.failure == 0 and verdict is not Verdict.GDP:
            raise InputError("failure", 0, "a number > 0: no finite μ is known that covers every ε")
        if self.eps_h is not None or self.failure is not None:
            return Scope(self.eps_h, self.failure)
        if self.profile.default_failure is not None:
            return Scope(failure=self.profile.default_failure)
        return self.profile.tail.default_scope() or Scope(eps_h=DEFAULT_HEAD)

    def _scaled(self, curve: Curve, end: Fraction = Fraction(0), least: float = 0.0) -> Request:
        """Return the request with a width that is relative to μ, where that is below 1.

        Args:
            curve: the curve to be measured, δ(0) < 1.
            end: where its head ends: G may be much larger there than at 0.
            least: what the least μ is at least.
        """
        if not self.scales or least >= 1:
            return self
        with precision(_BITS):
            try:
                seen = float(curve.largest_seen((end / 4, end) if end else (), 1.0).lower())
            except MorePrecisionError:
                # δ is too close to 1 for so few bits, and μ large
                return self
            rough = max(least, seen)
        if not 0 < rough < 1:
            return self
        tol = self.tol * Fraction(10) ** math.floor(math.log10(rough))
        return replace(self, tol=max(tol, LEAST_TOL), scales=False)

    def _whole(self) -> _Found:
        mu_tail = self.profile.tail.mu_tail
        least = 0.0 if mu_tail is None else float(mu_tail.low)
        return self._scaled(self.profile.curve, least=least)._whole_within()

    def _whole_within(self) -> _Found:
        """Measure the whole range to within the width asked for."""
        curve = self.profile.curve
        handover = curve.tail.covered_from(curve.largest_seen, self.tol)
        assert handover is not None
        if handover.end == 0:
            # the tail is everything
            ends = handover.low, handover.high, Fraction(0)
            by_tail = Answer(*ends, 0, 0, proof=Proof() if handover.is_proved else None)
            # a default width is not asked of what does not depend on it
            asked = handover.is_sharp or self.given
            found = self._found(by_tail, Statement.WHOLE, checked=handover.is_proved and asked)
            notes = (handover.note,) if handover.note else ()
            return replace(found, attained_at=handover.attained_at, notes=notes)
        return self._joined(self._solve(curve, handover.end), handover)

    def _joined(self, head: Answer, handover: Handover) -> _Found:
        """Join a head to what the tail says."""
        by_tail = handover.low > head.low
        proof = head.proof if handover.is_proved else None
        if proof is not None and handover.in_proof:
            witness = "tail" if by_tail else proof.witness
            start = handover.end if handover.shown_from is None else handover.shown_from
            cells = continued(proof.cells, start) if handover.shown_from else proof.cells
            proof = replace(proof, cells=cells, tail_from=start, witness=witness)
        low, high = max(head.low, handover.low), max(head.high, handover.high)
        notes = (handover.note,) if handover.note else ()
        found = self._found(
            replace(head, low=low, high=high, proof=proof),
            Statement.WHOLE,
            notes=notes,
            checked=handover.is_proved,
        )
        if by_tail:
            return replace(found, attained_at=math.inf, notes=(*found.notes, _BY_TAIL))
        return found

    def _head_or_chords(self, eps_h: Fraction) -> _Found:
        """Measure a head; where no line covers it within the limit, by δ at single ε."""
        asked = f"μ on [0, {float(eps_h):g}]"
        try:
            with self._limit(asked).part():
                return self._head(eps_h)
        except WorkLimitError:
            if self.profile.curve.form is not Form.COMPOSED:
                raise
            with self._limit(asked, _BY_CHORDS * MOST_WORK).part():
                found = self._head_by_chords(eps_h)
            if found is None:
                raise
            return found

    def _head_by_chords(self, eps_h: Fraction) -> _Found | None:
        """Measure a head by δ at single ε; None where that says nothing."""
        # what is not composed does without losses
        from gdpbridge.measure.chords import by_chords

        curve, failure = self.profile.curve, self._failure_at(eps_h)
        end = eps_h if curve.end is None else min(eps_h, upper_bound(curve.end))
        problem = Problem(curve, end, self.tol, self.progress)
        found = by_chords(problem, scales=self.scales)
        if found is None:
            return None
        answer, tol = found
        # a default width is missed rather than nothing said
        request = replace(self, tol=tol, keeps_to_tol=self.given)
        return request._found(answer, Statement.HEAD, failure)

    def _head(self, eps_h: Fraction) -> _Found:
        curve = self.profile.curve
        failure = self._failure_at(eps_h)
        if curve.tail.gaussian_mu is not None:
            return replace(self._whole(), statement=Statement.HEAD, failure=failure)
        if curve.fails_at_zero():
            return _impossible(Statement.HEAD, failure, CERTAIN, attained_at=0.0)
        end = eps_h if curve.end is None else min(eps_h, upper_bound(curve.end))
        request = self._scaled(curve, end)
        answer = request._solve(curve, end, curve.tail.ceiling(request.tol))
        return request._found(answer, Statement.HEAD, failure)

    def _approximate_or_whole(self, p: Fraction, verdict: Verdict) -> _Found:
        """Measure what is past p; where nobody asked for p and it is not found, the whole range."""
        try:
            with self._limit(f"μ past p = {float(p):g}").part():
                return self._approximate(p)
        except (WorkLimitError, UndecidedError) as error:
            known = isinstance(error, UndecidedError) and error.bounds is not None
            if known or self.failure is not None or verdict is not Verdict.GDP:
                raise
            note = f"what a failure probability of {float(p):g} would save is not known: {error}"
            found = self._whole()
            return replace(found, notes=(*found.notes, note))

    def _limit(self, asked: str, most: int = MOST_WORK) -> Limit:
        return Limit(f"{asked} of {self.profile.kind}", MEASURED_ELSE, most)

    def _approximate(self, p: Fraction) -> _Found:
        curve = self.profile.curve
        with precision(_BITS):
            log = float_ceiling(to_fraction(ball(p).log().upper()))
        failure = _Failure(p, bound_above(p), log)
        if curve.fails_at_zero():
            return _impossible(Statement.APPROXIMATE, failure, CERTAIN, attained_at=0.0)
        obstacle = curve.tail.after_failure(p)
        if obstacle is not None and not obstacle.is_proved:
            raise InputError("failure", float(p), obstacle.words)
        if obstacle is not None:
            return _impossible(Statement.APPROXIMATE, failure, obstacle.words)
        past = curve.past(p)
        assert past.end is not None
        end = upper_bound(past.end)
        request = self._scaled(past, end)
        answer = request._solve(past, end, curve.tail.ceiling_past(p, request.tol), p)
        return request._found(answer, Statement.APPROXIMATE, failure)

    def _whole_range(self, verdict: Verdict, found: _Found) -> Interval | None:
        if verdict is Verdict.UNKNOWN:
            return None
        if verdict is Verdict.NOT_GDP:
            return _INFINITE
        if found.statement is Statement.WHOLE:
            return found.mu
        # the whole range may be out of another method's reach though the statement is not
        method = default_method(self.profile.curve.form)
        return replace(self, method=method, given=False)._whole().mu

    def _solve(
        self,
        curve: Curve,
        end: Fraction,
        ceiling: Fraction | None = None,
        failure: Fraction = Fraction(0),
    ) -> Answer:
        if curve.end == 0:
            return Answer(Fraction(0), Fraction(0), Fraction(0), 0, 0, proof=Proof())
        return self.method.solve(Problem(curve, end, self.tol, self.progress, ceiling, failure))

    def _found(
        self,
        answer: Answer,
        statement: Statement,
        failure: _Failure = _Failure(),
        notes: tuple[str, ...] = (),
        *,
        checked: bool = True,
    ) -> _Found:
        if checked and answer.high - answer.low > self.tol:
            if self.keeps_to_tol:
                raise UndecidedError(
                    f"the interval could only be narrowed to [{float(answer.low):.12g}, "
                    f"{float(answer.high):.12g}]: ask for a larger --tol",
                    self._interval(answer.low, answer.high),
                )
            wider = f"the interval is wider than {float(self.tol):g}: {answer.at_best}"
            notes = (*notes, wider)
        return _Found(
            statement,
            self._interval(answer.low, answer.high),
            answer.proof,
            float(answer.attained_at),
            failure,
            answer.evaluations,
            answer.cells,
            (*answer.notes, *notes),
        )

    def _interval(self, low: Fraction, high: Fraction) -> Interval:
        """Round outward to decimals; a hundredth of the tolerance is what that may cost.

        An interval much narrower than asked for, as around a small μ, keeps what it says.
        """
        width = high - low
        narrow = not self.method.keeps_to_tol and 0 < width < self.tol / 10
        places = digits_of(width if narrow else self.tol) + 2
        return Interval(floor_to_places(low, places), ceiling_to_places(high, places))

    def _failure_at(self, eps_h: Fraction) -> _Failure:
        """Return an upper bound of δ(ε_h)."""
        log = self.profile.curve.log_delta_above(eps_h)
        with precision(_BITS):
            return _failure_up_to(log)


def bounds_of(error: Exception) -> Interval:
    """Return what is known of μ where an error says that it could not be found."""
    found: Interval | None = getattr(error, "bounds", None)
    return Interval(0, "Infinity") if found is None else found


def _impossible(
    statement: Statement, failure: _Failure, note: str, attained_at: float = math.inf
) -> _Found:
    return _Found(statement, _INFINITE, Proof(), attained_at, failure, notes=(note,))


def _failure_up_to(log: arb) -> _Failure:
    """Return the failure probability whose logarithm is the upper end of a ball."""
    if certainly(log == arb.neg_inf()):
        return _Failure()
    # below that, the fraction itself would be out of reach
    top = log.exp().max(arb(10) ** _LEAST_FAILURE)
    # rounding up must not make it more than certain
    rounded = min(fraction_above(top, 20), _ONE)
    return _Failure(rounded, float_ceiling(rounded), min(float_above(log), 0.0))
