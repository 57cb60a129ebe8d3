"""A certificate is written, or refused in a sentence: before any work, or within a limit of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NoReturn

import pytest
from test_every_kind import EXAMPLES, profile_of

import gdpbridge as gdp
from gdpbridge.certificate.limits import TOO_LONG, first_written
from gdpbridge.certificate.reach import one_sided_because, uncertifiable_because
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.effort import MOST_WORK, spend, within
from gdpbridge_verify.refusal import OutOfWork

P = gdp.profiles
NOISE = (
    P.Gaussian(sigma=2),
    P.Laplace(scale=3),
    P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=9),
)


def _beside(part: Profile, other: Profile) -> Profile:
    others = {"neighbours": part.neighbours or other.neighbours}
    return P.Sequence(parts=[part, type(other)(**{**other.model_dump(), **others})])


def _tuned(one: Profile) -> Profile:
    return one.tune(10)


MADE: tuple[Callable[[Profile], Profile], ...] = (
    lambda one: one,
    lambda one: one.compose(2),
    *(lambda one, other=other: _beside(one, other) for other in NOISE),
    lambda one: one.group(3),
    lambda one: one.subsample(0.1),
    lambda one: one.subsample(0.1).compose(2),
    _tuned,
    lambda one: one.to_neighbours("replace-one"),
)


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_what_has_none_is_said_before_any_work(kind: str) -> None:
    """Whatever is made of a kind, why it has no certificate takes a hundredth of a question."""
    for change in MADE:
        if kind == "densities" and change is _tuned:
            # its Rényi divergences are dear
            continue
        try:
            made = change(profile_of(kind))
        except gdp.InputError:
            continue
        with within("why there is no certificate", "it is known", MOST_WORK // 100):
            reason, rest = uncertifiable_because(made), one_sided_because(made)
        assert reason == "" or reason.startswith("there is no certificate")
        assert rest == "" or rest.endswith("is not shown")


def test_ways_are_tried_within_a_limit() -> None:
    """Each may take what a question may, and both together twice that."""
    tried = []

    def spent(units: float) -> Callable[[], str]:
        def way() -> str:
            tried.append(units)
            spend(units)
            return "written"

        return way

    def too_long() -> NoReturn:
        raise OutOfWork

    def not_shown() -> NoReturn:
        raise UndecidedError("a cell")

    def part() -> NoReturn:
        raise WorkLimitError("nodes", 2, 1)

    assert first_written([too_long, not_shown, part, spent(1)]) == "written"
    assert first_written([spent(2 * MOST_WORK), spent(1)]) == "written"
    for first, said in ((too_long, TOO_LONG), (not_shown, "a cell"), (part, "nodes")):
        with pytest.raises(UndecidedError, match=said):
            first_written([first, not_shown])
    tried.clear()
    ways: Iterator[Callable[[], str]] = (spent(0.7 * MOST_WORK) for _ in range(9))
    assert first_written(ways) == "written"

    def lost(units: float) -> Callable[[], str]:
        def way() -> str:
            spent(units)()
            raise OutOfWork

        return way

    tried.clear()
    with pytest.raises(UndecidedError, match=TOO_LONG):
        first_written(lost(0.7 * MOST_WORK) for _ in range(9))
    assert len(tried) == 3
    with pytest.raises(UndecidedError, match=r"limit of 70 million .* leave it out, or ask for"):
        first_written([spent(2 * MOST_WORK)])


def test_answers_and_ends_that_were_not_written() -> None:
    """One end where both are too much work; a head that never fails; no finite μ on a lattice."""
    laplace = P.Densities(p="exp(-abs(x))/2", q="exp(-abs(x-1))/2")
    document = write_answers(laplace, [Asked("beta", Fraction(1, 20))])
    assert gdp.verify(document).valid
    (answer,) = document.claim.answers or ()
    assert float(answer.low) == pytest.approx(1 - 0.05 * 2.718281828, abs=1e-9)
    head = gdp.measure(P.Exponential(epsilon=0.5).compose(2), eps_h=2).certificate
    assert head is not None
    assert gdp.verify(head).valid
    assert Fraction(head.claim.failure_probability) == 0
    lost = gdp.measure(P.TruncatedLaplace(scale=1, delta=1e-3).compose(2), failure=1e-6)
    assert lost.certificate is not None
    assert lost.certificate.claim.mu.low == "inf"
    assert gdp.verify(lost.certificate).valid


def test_what_was_found_of_a_mechanism_is_no_part_of_it() -> None:
    """It is the same as one of the same parameters, so that claims can be checked about each."""
    for kind in EXAMPLES:
        one = profile_of(kind)
        assert one.curve is not None
        assert one == profile_of(kind)
        assert hash(one) == hash(profile_of(kind))
        assert one != P.Gaussian(sigma=0.7)
    matrix = P.Matrix(entries=[[1, 0], [1, 1]], sigma=2)
    assert gdp.check(matrix, "mu <= 0.71").holds
    assert gdp.check(matrix, "delta <= 0.9 at epsilon = 1").certificate is not None
