"""What every tail promises, whatever kind it is; a kind without an example here fails."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from flint import arb

import gdpbridge
import gdpbridge as gdp
from gdpbridge.curves import tails
from gdpbridge.curves.base import Curve
from gdpbridge.curves.pieces import sampled
from gdpbridge.curves.tail import Tail, TailStatus, Verdict
from gdpbridge.errors import InputError
from gdpbridge.gaussian import enclosures as gaussian
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import BALLS, Probability, ball

SOURCE = Path(gdpbridge.__file__).parent
TOL = Fraction(1, 10**6)


@dataclass(frozen=True)
class Example:
    """A tail, and a log δ(ε) of which it is true."""

    tail: Tail
    log_delta: Callable[[arb], arb]


def gaussian_curve(mu: Fraction) -> Callable[[arb], arb]:
    return lambda eps: gaussian.log_delta_of(eps, ball(mu))


HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)
NOISE = gdp.profiles.DiscreteGaussian(sigma=2).compose(3).curve
EXAMPLES = [
    Example(tails.ConstantTail(ONE, Fraction(0)), lambda _: arb.neg_inf()),
    Example(tails.ConstantTail(ONE, HALF), lambda _: ball(HALF).log()),
    Example(tails.ConstantTail(ONE, lambda: arb(1) / 3), lambda _: (arb(1) / 3).log()),
    Example(tails.GaussianDecayTail(HALF, TWO, ONE), lambda eps: ball(HALF) - eps * eps / 8),
    Example(
        tails.GaussianDecayTail(-ONE, ONE, ONE, HALF), lambda eps: -1 + eps / 2 - eps * eps / 2
    ),
    Example(NOISE.tail, lambda eps: NOISE.enclose(eps).log()),
    Example(tails.CoarseDecayTail(ONE, TWO, ONE, Interval(0, 2)), lambda eps: 1 - eps * eps / 8),
    Example(tails.GaussianCurveTail(TWO), gaussian_curve(TWO)),
    Example(tails.GaussianBoundTail(TWO), gaussian_curve(TWO)),
    Example(tails.GaussianBoundTail(TWO, ONE), gaussian_curve(ONE)),
    Example(tails.CutOffTail(TWO, ONE, TWO, HALF), gaussian_curve(ONE)),
    Example(tails.CutOffTail(TWO, ONE, TWO, HALF, lambda: HALF + ONE), gaussian_curve(ONE)),
    Example(tails.NearGaussianTail(HALF + ONE, ONE), gaussian_curve(ONE)),
    Example(
        tails.TouchingTail(TWO, tails.GaussianDecayTail(Fraction(0), ONE, TWO)),
        lambda eps: gaussian.log_delta_of(eps, ball(TWO)).min(-eps * eps / 2),
    ),
    Example(tails.FloorTail(HALF), lambda eps: ((1 + (-eps).exp()) / 2).log()),
    Example(tails.SlowDecayTail(-ONE, TWO, ONE), lambda eps: -1 - 2 * eps),
    Example(tails.SlowerTail("ε", ONE), lambda eps: -eps),
    Example(tails.CertainFailureTail(), lambda eps: -eps * eps),
    Example(tails.EstimatedTail(1.0, "hand"), gaussian_curve(ONE)),
    Example(tails.AssumedTail(TWO, Fraction(100), "gaussian:2"), gaussian_curve(TWO)),
    Example(tails.AssumedTail(None, Fraction(100), "slow"), lambda eps: -eps),
    Example(tails.PlateauTail(ONE, HALF), lambda eps: ball(HALF).log() - eps),
    Example(
        tails.SettledTail(
            tails.PlateauTail(ONE, Fraction(1, 10**12)),
            tails.CoarseDecayTail(ONE, TWO, ONE, Interval(0, 2)),
            lambda: Fraction(9),
        ),
        lambda eps: -1 - eps * eps / 8,
    ),
    Example(
        tails.SettledTail(tails.PlateauTail(ONE, HALF), tails.SlowerTail("ε", ONE)),
        lambda eps: ball(HALF).log() - eps,
    ),
    Example(tails.RunsTail(lambda: ONE, 4, Decimal(1)), gaussian_curve(Fraction(3, 2))),
    Example(tails.UnknownTail(), lambda eps: -eps),
]


def all_kinds(base: type[Any] = Tail) -> set[type[Any]]:
    """Every kind that can be made, of whatever depth."""
    found = {base} if base.__name__[0] != "_" and base not in (Tail, Curve) else set()
    return found.union(*map(all_kinds, base.__subclasses__()))


@pytest.fixture(params=EXAMPLES, ids=lambda one: type(one.tail).__name__)
def example(request: pytest.FixtureRequest) -> Example:
    """Each example in turn."""
    one: Example = request.param
    return one


def holds(tail: Tail, log: arb, eps: arb) -> bool:
    """Whether a value of log δ is not at odds with what a tail says of it."""
    match tail:
        case tails.ConstantTail(_, value):
            expected = BALLS.constant(value).log() if value != 0 else arb.neg_inf()
            return bool(log == expected) or bool(log.overlaps(expected))
        case tails.GaussianDecayTail(factor, mu_t, _, linear):
            bound = BALLS.constant(factor) + BALLS.constant(linear) * eps
            return not log > bound - eps * eps / (2 * BALLS.constant(mu_t) ** 2)
        case tails.CoarseDecayTail(factor, width, _, _):
            return not log > BALLS.constant(factor) - eps * eps / (2 * ball(width) ** 2)
        case tails.GaussianCurveTail(mu):
            return bool(log.overlaps(gaussian.log_delta_of(eps, BALLS.constant(mu))))
        case tails.GaussianBoundTail(mu) | tails.TouchingTail(mu):
            return not log > gaussian.log_delta_of(eps, BALLS.constant(mu))
        case tails.FloorTail(value):
            return not log < ball(value).log()
        case tails.SlowDecayTail(factor, rate, _):
            return not log < BALLS.constant(factor) - ball(rate) * eps
        case tails.PlateauTail(_, value):
            return not log > BALLS.constant(value).log()
        case tails.AssumedTail(mu) if mu is not None:
            return not log > gaussian.log_delta_of(eps, ball(mu))
    return True


def start_of(tail: Tail) -> arb:
    return BALLS.constant(getattr(tail, "start", Fraction(0))).upper()


class TestAnswers:
    """A tail answers every question, and its answers fit together."""

    def test_every_kind_has_an_example(self) -> None:
        """A new kind has to be put to these tests."""
        assert {type(one.tail) for one in EXAMPLES} == all_kinds()

    @pytest.mark.parametrize("left_out", sorted(Tail.__abstractmethods__))
    def test_an_answer_left_out_is_noticed(self, left_out: str) -> None:
        """A tail without one of the answers cannot be made."""
        answers = {name: None for name in Tail.__abstractmethods__ if name != left_out}
        incomplete = type("Incomplete", (Tail,), answers)
        with pytest.raises(TypeError, match=left_out):
            incomplete()

    def test_verdict_and_tail_parameter(self, example: Example) -> None:
        """μ_t is finite exactly where the verdict is gdp, and the reason is a sentence."""
        tail = example.tail
        assert tail.verdict in Verdict
        assert tail.reason
        assert tail.reason.isprintable()
        if tail.mu_tail is None:
            assert tail.status is TailStatus.UNKNOWN
        elif tail.verdict is Verdict.UNKNOWN:
            assert tail.status is not TailStatus.PROVED
        else:
            assert tail.mu_tail.high.is_infinite() == (tail.verdict is Verdict.NOT_GDP)

    def test_a_finite_mu_covers_the_rest(self, example: Example) -> None:
        """From where the tail takes over, its μ covers it; only a verdict of gdp has one."""
        tail = example.tail
        # what was seen of G may exceed the tail parameter, and has to where κ is 1/2
        found = tail.covered_from(lambda: arb(3), TOL)
        assert (found is not None) == (tail.verdict is Verdict.GDP)
        if found is None:
            return
        assert found.end >= 0
        assert found.low <= found.high
        with precision(300):
            for factor in (1, 2, 10):
                eps = ((ball(found.end) + ball(TOL)) * factor).mid()
                log = example.log_delta(eps)
                if found.high == 0:
                    assert log == arb.neg_inf()
                else:
                    assert not log > gaussian.log_delta_of(eps, ball(found.high))

    def test_default_scope(self, example: Example) -> None:
        """A head and a failure are not asked for at once, and the whole range only if it is gdp."""
        scope = example.tail.default_scope()
        if scope is None:
            assert example.tail.verdict is not Verdict.GDP
            return
        assert scope.eps_h is None or scope.failure is None
        if scope == (None, None):
            assert example.tail.verdict is Verdict.GDP

    def test_obstacles_to_a_failure_end(self, example: Example) -> None:
        """What keeps δ from falling to p does not keep it from a larger p, if δ(0) is below 1."""
        tail = example.tail
        stuck = [tail.after_failure(p) is not None for p in (Fraction(1, 10**9), HALF, 1 - TOL)]
        assert all(first or not second for first, second in pairwise(stuck))
        assert stuck[-1] == tail.fails_at_zero

    def test_a_level_is_what_the_tail_falls_to(self, example: Example) -> None:
        """A tail with a level has no obstacle at it, and has one just below it."""
        level = example.tail.level
        if level is None or not isinstance(level.value, Fraction) or level.value == 0:
            return
        assert example.tail.after_failure(level.value) is None
        assert example.tail.after_failure(level.value - TOL) is not None


class TestFacts:
    """What a tail says is true of its example, and still is of a sample."""

    def test_the_example_fits(self, example: Example) -> None:
        """The tail is true of its own log δ."""
        with precision(300):
            for factor in (1, 2, 10):
                eps = (start_of(example.tail) * factor + 1).mid()
                assert holds(example.tail, example.log_delta(eps), eps)

    @pytest.mark.parametrize("gamma", [Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100)])
    def test_after_sampling(self, example: Example, gamma: Fraction) -> None:
        """The tail after sampling is true of γ·δ on the new scale, and no weaker."""
        after = example.tail.after_sampling(gamma)
        if not example.tail.fails_at_zero:
            assert after.verdict is example.tail.verdict
            assert after.status is example.tail.status
        formula = sampled(lambda eps, _: Probability(lambda: example.log_delta(eps), arb), gamma)
        with precision(300):
            for factor in (1, 2, 10):
                eps = (start_of(after) * factor + ball(TOL)).mid()
                assert holds(after, formula(eps, BALLS).log(), eps)


def class_names(base: type[Any]) -> set[str]:
    return {cls.__name__ for cls in all_kinds(base)} | {base.__name__}


def asked_about(tree: ast.AST) -> set[str]:
    """The classes that a module asks whether something is one of."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            found.append(node.args[1])
        elif isinstance(node, ast.MatchClass):
            found.append(node.cls)
    nodes = [part for one in found for part in ast.walk(one)]
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in nodes
        if isinstance(part, ast.Name | ast.Attribute)
    }


# a method asks for the form of curve that it declares, and the writers for what the checker knows
MAY_ASK = {"measure/methods", "measure/chords", "certificate/write"}


@pytest.mark.slow
def test_nobody_asks_what_kind_a_curve_or_tail_is() -> None:
    """Outside of curves/, no module tells kinds of tails or of curves apart."""
    forbidden = class_names(Tail) | class_names(Curve)
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith("curves/") or any(place.startswith(one) for one in MAY_ASK):
            continue
        assert not asked_about(ast.parse(path.read_text())) & forbidden, place


def test_a_profile_that_is_certain_to_fail_is_hopeless_in_every_statement() -> None:
    """δ(0) = 1, of a formula or of a function: no finite μ, whatever is asked for."""
    formula = gdpbridge.profiles.Formula("delta = min(1, exp(1 - eps))", naive=True)
    function = gdpbridge.profiles.Callable(
        lambda eps: 1.0 if eps < 1 else 0.1, trusted=("non-increasing", "upper bound")
    )
    for profile in (formula, function):
        for scope in ({"eps_h": 2}, {"failure": 0.2}):
            found = gdpbridge.measure(profile, **scope)
            assert found.mu.low.is_infinite()
            assert any("δ(0) = 1" in note for note in found.notes)


def test_a_plateau_is_no_proof(tmp_path: Path) -> None:
    """Below the last row of a table nothing is known: that is refused, and not answered by ∞."""
    profile: Profile = gdpbridge.profiles.Table(pairs=[(0.5, 0.1), (1.0, 0.01)])
    with pytest.raises(InputError, match="nothing is known below it"):
        gdpbridge.measure(profile, failure=1e-3)
