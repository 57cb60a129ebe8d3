"""What a mechanism's parameter is calibrated to: a μ, a pair (ε, δ), or an attacker's success."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from gdpbridge.curves.base import Form
from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, default_tol, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, decimal_text, exact

if TYPE_CHECKING:
    from gdpbridge.certificate.model import Certificate
    from gdpbridge.certificate.write_answers import Quantity

__all__ = ["Goal", "Tried", "certified", "goal_of"]

_MU, _SHARE = "a number > 0 and at most 1000", "a number > 0 and < 1"
# of a target for μ, where only the ε of the supremum is wanted
_ROUGH = Fraction(1, 10**6)
# of a target for μ, relative: how near it must be for one ε to tell
_NEAR = Decimal("0.2")
# of ε and δ, of which G is taken
_DIGITS = 30
# log of δ over its target where it is far below it
_FAR = 3.0


@dataclass(frozen=True)
class Tried:
    """What a goal is about, of one mechanism.

    Attributes:
        profile: the mechanism.
        value: an interval for what the goal is about.
        measurement: the measurement, where it is μ.
    """

    profile: Profile
    value: Interval
    measurement: Measurement | None = None


@dataclass(frozen=True)
class Goal(ABC):
    """A number that a mechanism must not exceed, monotone in its parameters.

    Attributes:
        target: that number.
        given: the arguments that it was given by.
    """

    target: Decimal
    given: dict[str, float]

    # the argument to blame where no value of a parameter will do
    field: str = "target_mu"
    symbol: str = "μ"

    @property
    def words(self) -> str:
        """What is asked for, in words."""
        return f"{self.symbol} ≤ {float(self.target):.12g}"

    @abstractmethod
    def tried(self, profile: Profile) -> Tried:
        """Enclose the number for a mechanism, with proof where there is one."""

    def guessed(self, profile: Profile) -> Interval:
        """Return about the same, where less work will do."""
        return self.tried(profile).value

    def settled(self, profile: Profile) -> bool:
        """Whether guesses near a mechanism need no better ground than they have."""
        return True

    def exceeded(self, profile: Profile) -> bool:
        """Whether the number is proved to be above the target."""
        return self.tried(profile).value.low > self.target

    def spares(self, profile: Profile) -> tuple[float, float]:
        """How much log of the number falls short of the target first, and exceeds it beyond."""
        return 0.0, 0.0

    @property
    def number(self) -> tuple[Quantity, Fraction]:
        """What the target is about where it is not μ, and at which ε or rate."""
        raise NotImplementedError

    @property
    def at_zero(self) -> bool:
        """Whether the target is about μ, or δ(0) alone."""
        return self.number[0] == "advantage"

    def met(self, profile: Profile, measured: Measurement | None) -> Certificate:
        """Certify that a mechanism meets the target; its measurement may be known.

        Raises:
            InputError: where there are no certificates of such mechanisms.
            UndecidedError: if the checker cannot be convinced.
        """
        return self._claimed(profile, exact(self.target))

    def bounded(self, profile: Profile, measured: Measurement | None) -> Certificate:
        """Certify what the checker bounds the number by, whether that meets the target or not."""
        from gdpbridge.certificate.write_answers import Asked, write_answers

        quantity, at = self.number
        return write_answers(profile, [Asked(quantity, at, low=False)])

    def missed(self, profile: Profile) -> Certificate:
        """Certify that a mechanism misses the target, likewise."""
        target, low = exact(self.target), exact(self.tried(profile).value.low)
        return self._claimed(profile, target + (low - target) / 2, at_least=True)

    def _claimed(self, profile: Profile, bound: Fraction, *, at_least: bool = False) -> Certificate:
        from gdpbridge.certificate.write_answers import Asked, write_answers

        quantity, at = self.number
        return write_answers(profile, [Asked(quantity, at, bound, at_least)])


@dataclass(frozen=True)
class _Mu(Goal):
    """A target for μ.

    Near the answer it is known from one ε: μ is G where the supremum is, and the derivatives of
    both agree there.

    Attributes:
        tol: the width of intervals for μ, or None.
        eps_h: the end of the head that is asked for, or None.
        failure: the failure probability that is asked for, or None.
        witness: where the supremum was seen last, as far as one ε will do.
    """

    tol: Real | None = None
    eps_h: Real | None = None
    failure: Real | None = None
    witness: list[Fraction] | None = None

    @property
    def at_zero(self) -> bool:
        """Whether the target is about μ, or δ(0) alone: it is."""
        return True

    def _measured(self, profile: Profile, tol: Real | None) -> Measurement:
        failure = self.failure
        if failure is None and self.eps_h is None and profile.default_failure is not None:
            # asked for by itself, at no other ones
            failure = decimal_text(profile.default_failure)
        return measure(profile, tol, eps_h=self.eps_h, failure=failure)

    def tried(self, profile: Profile) -> Tried:
        found = self._measured(profile, self.tol)
        return Tried(profile, found.mu, found)

    def guessed(self, profile: Profile) -> Interval:
        if profile.curve.form is not Form.COMPOSED:
            # a wide interval's middle jumps about
            usual = self.tol is None or exact(self.tol) <= exact(default_tol(profile))
            return self._measured(profile, self.tol if usual else None).mu
        if self.witness:
            found = self._at(self.witness[-1], profile)
            if self._is_near(found):
                return found
        return self._seen(profile)

    def _is_near(self, found: Interval) -> bool:
        """Whether a number is so near the target that one ε tells how it changes."""
        return self.target * (1 - _NEAR) <= found.low <= found.high <= self.target * (1 + _NEAR)

    def _seen(self, profile: Profile) -> Interval:
        """Measure roughly, and note where the supremum is."""
        assert self.witness is not None
        tol = max(_ROUGH * min(exact(self.target), Fraction(1)), exact(self._tol(profile)))
        found = self._measured(profile, str(float(tol)))
        self.witness.clear()
        if math.isfinite(found.attained_at) and self._is_near(found.mu):
            self.witness.append(exact(found.attained_at))
        return found.mu

    def settled(self, profile: Profile) -> bool:
        if not self.witness:
            return True
        before = self._at(self.witness[-1], profile)
        self._seen(profile)
        if not self.witness:
            return False
        after = self._at(self.witness[-1], profile)
        return after.low - before.high <= Decimal(self._tol(profile)) / 64

    def _at(self, eps: Fraction, profile: Profile) -> Interval:
        """Enclose G at one ε, past p: it is at most μ."""
        from gdpbridge.convert import mu_of_pair

        found = profile.curve.delta_at(eps)
        p = Fraction(0)
        if self.eps_h is None:
            p = exact(self.failure) if self.failure is not None else profile.default_failure or p
        ends = [max((Fraction(end) - p) / (1 - p), Fraction(0)) for end in (found.low, found.high)]
        low = mu_of_pair(decimal_floor(eps, _DIGITS), decimal_floor(ends[0], _DIGITS))
        high = mu_of_pair(decimal_ceiling(eps, _DIGITS), decimal_ceiling(ends[1], _DIGITS))
        return Interval(low.low, high.high)

    def exceeded(self, profile: Profile) -> bool:
        if self.witness:
            return self._at(self.witness[-1], profile).low > self.target
        return super().exceeded(profile)

    def met(self, profile: Profile, measured: Measurement | None) -> Certificate:
        return certified(measured or self._measured(profile, self.tol))

    def bounded(self, profile: Profile, measured: Measurement | None) -> Certificate:
        return self.met(profile, measured)

    def missed(self, profile: Profile) -> Certificate:
        found = self._measured(profile, self.tol)
        if self.eps_h is not None and profile.curve.form is Form.COMPOSED:
            # the lines that its δ(ε_h) needs are those of its upper end
            return certified(found)
        # an upper end would need a proof of its own
        return certified(replace(found, mu=Interval(found.mu.low, math.inf)))

    def _tol(self, profile: Profile) -> Real:
        if self.tol is not None:
            return self.tol
        # relative below 1, as measured intervals are
        return str(Decimal(str(default_tol(profile))) * min(self.target, Decimal(1)))

    def spares(self, profile: Profile) -> tuple[float, float]:
        # half of the width of what is composed is taken by its upper end, and one ε is beyond
        safe, beyond = (0.55, 0.11) if profile.curve.form is Form.COMPOSED else (0.1, 0.05)
        width = float(Decimal(str(self._tol(profile))) / self.target)
        return safe * width, beyond * width


def certified(found: Measurement) -> Certificate:
    """Return the certificate of a measurement.

    Raises:
        InputError: if there is none.
    """
    document = found.certificate
    if document is None:
        why = Advice(f"leave it out: {found.uncertified_because}")
        raise InputError("certificate", found.profile.kind, why)
    return document


@dataclass(frozen=True)
class _Delta(Goal):
    """A target for δ(ε); at ε = 0 that is an attacker's advantage.

    Attributes:
        eps: ε.
    """

    eps: Fraction = Fraction(0)

    @property
    def words(self) -> str:
        if self.field == "target_advantage":
            return super().words
        return f"{super().words} at ε = {float(self.eps):g}"

    @property
    def number(self) -> tuple[Quantity, Fraction]:
        return "advantage" if self.field == "target_advantage" else "delta", self.eps

    def tried(self, profile: Profile) -> Tried:
        return Tried(profile, profile.curve.delta_at(self.eps))

    def guessed(self, profile: Profile) -> Interval:
        curve = profile.curve
        # far below the target δ may be dear, and a bound will do
        bound = curve.log_bound(self.eps)
        if bound is not None and bound < math.log(self.target) - _FAR:
            return Interval(0, Decimal(bound).exp())
        return super().guessed(profile)


@dataclass(frozen=True)
class _Power(Goal):
    """A target for the true-positive rate of every attack with a false-positive rate.

    Attributes:
        alpha: the false-positive rate.
    """

    alpha: Fraction = Fraction(0)

    @property
    def words(self) -> str:
        return f"{super().words} at FPR {float(self.alpha):g}"

    @property
    def number(self) -> tuple[Quantity, Fraction]:
        return "tpr", self.alpha

    def tried(self, profile: Profile) -> Tried:
        from gdpbridge.convert import beta_at

        return Tried(profile, beta_at(profile, decimal_text(self.alpha)).complement)

    def guessed(self, profile: Profile) -> Interval:
        if profile.curve.form is Form.BETWEEN:
            return super().guessed(profile)
        import numpy as np

        from gdpbridge.curves.tradeoff import least_errors

        (missed,) = least_errors(profile.curve, np.array([float(self.alpha)]))
        return Interval(1 - float(missed), 1 - float(missed))


def goal_of(
    mu: Real | None,
    epsilon: Real | None,
    delta: Real | None,
    advantage: Real | None,
    tpr: Real | None,
    fpr: Real | None,
    *,
    tol: Real | None,
    eps_h: Real | None,
    failure: Real | None,
) -> Goal:
    """Return the one goal that is given.

    Raises:
        InputError: for none or several, half a pair, or a value outside its range.
    """
    pairs = {
        "target_mu": (mu,),
        "target_epsilon and target_delta": (epsilon, delta),
        "target_advantage": (advantage,),
        "target_tpr and target_fpr": (tpr, fpr),
    }
    given = [name for name, values in pairs.items() if any(v is not None for v in values)]
    if not given:
        raise InputError.missing("target_mu", f"give it, or {', or '.join(list(pairs)[1:])}")
    named = {
        name: v for pair in given for name, v in zip(pair.split(" and "), pairs[pair], strict=True)
    }
    there = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise InputError(" and ".join(there), Words("given"), Advice("give one target"))
    for name in named.keys() - there:
        raise InputError.missing(name, f"{there[0]} needs it")
    if mu is None and (tol, eps_h, failure) != (None, None, None):
        name, value = next(
            (n, v)
            for n, v in (("tol", tol), ("eps_h", eps_h), ("failure", failure))
            if v is not None
        )
        raise InputError(name, value, Advice("give it with a target for μ only"))
    if mu is not None:
        if tol is not None:
            exact_between("tol", tol, Fraction(1, 10**100), Fraction(1), "a number in [1e-100, 1]")
        limit, numbers = _target("target_mu", mu, 1000, _MU)
        return _Mu(limit, numbers, tol=tol, eps_h=eps_h, failure=failure, witness=[])
    if advantage is not None:
        limit, numbers = _target("target_advantage", advantage, 1, _SHARE)
        return _Delta(limit, numbers, "target_advantage", "advantage")
    if epsilon is not None and delta is not None:
        eps = exact_between(
            "target_epsilon", epsilon, 0, int(MAX_EPS), f"a number in [0, {MAX_EPS:g}]"
        )
        limit, numbers = _target("target_delta", delta, 1, _SHARE)
        return _Delta(limit, {"epsilon": float(eps), **numbers}, "target_delta", "δ", eps)
    assert tpr is not None
    assert fpr is not None
    _target("target_fpr", fpr, 1, _SHARE)
    alpha = exact(fpr)
    limit, numbers = _target("target_tpr", tpr, 1, _SHARE)
    if exact(limit) <= alpha:
        raise InputError("target_tpr", tpr, "larger than target_fpr, which guessing reaches")
    return _Power(limit, {**numbers, "fpr": float(alpha)}, "target_tpr", "TPR", alpha)


def _target(field: str, value: Real, most: int, allowed: str) -> tuple[Decimal, dict[str, float]]:
    """Read a target: the number that it is read as, a decimal and a binary number alike."""
    number = exact_between(field, value, 0, most, allowed)
    if number == 0 or (most == 1 and number == 1):
        raise InputError(field, value, allowed)
    as_float = float(number)
    limit = min(Decimal(float.__repr__(as_float)), Decimal(as_float))
    return limit, {field.removeprefix("target_"): as_float}
