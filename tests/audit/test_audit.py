"""Audits of scores, counts, guesses and programs: bounds, verdicts, shares of the level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.auditing import METHODS

Given = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def canaries(mu: float, number: int, seed: int = 0) -> Given:
    """Scores of a Gaussian mechanism of this μ, each canary in by a fair coin."""
    rng = np.random.default_rng(seed)
    inside = rng.random(number) < 0.5
    return rng.normal(size=number) + mu * inside, inside


@pytest.mark.parametrize("method", METHODS)
def test_a_strong_attack_gives_a_bound_and_a_weak_claim_falls(method: str) -> None:
    """With μ = 3, the bound is far above 0, below 3, and contradicts a claim of 0.3."""
    found = gdp.audit(*canaries(3.0, 3000), method=method, mu_claimed=0.3)
    assert 0.8 < found.mu.lower < 3
    assert found.contradicts
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert found.method == method


@pytest.mark.parametrize("method", METHODS)
def test_a_true_claim_stands(method: str) -> None:
    """The mechanism's own μ is not contradicted, and the sentence says that this proves nothing."""
    found = gdp.audit(*canaries(1.0, 3000), method=method, mu_claimed=1)
    assert not found.contradicts
    assert found.p_value is not None
    assert found.p_value > 0.05
    assert "does not prove" in found.sentence


@pytest.mark.parametrize("method", METHODS)
def test_scores_without_signal_prove_nothing(method: str) -> None:
    """From scores that know nothing neither μ nor ε is bounded away from 0."""
    rng = np.random.default_rng(12)
    inside = rng.random(1000) < 0.5
    found = gdp.audit(rng.normal(size=1000), inside, method=method)
    assert (found.mu.lower, found.epsilon.lower) == (0, 0)
    assert found.p_value is None
    assert not found.contradicts


def test_the_claim_is_contradicted_exactly_where_the_bound_is_above_it() -> None:
    """The verdict on a μ and the bound of μ are one test, at every method but that of ε."""
    scores, inside = canaries(2.0, 2000)
    for method in ("f-dp", "split", "simultaneous"):
        low = gdp.audit(scores, inside, method=method).mu.lower
        for claimed, contradicted in ((low * 0.999, True), (low * 1.001, False)):
            found = gdp.audit(scores, inside, method=method, mu_claimed=claimed)
            assert found.contradicts == contradicted, method


def test_several_methods_share_the_level() -> None:
    """The better of two bounds is the one at half the level; the p-value is doubled."""
    scores, inside = canaries(2.0, 2000)
    both = gdp.audit(scores, inside, method=["f-dp", "guessing"], mu_claimed=1, confidence=0.9)
    alone = [
        gdp.audit(scores, inside, method=name, mu_claimed=1, confidence="0.95")
        for name in ("f-dp", "guessing")
    ]
    assert both.mu.lower == max(one.mu.lower for one in alone)
    assert both.epsilon.lower == max(one.epsilon.lower for one in alone)
    tested = [one.p_value for one in alone if one.p_value is not None]
    assert both.p_value == pytest.approx(2 * min(tested))
    assert both.method == "f-dp+guessing"


def test_more_confidence_bounds_less() -> None:
    """The surer the bound, the smaller it is."""
    scores, inside = canaries(2.0, 2000)
    lows = [gdp.audit(scores, inside, confidence=sure).mu.lower for sure in (0.5, 0.95, 0.9999)]
    assert lows[0] > lows[1] > lows[2] > 0


def test_the_scale_and_the_direction_of_scores_do_not_matter() -> None:
    """Scores that rise where others fall, on any scale, give the same bound."""
    scores, inside = canaries(2.0, 1000)
    expected = gdp.audit(scores, inside).mu.lower
    assert gdp.audit(np.exp(scores), inside).mu.lower == expected
    assert gdp.audit(-scores, inside).mu.lower == pytest.approx(expected, rel=0.2)
    assert gdp.audit(np.where(inside, np.inf, scores), inside).mu.lower > 1.5


def test_a_mechanisms_own_curve_is_tested_more_sharply_than_its_mu() -> None:
    """Scores that a 1.2-GDP mechanism could have are out of reach for a Laplace mechanism."""
    rng = np.random.default_rng(8)
    laplace = gdp.profiles.Laplace(scale=1.25)
    mu = gdp.measure(laplace).mu.upper
    outside, inside = rng.normal(size=100_000), rng.normal(size=100_000) + mu
    scores, members = np.concatenate([outside, inside]), np.repeat([0, 1], 100_000)
    own = gdp.audit(scores, members, method="simultaneous", against=laplace)
    only_mu = gdp.audit(scores, members, method="simultaneous", mu_claimed=mu)
    assert own.contradicts
    assert not only_mu.contradicts
    assert own.claim is not None
    assert "laplace" in own.claim


@pytest.mark.parametrize("method", METHODS)
def test_a_mechanism_is_not_accused_of_its_own_scores(method: str) -> None:
    """Laplace scores do not contradict the Laplace mechanism, but one with twice its noise."""
    rng = np.random.default_rng(9)
    inside = rng.random(20_000) < 0.5
    scores = rng.laplace(size=20_000) * 0.5 + inside
    true = gdp.audit(scores, inside, method=method, against=gdp.profiles.Laplace(scale=0.5))
    wrong = gdp.audit(scores, inside, method=method, against=gdp.profiles.Laplace(scale=1.0))
    assert not true.contradicts
    assert wrong.contradicts


def test_counts_give_the_textbook_bound() -> None:
    """90 of 100 and 3 of 100: Clopper-Pearson at 2.5 % each, then two normal quantiles."""
    found = gdp.audit_counts(90, 3, positives=100, negatives=100, mu_claimed=1)
    # 0.0851760530 and 0.1762225978 are beta quantiles; 1.3712 and 0.9297 normal ones
    assert found.mu.lower == pytest.approx(2.3009, abs=1e-4)
    assert found.epsilon.lower == pytest.approx(np.log((1 - 1e-5 - 0.1762225978) / 0.085176053))
    assert found.contradicts
    assert found.roc is None
    assert (found.canaries, found.members) == (200, 100)


def test_rows_of_counts_share_the_level() -> None:
    """The same row twice is worth less than once."""
    once = gdp.audit_counts(90, 3, positives=100, negatives=100)
    twice = gdp.audit_counts([90, 90], [3, 3], positives=100, negatives=[100, 100])
    assert 0 < twice.mu.lower < once.mu.lower


def test_guesses_alone_are_enough() -> None:
    """Right guesses out of a number fixed beforehand bound μ and ε as scores do."""
    found = gdp.audit_guesses(95, 100, 1000, mu_claimed=0.5)
    assert found.mu.lower > 0.7
    assert found.contradicts
    both = gdp.audit_guesses(95, 100, 1000, method=("f-dp", "guessing"))
    assert 0 < both.mu.lower < found.mu.lower
    assert gdp.audit_guesses(50, 100, 1000).mu.lower == 0
    assert gdp.audit_guesses(0, 100, 1000).mu.lower == 0


def test_the_result_is_the_same_again_and_as_plain_data() -> None:
    """A seed decides the random halves, and the document has the fields that scripts rely on."""
    scores, inside = canaries(1.0, 500)
    first, again = (gdp.audit(scores, inside, seed=5).to_dict() for _ in range(2))
    del first["seconds"], again["seconds"]
    assert first == again
    assert {"mu", "confidence", "method", "contradicts", "p_value"} <= set(first)
    assert set(first["mu"]) == {"low"}
    assert first["findings"][0]["assumptions"]


def test_findings_as_a_data_frame() -> None:
    """One row a method, with what the document says of it; libraries that are none are named."""
    pytest.importorskip("pyarrow")
    scores = np.random.default_rng(0).normal(size=200)
    found = gdp.audit(scores, scores > 0, method=["f-dp", "guessing"], mu_claimed=1)
    rows = found.to_frame().to_pylist()
    for row, one in zip(rows, found.to_dict()["findings"], strict=True):
        assert row["method"] == one["method"]
        assert (row["mu_low"], row["p_value"]) == (one["mu"]["low"], one["p_value"])
        assert row["confidence"] == found.confidence
    with pytest.raises(gdp.InputError, match="library is 'abacus': must be a library"):
        found.to_frame("abacus")


def test_the_band_of_the_roc_holds_the_true_curve() -> None:
    """Around measured errors the band holds G_μ at every point, in a seeded run."""
    found = gdp.audit(*canaries(1.0, 4000))
    assert found.roc is not None
    true = gdp.beta(np.array(found.roc.alpha), 1.0)
    assert (np.array(found.roc.low) <= true).all()
    assert (true <= np.array(found.roc.high)).all()
    assert (np.diff(found.roc.beta) <= 0).all()


def test_the_roc_of_falling_scores_is_that_of_rising_ones() -> None:
    """Where low scores speak for members, errors are measured that way round."""
    scores, inside = canaries(2.0, 500)
    rising, falling = gdp.audit(scores, inside).roc, gdp.audit(-scores, inside).roc
    assert rising is not None
    assert rising == falling


def test_progress_is_told() -> None:
    """Long work says what it does, and how much of it is done."""
    told: list[float] = []
    gdp.audit(*canaries(1.0, 500), method=["f-dp", "split"], progress=lambda _, at: told.append(at))
    assert told == sorted(told)
    assert told
    assert 0 <= min(told) <= max(told) <= 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scores": [1.0, float("nan"), 2.0, 3.0]}, "score in row 2"),
        ({"scores": [1.0, 1.0, 1.0, 1.0]}, "score"),
        ({"scores": [[1.0], [2.0], [3.0], [4.0]]}, "scores"),
        ({"scores": ["a", "b", "c", "d"]}, "scores"),
        ({"scores": [1.0, 2.0]}, "members"),
        ({"members": [0, 1, 2, 1]}, "member in row 3"),
        ({"members": [0, 1, float("nan"), 1]}, "member in row 3"),
        ({"members": [0, 0, 0, 0]}, "members"),
        ({"members": [1, 1, 1, 1]}, "members"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": "x"}, "confidence"),
        ({"delta": 1}, "delta"),
        ({"mu_claimed": -1}, "mu_claimed"),
        ({"method": "best"}, "method"),
        ({"method": []}, "method"),
        ({"method": ["f-dp", "f-dp"]}, "method"),
        ({"inclusion": 0}, "inclusion"),
        ({"seed": -1}, "seed"),
        ({"held_out": 1}, "held_out"),
        ({"against": 1}, "against"),
        ({"against": gdp.profiles.Laplace(scale=1), "mu_claimed": 1}, "mu_claimed"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], field: str) -> None:
    """One sentence names the field, its value and what is allowed."""
    good: dict[str, Any] = {"scores": [1.0, 2.0, 3.0, 4.0], "members": [0, 1, 0, 1]}
    gdp.audit(**good)
    with pytest.raises(gdp.InputError, match="must be") as error:
        gdp.audit(**(good | change))
    assert error.value.field == field


def test_members_that_no_coins_drew_are_refused_in_one_run() -> None:
    """100 of 1000 are not what fair coins give; with their probability said, they are."""
    rng = np.random.default_rng(0)
    inside = np.arange(1000) < 100
    scores = rng.normal(size=1000) + 3 * inside
    with pytest.raises(gdp.InputError, match="coin"):
        gdp.audit(scores, inside)
    assert gdp.audit(scores, inside, inclusion=0.1).mu.lower > 0.5
    assert gdp.audit(scores, inside, method="split").mu.lower > 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"true_positives": 101}, "true_positives"),
        ({"false_positives": -1}, "false_positives in row 1"),
        ({"false_positives": 1.5}, "false_positives in row 1"),
        ({"true_positives": [1, 2]}, "false_positives"),
        ({"positives": 0}, "positives in row 1"),
        ({"negatives": [1, 2]}, "negatives"),
    ],
)
def test_bad_counts_are_named(given: dict[str, Any], field: str) -> None:
    """Counts are whole numbers, and no larger than their totals."""
    good: dict[str, Any] = {
        "true_positives": 90,
        "false_positives": 3,
        "positives": 100,
        "negatives": 100,
    }
    with pytest.raises(gdp.InputError, match="must be") as error:
        gdp.audit_counts(**(good | given))
    assert error.value.field == field


@pytest.mark.parametrize("counts", [(11, 10, 20), (5, 21, 20), (0, 0, 20), (1.5, 10, 20)])
def test_bad_guesses_are_named(counts: tuple[int, int, int]) -> None:
    """Right guesses are some of the guesses, and those some of the canaries."""
    with pytest.raises(gdp.InputError, match="must be"):
        gdp.audit_guesses(*counts)


def test_a_program_with_half_its_noise_is_found_out() -> None:
    """Draws in two worlds contradict a Laplace mechanism of twice the noise, and not the true."""
    rng = np.random.default_rng(1)
    true, claimed = gdp.profiles.Laplace(scale=1.0), gdp.profiles.Laplace(scale=2.0)

    def run(total: float) -> float:
        return total + rng.laplace()

    assert gdp.audit_mechanism(run, worlds=(10, 11), runs=4000, against=claimed).contradicts
    assert not gdp.audit_mechanism(run, worlds=(10, 11), runs=4000, against=true).contradicts


def test_programs_may_return_words_arrays_and_whole_numbers() -> None:
    """Texts, vectors and counts are told apart by what was seen on the first half."""
    rng = np.random.default_rng(2)

    def words(answer: str) -> str:
        return answer if rng.random() < 0.9 else rng.choice(["yes", "no", "no answer"]).item()

    def vectors(means: list[float]) -> np.ndarray[Any, Any]:
        return rng.normal(size=3) + means

    def whole(count: int) -> int:
        return count + int(rng.geometric(0.7) - rng.geometric(0.7))

    def spread(scale: float) -> float:
        return float(rng.normal() * scale)

    for run, worlds in (
        (words, ("yes", "no")),
        (vectors, ([0, 0, 0], [1, 1, 1])),
        (whole, (3, 4)),
        (spread, (1.0, 3.0)),
    ):
        found = gdp.audit_mechanism(run, worlds=worlds, runs=2000)  # type: ignore[arg-type]
        assert found.mu.lower > 0.5
        same = gdp.audit_mechanism(run, worlds=(worlds[0], worlds[0]), runs=2000)  # type: ignore[arg-type]
        assert same.mu.lower == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"run": 1}, "run"),
        ({"worlds": (1,)}, "worlds"),
        ({"worlds": "ab"}, "worlds"),
        ({"runs": 19}, "runs"),
        ({"runs": True}, "runs"),
        ({"run": lambda world: {world}}, "run"),
        ({"run": lambda world: np.zeros(world + 1)}, "run"),
    ],
)
def test_bad_programs_are_named(change: dict[str, Any], field: str) -> None:
    """What cannot be run or compared is named in one sentence."""
    good: dict[str, Any] = {"run": lambda world: world, "worlds": (0, 1), "runs": 40}
    with pytest.raises(gdp.InputError, match="must be") as error:
        gdp.audit_mechanism(**(good | change))
    assert error.value.field == field
