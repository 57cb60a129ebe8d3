"""The entry point: from a profile to a statement and an interval for μ."""

from __future__ import annotations

import importlib
import math
import pkgutil
import time
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from gdpbridge.certificate.proof import Proof
from gdpbridge.curves.constants import (
    MAX_EPS,
    Constant,
    constant_text,
    interval_around,
    rational_above,
)
from gdpbridge.curves.failure import past_failure
from gdpbridge.curves.smooth import Curve
from gdpbridge.curves.tail import (
    AssumedTail,
    CertainFailureTail,
    CoarseDecayTail,
    ConstantTail,
    FloorTail,
    GaussianBoundTail,
    GaussianCurveTail,
    GaussianDecayTail,
    PlateauTail,
)
from gdpbridge.errors import InputError, UndecidedError
from gdpbridge.identify import Verdict, identify
from gdpbridge.interval import Interval
from gdpbridge.measure import methods
from gdpbridge.measure.problem import Answer, Method, Problem, Progress, silent
from gdpbridge.measure.result import Measurement, Statement
from gdpbridge.measure.tail import Handover, gaussian_decay_handover, upper_bound
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.callable import Callable as TrustedFunction
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import (
    ceiling_to_places,
    decimal_ceiling,
    digits_of,
    exact,
    float_ceiling,
    float_floor,
    floor_to_places,
)
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, ball, float_above, to_fraction

__all__ = [
    "COMPOSED_TOL",
    "DEFAULT_HEAD",
    "DEFAULT_TOL",
    "default_tol",
    "measure",
    "method_names",
]

DEFAULT_TOL = 1e-9
# where bounds have to be composed numerically
COMPOSED_TOL = 1e-4
_ONE = Fraction(1)
# shown beside the default one
_FAILURES = tuple(Fraction(1, 10**digits) for digits in (5, 8, 10, 15, 20))
DEFAULT_HEAD = Fraction(100)
_EPS_TOP, _EPS_ALLOWED = Fraction(MAX_EPS), f"a number > 0 and at most {MAX_EPS:g}"
_BELOW_ONE, _P_ALLOWED = 1 - Fraction(1, 10**30), "a number > 0 and < 1"
_TOL_RANGE = (Fraction(1, 10**100), Fraction(1))
_BITS = 256
_MAX_BITS = 8192
_SHARP = 2.0**-40
_LEAST_FAILURE = -4000


def method_names() -> list[str]:
    """Return the names of the measuring methods, the default first."""
    names = sorted(module.name for module in pkgutil.iter_modules(methods.__path__))
    return sorted(names, key=lambda name: name != "certified")


def default_tol(profile: Profile) -> float:
    """Return the width of intervals for μ that is asked for where none is given."""
    return DEFAULT_TOL if profile.curve.bounds is None else COMPOSED_TOL


def measure(
    profile: Profile,
    tol: Real | None = None,
    eps_h: Real | None = None,
    failure: Real | None = None,
    method: str = "certified",
    *,
    progress: Progress = silent,
) -> Measurement:
    """Measure the least μ for which a mechanism is μ-GDP, as an interval.

    With neither ``eps_h`` nor ``failure`` the statement is about the whole range [0, ∞) where
    some finite μ covers it; else about all but the mass at infinity, where the profile has one;
    else about the head up to ε = 100. For dpsgd, whose μ on the whole range is that of the run
    without sampling, it is the approximate one at p = 1e-10.

    Args:
        profile: the mechanism's privacy profile.
        tol: the largest width allowed of the interval, in [1e-100, 1]; 1e-9 if None, or 1e-4 for a
            mechanism whose privacy loss has to be composed numerically, such as dpsgd.
        eps_h: asks for a head statement, δ ≤ δ_μ on [0, eps_h]; in (0, 1e5].
        failure: asks for an approximate statement, δ ≤ p + (1 - p)·δ_μ everywhere; p in (0, 1).
        method: "certified" (proved, the default; it stands for the method that proves for this
            profile), "adaptive", "breakpoints", "composed", "shuffled" or "staircase".
        progress: called with a sentence and a share in [0, 1] during long work.

    Returns:
        The statement, the interval for μ and what it rests on.

    Raises:
        InputError: for an argument outside its range.
        WorkLimitError: if the method would need more than its stated number of evaluations.
        UndecidedError: if the precision cap was reached.

    Source: Liu, Sun, Jiang and Kong (2022), sections 3 and 4; the three statements are
    δ ≤ δ_μ on [0, ∞), the head condition, and their first case in "Understanding the tail".
    """
    started = time.perf_counter()
    if not isinstance(profile, Profile):
        raise InputError("profile", profile, "a profile, such as gdpbridge.profiles.Laplace(...)")
    if method == "certified":
        method = _proving(profile)
    elif method == "composed" and profile.curve.bounds is None:
        raise InputError("method", method, "certified: nothing has to be composed numerically")
    elif method != "composed" and profile.curve.bounds is not None:
        raise InputError("method", method, "certified or composed: the curve is not known exactly")
    elif method == "breakpoints" and profile.curve.lines is None:
        raise InputError(
            "method", method, "certified: the losses of this mechanism are not discrete"
        )
    request = _Request(
        profile,
        tol=exact_between(
            "tol",
            default_tol(profile) if tol is None else tol,
            *_TOL_RANGE,
            allowed="a number in [1e-100, 1]",
        ),
        strict=tol is not None or profile.curve.bounds is None,
        eps_h=None if eps_h is None else _positive("eps_h", eps_h, _EPS_TOP, _EPS_ALLOWED),
        failure=None if failure is None else _positive("failure", failure, _BELOW_ONE, _P_ALLOWED),
        solve=_method(method),
        progress=progress,
    )
    if request.eps_h is not None and request.failure is not None:
        raise InputError("eps_h and failure", "both", "given one at a time")
    return request.answer(method, started)


_INFINITE = Interval("Infinity", "Infinity")
_BETWEEN = "it lies between the tail parameter and what the mechanisms' own μ's compose to"
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
class _Request:
    """A checked call of :func:`measure`."""

    profile: Profile
    tol: Fraction
    strict: bool
    eps_h: Fraction | None
    failure: Fraction | None
    solve: Method
    progress: Progress

    def answer(self, method: str, started: float) -> Measurement:
        """Choose the statement, measure, and put the result together."""
        identified = identify(self.profile)
        eps_h, failure = self._scope(identified.verdict)
        if eps_h is not None:
            found = self._head(eps_h)
        elif failure is not None:
            found = self._approximate(failure)
        else:
            found = self._whole()
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
            whole_range_mu=self._whole_range(identified.verdict, found),
            mu_tail=identified.mu_tail,
            tail_status=identified.tail_status,
            certified=found.proof is not None and not self.profile.assumptions,
            method=method,
            evaluations=found.evaluations,
            cells=found.cells,
            by_failure=self._by_failure(found),
            seconds=time.perf_counter() - started,
            notes=(*found.notes, *self.profile.remarks, *self.profile.assumptions),
            failure=found.failure.exact,
            evidence=None if self.profile.assumptions else found.proof,
        )

    def _by_failure(self, found: _Found) -> tuple[tuple[float, Interval], ...]:
        """Measure at other failure probabilities too where the default statement needs one."""
        default = self.profile.default_failure
        if default is None or self.eps_h is not None or self.failure is not None:
            return ()
        return tuple(
            (float(p), found.mu if p == default else self._approximate(p).mu) for p in _FAILURES
        )

    def _scope(self, verdict: Verdict) -> tuple[Fraction | None, Fraction | None]:
        """Return ε_h and p as asked for, or the default: at most one of them."""
        if self.eps_h is not None or self.failure is not None:
            return self.eps_h, self.failure
        tail = self.profile.tail
        if self.profile.default_failure is not None:
            return None, self.profile.default_failure
        if verdict is Verdict.GDP:
            return None, None
        if isinstance(tail, ConstantTail):
            return None, rational_above(tail.value)
        if isinstance(tail, PlateauTail):
            return min(rational_above(tail.start), _EPS_TOP) or DEFAULT_HEAD, None
        return DEFAULT_HEAD, None

    def _whole(self) -> _Found:
        curve = self.profile.curve
        match curve.tail:
            case GaussianCurveTail(mu):
                return self._constant(mu, Statement.WHOLE)
            case GaussianBoundTail(mu, mu_t) if mu_t is not None:
                ends = [interval_around(end, digits_of(self.tol) + 8) for end in (mu_t, mu)]
                whole = self._interval(Fraction(ends[0].low), Fraction(ends[1].high))
                return _Found(Statement.WHOLE, whole, None, math.inf, notes=(_BETWEEN,))
            case GaussianBoundTail(mu):
                # nothing below the tail parameter will do, and the bound says that it does
                found = self._constant(mu, Statement.WHOLE)
                return replace(found, attained_at=math.inf, notes=(_BY_TAIL,))
            case GaussianDecayTail() as tail:
                bits = _BITS + 4 * digits_of(self.tol)
                handover = gaussian_decay_handover(curve, tail, bits)
                answer = self._solve(curve, handover.end)
                return self._with_tail(answer, handover)
            case CoarseDecayTail() as tail:
                return self._with_tail(*self._to_coarse_tail(curve, tail))
            case AssumedTail(mu, start, _) if mu is not None:
                return self._with_assumed_tail(self._solve(curve, start), mu, start)
            case ConstantTail(start, _):
                answer = self._solve(curve, upper_bound(start))
                return self._found(answer, Statement.WHOLE)
        raise AssertionError(f"a whole-range statement for {curve.tail}")

    def _to_coarse_tail(self, curve: Curve, tail: CoarseDecayTail) -> tuple[Answer, Handover]:
        """Measure up to where the bound of the tail takes over; it says nothing of the least μ."""
        bound = GaussianDecayTail(tail.log_factor, tail.width, tail.start)
        handover = gaussian_decay_handover(curve, bound, _BITS + 4 * digits_of(self.tol))
        return self._solve(curve, handover.end), replace(handover, low=Fraction(0))

    def _with_assumed_tail(self, answer: Answer, mu: Fraction, start: Fraction) -> _Found:
        """Join a head to a tail that is taken on trust."""
        head = self._found(answer, Statement.WHOLE)
        top = self._interval(answer.low, max(answer.high, mu)).high
        note = f"beyond ε = {float(start):g} the tail is assumed, not proved"
        mu_range = Interval(head.mu.low, max(head.mu.high, top))
        return replace(head, mu=mu_range, proof=None, notes=(*head.notes, note))

    def _with_tail(self, answer: Answer, handover: Handover) -> _Found:
        low, high = max(answer.low, handover.low), max(answer.high, handover.high)
        by_tail = handover.low > answer.low
        proof = answer.proof and replace(
            answer.proof,
            tail_from=handover.end,
            witness="tail" if by_tail else answer.proof.witness,
        )
        beyond = f"beyond ε = {float(handover.end):.6g} the tail is proved by its declared form"
        found = self._found(
            replace(answer, low=low, high=high, proof=proof), Statement.WHOLE, notes=(beyond,)
        )
        if by_tail:
            return replace(found, attained_at=math.inf, notes=(*found.notes, _BY_TAIL))
        return found

    def _head(self, eps_h: Fraction) -> _Found:
        curve = self.profile.curve
        failure = self._failure_at(eps_h)
        if isinstance(curve.tail, GaussianCurveTail):
            return self._constant(curve.tail.mu, Statement.HEAD, failure)
        if isinstance(curve.tail, CertainFailureTail) or self._is_certain():
            return self._hopeless(Statement.HEAD, failure)
        end = eps_h if curve.end is None else min(eps_h, upper_bound(curve.end))
        return self._found(self._solve(curve, end, self._ceiling()), Statement.HEAD, failure)

    def _approximate(self, p: Fraction) -> _Found:
        curve = self.profile.curve
        tail = curve.tail
        with precision(_BITS):
            log = float_ceiling(to_fraction(ball(p).log().upper()))
        # a float stands for the decimal it prints as
        nearest = float(p)
        failure = _Failure(p, nearest if exact(nearest) == p else float_ceiling(p), log)
        if isinstance(tail, CertainFailureTail):
            return self._hopeless(Statement.APPROXIMATE, failure)
        if isinstance(tail, PlateauTail) and _exceeds(tail.value, p):
            least = f"at least {constant_text(tail.value)}: nothing is known below it"
            raise InputError("failure", nearest, least)
        if isinstance(tail, ConstantTail | FloorTail) and _exceeds(tail.value, p):
            note = (
                f"δ(ε) never falls below {constant_text(tail.value)}, more than the failure "
                "probability"
            )
            return _Found(
                Statement.APPROXIMATE, _INFINITE, Proof(), math.inf, failure, notes=(note,)
            )
        past = past_failure(curve, p)
        assert past.end is not None
        answer = self._solve(past, upper_bound(past.end), self._ceiling(), p)
        return self._found(answer, Statement.APPROXIMATE, failure)

    def _ceiling(self) -> Fraction | None:
        """Return a μ that covers the whole range, if the tail declares one."""
        # as δ_μ ≤ p + (1 - p)·δ_μ, it serves every statement; a failure may save little of it
        if isinstance(self.profile.tail, GaussianCurveTail | GaussianBoundTail):
            around = interval_around(self.profile.tail.mu, digits_of(self.tol) + 25)
            return Fraction(around.high)
        return None

    def _is_certain(self) -> bool:
        """Whether a function that is taken on trust gives δ(0) = 1."""
        return isinstance(self.profile, TrustedFunction) and self.profile.delta(0.0) == 1

    @staticmethod
    def _hopeless(statement: Statement, failure: _Failure) -> _Found:
        note = "δ(0) = 1, while every Gaussian curve is below 1 there: no finite μ will do"
        return _Found(statement, _INFINITE, Proof(), 0.0, failure, notes=(note,))

    def _whole_range(self, verdict: Verdict, found: _Found) -> Interval | None:
        if verdict is Verdict.UNKNOWN:
            return None
        if verdict is Verdict.NOT_GDP:
            return _INFINITE
        if found.statement is Statement.WHOLE:
            return found.mu
        # the whole range may be out of another method's reach though the statement is not
        return replace(self, solve=_method(_proving(self.profile)))._whole().mu

    def _solve(
        self,
        curve: Curve,
        end: Fraction,
        ceiling: Fraction | None = None,
        failure: Fraction = Fraction(0),
    ) -> Answer:
        if curve.end == 0:
            return Answer(Fraction(0), Fraction(0), Fraction(0), 0, 0, proof=Proof())
        return self.solve(Problem(curve, end, self.tol, self.progress, ceiling, failure))

    def _found(
        self,
        answer: Answer,
        statement: Statement,
        failure: _Failure = _Failure(),
        notes: tuple[str, ...] = (),
    ) -> _Found:
        if answer.high - answer.low > self.tol:
            if self.strict:
                raise UndecidedError(
                    f"the interval could only be narrowed to [{float(answer.low):.12g}, "
                    f"{float(answer.high):.12g}]: ask for a larger --tol"
                )
            wider = f"the interval is wider than {float(self.tol):g}: no transform that fits in "
            notes = (*notes, wider + "the stated memory makes it narrower")
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

    def _constant(
        self, mu: Constant, statement: Statement, failure: _Failure = _Failure()
    ) -> _Found:
        around = interval_around(mu, digits_of(self.tol) + 8)
        interval = self._interval(Fraction(around.low), Fraction(around.high))
        note = "G(ε) = μ for every ε: the profile is a Gaussian curve"
        return _Found(statement, interval, Proof(), 0.0, failure, notes=(note,))

    def _interval(self, low: Fraction, high: Fraction) -> Interval:
        """Round outward to decimals; a hundredth of the tolerance is what that may cost.

        An interval much narrower than asked for, as around a small μ, keeps what it says.
        """
        width = high - low
        narrow = self.profile.curve.bounds is not None and 0 < width < self.tol / 10
        places = digits_of(width if narrow else self.tol) + 2
        return Interval(floor_to_places(low, places), ceiling_to_places(high, places))

    def _failure_at(self, eps_h: Fraction) -> _Failure:
        """Return an upper bound of δ(ε_h)."""
        curve = self.profile.curve
        if curve.bounds is not None:
            log = float(curve.bounds.at(np.array([float_floor(eps_h)])).log_high[0])
            with precision(_BITS):
                return _failure_up_to(arb(log))
        if isinstance(curve.end, Fraction) and eps_h >= curve.end:
            return _Failure()
        bits = _BITS
        while bits <= _MAX_BITS:
            with precision(bits):
                # δ is non-increasing; a ball about ε_h itself could hold a breakpoint
                before = (ball(eps_h) * (1 - arb(2) ** -(bits // 2))).lower()
                # lines have no jumps, but may fall steeply, and cancel where they end
                log = curve.enclose(before if curve.lines is None else ball(eps_h)).log()
                if log == arb.neg_inf():
                    return _Failure()
                if log.rad() < _SHARP or (2 * bits > _MAX_BITS and not log.is_nan()):
                    return _failure_up_to(log)
            bits *= 2
        raise UndecidedError(f"δ at eps_h = {float(eps_h):g} could not be told from 0")


def _failure_up_to(log: arb) -> _Failure:
    """Return the failure probability whose logarithm is the upper end of a ball."""
    if log == arb.neg_inf():
        return _Failure()
    # below that, the fraction itself would be out of reach
    top = log.exp().upper().max(arb(10) ** _LEAST_FAILURE)
    # rounding up must not make it more than certain
    rounded = min(Fraction(decimal_ceiling(to_fraction(top.upper()), 20)), _ONE)
    return _Failure(rounded, float_ceiling(rounded), min(float_above(log), 0.0))


def _positive(field: str, value: Real, high: Fraction, allowed: str) -> Fraction:
    number = exact_between(field, value, 0, high, allowed)
    if number == 0:
        raise InputError(field, value, allowed)
    return number


def _exceeds(value: Constant, p: Fraction) -> bool:
    with precision(_BITS):
        return bool(BALLS.constant(value) > ball(p))


def _proving(profile: Profile) -> str:
    """Return the name of the method that proves, for this profile, or else of the best one."""
    if not profile.has_series:
        return "adaptive"
    if profile.curve.bounds is not None:
        return "composed"
    return "certified" if profile.curve.lines is None else "breakpoints"


def is_provable(profile: Profile) -> bool:
    """Whether :func:`measure` can prove what it says of a profile; known before any work."""
    return _proving(profile) in ("breakpoints", "certified") and not profile.assumptions


def _method(name: str) -> Method:
    known = method_names()
    if name not in known:
        raise InputError("method", name, f"one of {', '.join(known)}")
    module = importlib.import_module(f"{methods.__name__}.{name}")
    solve: Method = module.solve
    return solve
