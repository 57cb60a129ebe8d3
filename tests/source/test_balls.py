"""Balls are compared through numeric/decide.py alone: "not certain" is never read as "no"."""

from __future__ import annotations

from pathlib import Path

import pytest
from balls import Comparison, comparisons_of_balls

# the asking itself
_HOME = "numeric/decide.py"
# rooms whose comparisons are of decimals and floats, which the inference cannot see
_ROOMS = {
    "paper": "intervals of decimals, beside numbers that are printed",
}
# comparisons of numbers that only look like balls, as they stand in the source
_NUMBERS = {
    "auditing/recursion.py": {
        "forced > wrong",
        "right + wrong > total",
        "gain < before",
        "right + wrong + gain * i < total",
    },
    "certificate/write.py": {
        "claim.mu.high == 'inf'",
        "mu.high == 'inf'",
        "found.claim.mu.high != bare.claim.mu.high",
        "bare.claim.mu.high != 'inf'",
    },
    "certificate/write_answers.py": {"last > eps[-1]"},
    "certificate/tangents.py": {"alpha >= order"},
    # of indices; of radii, which are exact
    "curves/chained.py": {"at[0] < last", "plain.rad() < other.rad()"},
    "curves/composition.py": {"tail.level.value == 0"},
    "curves/composed.py": {
        "delta <= _rational(level.value)",
        "delta < _rational(level.value)",
    },
    "curves/loss_distribution.py": {
        "logs[1] > logs[0]",
    },
    "curves/tails/discrete.py": {"end < found.end"},
    "curves/points.py": {"low < (middle := ((low + high) / 2)) < high"},
    "expressions/domain.py": {"exponent.value < 0"},
    "expressions/isolate.py": {"exponent.value == 0"},
    "gaussian/ball.py": {"exact_delta == 0", "exact_delta == 1"},
    "guarantees/formulas.py": {"segment.start != end", "tail != declared"},
    "guarantees/tradeoffs.py": {"before >= after"},
    "guarantees/decay.py": {"max(growth.terms) <= _LINEAR"},
    "losses/line.py": {
        "key == asked",
        "place.mid() == at.mid()",
        "place.rad() == at.rad()",
    },
    "losses/brackets.py": {"halvings < most_halvings", "one.loss.failure > 0"},
    "losses/geometric.py": {"self.masses >= _LEAST"},
    "losses/near_gaussian.py": {"variance > _MOST_MU ** 2"},
    "losses/roots.py": {"at == 0", "at > 0"},
    "losses/guesses.py": {"call > least", "max(call) < _NOT_NEAR_ONE"},
    "losses/sides.py": {"one <= -self.digits * math.log(10)"},
    "losses/sums.py": {"reached.bit_count() > _LISTED"},
    "losses/transforms/fixed_size.py": {"t.imag[1:] + angle > math.pi"},
    "losses/transforms/rare_gaussian.py": {"place > self._points[0][-1]"},
    "losses/transforms/replace_one.py": {"self.rate <= _HALF"},
    "losses/transforms/sampled_gaussian.py": {
        "plan.strip > plan.shift",
        "plan.strip <= plan.shift",
    },
    "mechanisms/bounded_range.py": {"log < _LOG_HALF"},
    "mechanisms/callable.py": {"found[1:] > least + slack"},
    "mechanisms/table.py": {"last == 0", "last == 1"},
    "mechanisms/thresholded_release.py": {"delta >= _HALF", "0 < one < math.inf", "place > _MOST"},
    "reading/rows.py": {"max(map(len, texts), default=0) <= MAX_DIGITS"},
    "measure/first_look.py": {
        "log[0] <= _NEAR_ONE",
        "log < _LOG_HALF",
        "log < above[0]",
        "rest > above[1]",
        "at < half",
        "_LOG_LEFT - float(half - at) > log_wanted",
        "guesses - (places - float(at)) > log_wanted + _SLACK",
        "piece.logs(np.array([float(at)]))[1][0] > log_wanted",
    },
    "measure/methods/composed.py": {
        "low > piece.start",
        "end < direction.end",
        "self.problem.end >= upper_bound(end)",
        "one > self.problem.tol",
    },
    "measure/polynomials.py": {"first < cut < last", "rests.min(axis=1) <= spare"},
    "measure/climb.py": {
        "_LEAST_FLOATS < mu < 1 / _LEAST_FLOATS",
        "total > 0",
        "abs(step) <= _NEAR * mu",
    },
    "measure/pieces.py": {"log >= 0"},
    "measure/statements.py": {"p >= self.profile.least_failure", "0 < rough < 1"},
    "numeric/kinds.py": {"x > -np.log(2.0)"},
    "sources/dp_accounting.py": {"depth > 1", "largest < 1"},
    "transformations/clip_rectify.py": {
        "run.start == following.start",
        "run.start > following.start",
    },
}


@pytest.fixture(scope="module")
def found(root: Path) -> list[Comparison]:
    """All comparisons of what is or may be a ball, outside of certainly(...)."""
    return comparisons_of_balls(root / "src" / "gdpbridge", excused={"certainly"})


def test_balls_are_compared_in_one_place(found: list[Comparison]) -> None:
    """A comparison of balls says ``certainly(...)``, or asks ``is_above`` or ``is_below``."""
    bare = [
        f"{one.path}:{one.line}: {one.text}"
        for one in found
        if one.path != _HOME
        and one.path.split("/")[0] not in _ROOMS
        and one.text not in _NUMBERS.get(one.path, ())
    ]
    assert not bare


def test_what_is_allowed_is_there(found: list[Comparison]) -> None:
    """The list above has nothing in it that is gone."""
    seen = {(one.path, one.text) for one in found}
    assert not [
        (path, text)
        for path, texts in _NUMBERS.items()
        for text in texts
        if (path, text) not in seen
    ]


_SOURCE = """
from flint import arb
from gdpbridge.numeric.kinds import BALLS, ball

class Line:
    a: arb
    number: int

    def at(self, t: arb) -> arb:
        return self.a + t

def plain(x: float, line: Line) -> bool:
    return x > 0 and line.number > 1 and certainly(line.a > 0)

def bare(line: Line, t: arb) -> bool:
    value = line.at(t).log()
    low, count = ball(1), 3
    for part, number in zip([value], [1]):
        if number > count:
            pass
        if part < low:
            return True
    return bool(BALLS.exp(t) >= 1)
"""


def test_the_inference_tells_balls_from_numbers(tmp_path: Path) -> None:
    """It follows fields, results, assignments and loops."""
    (tmp_path / "module.py").write_text(_SOURCE, "utf-8")
    found = comparisons_of_balls(tmp_path, excused={"certainly"})
    assert [one.text for one in found] == ["part < low", "BALLS.exp(t) >= 1"]
