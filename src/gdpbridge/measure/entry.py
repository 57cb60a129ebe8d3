"""The entry point: from a profile to a statement and an interval for μ."""

from __future__ import annotations

import logging
import time
from fractions import Fraction

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.measure.method import PROVED, default_method, method_for
from gdpbridge.measure.problem import Forward
from gdpbridge.measure.result import Measurement
from gdpbridge.measure.statements import LEAST_TOL, MEASURED_ELSE, Request
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.numeric.effort import MOST_WORK, within
from gdpbridge.progress import Progress, silent, with_bar
from gdpbridge.several import over_lists

__all__ = ["default_tol", "is_provable", "measure"]

_LOG = logging.getLogger(__name__)
_EPS_TOP, _EPS_ALLOWED = Fraction(MAX_EPS), f"a number > 0 and at most {MAX_EPS:g}"
_BELOW_ONE, _P_ALLOWED = 1 - Fraction(1, 10**30), "a number ≥ 0 and < 1"
_TOL_RANGE = (LEAST_TOL, Fraction(1))
# a statement, one that takes its place, and those at other failure probabilities
_PARTS = 4


def default_tol(profile: Profile) -> float:
    """Return the width of intervals for μ that is asked for where none is given."""
    return default_method(profile.curve.form).default_tol


@with_bar
@over_lists("profile")
def measure(
    profile: Profile,
    tol: Real | None = None,
    eps_h: Real | None = None,
    failure: Real | None = None,
    method: str = "certified",
    *,
    progress: Progress | None = None,
) -> Measurement:
    """Measure the least μ for which a mechanism is μ-GDP, as an interval.

    With neither ``eps_h`` nor ``failure`` the statement is about the whole range [0, ∞) where
    some finite μ covers it; else about all but the mass at infinity, where the profile has one;
    else about the head up to ε = 100. For dpsgd, whose μ on the whole range is that of the run
    without sampling, it is the approximate one at p = 1e-10.

    Args:
        profile: the mechanism's privacy profile; of a list, a list of answers comes.
        tol: the largest width allowed of the interval, in [1e-100, 1]; 1e-9 if None, or 1e-4 for a
            mechanism whose privacy loss has to be composed numerically, such as dpsgd; these are
            relative to μ where it is below 1.
        eps_h: asks for a head statement, δ ≤ δ_μ on [0, eps_h]; in (0, 1e5].
        failure: asks for an approximate statement, δ ≤ p + (1 - p)·δ_μ everywhere; p in [0, 1),
            where 0 asks for the whole range.
        method: "certified" (proved, the default; it stands for the method that proves for this
            profile), "adaptive", "breakpoints", "composed", "shuffled" or "staircase".
        progress: called with a sentence and a share in [0, 1] during long work; None draws a bar
            in a terminal or a notebook once that takes over a second.

    Returns:
        The statement, the interval for μ and what it rests on.

    Raises:
        InputError: for an argument outside its range.
        WorkLimitError: if the method would need more than its stated number of evaluations, or
            the question more than the work allowed for one.
        UndecidedError: if the precision cap was reached.

    Source: Liu, Sun, Jiang and Kong (2022), sections 3 and 4; the three statements are
    δ ≤ δ_μ on [0, ∞), the head condition, and their first case in "Understanding the tail".
    """
    started = time.perf_counter()
    if not isinstance(profile, Profile):
        raise InputError("profile", profile, "a profile, such as gdpbridge.profiles.Laplace(...)")
    if eps_h is not None and failure is not None:
        raise InputError("eps_h and failure", Words("both"), Advice("give one of them"))
    _LOG.debug("measuring %s", profile.kind)
    # its own parts have limits of theirs
    with within(f"μ of {profile.kind}", MEASURED_ELSE, _PARTS * MOST_WORK):
        how = method_for(profile.curve.form, method)
        return Request(
            profile,
            tol=exact_between(
                "tol",
                how.default_tol if tol is None else tol,
                *_TOL_RANGE,
                allowed="a number in [1e-100, 1]",
            ),
            given=tol is not None,
            keeps_to_tol=tol is not None or how.keeps_to_tol,
            scales=tol is None and how.keeps_to_tol,
            eps_h=None if eps_h is None else _positive("eps_h", eps_h, _EPS_TOP, _EPS_ALLOWED),
            failure=None
            if failure is None
            else exact_between("failure", failure, 0, _BELOW_ONE, _P_ALLOWED),
            method=how,
            progress=Forward(progress or silent),
        ).answer(started)


def is_provable(profile: Profile) -> bool:
    """Whether what :func:`measure` says of a profile is proved; known before any work."""
    method = default_method(profile.curve.form)
    return method.assurance is PROVED and not profile.assumptions


def _positive(field: str, value: Real, high: Fraction, allowed: str) -> Fraction:
    number = exact_between(field, value, 0, high, allowed)
    if number == 0:
        raise InputError(field, value, allowed)
    return number
