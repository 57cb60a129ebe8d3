"""One relation of neighbours to another: where a theorem leads, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge.cli.main import main
from gdpbridge.ledger import Ledger

P = gdp.profiles
EPS = np.array([0.0, 0.3, 1.0, 2.5])
RUN = {"noise_multiplier": 1.5, "sample_rate": 0.1, "steps": 3}
FIXED = {**RUN, "steps": 1, "sampling": "fixed-size"}


@pytest.mark.parametrize(
    ("profile", "relation", "same", "nature"),
    [
        (P.Gaussian(sigma=4, neighbours="add-remove"), "replace-one", P.GDP(mu=0.5), "bound"),
        (P.Gaussian(sigma=3, neighbours="add-remove"), "zero-out", P.Gaussian(sigma=3), "own"),
        (P.Gaussian(sigma=3, neighbours="zero-out"), "add-remove", P.Gaussian(sigma=3), "own"),
        (P.Gaussian(sigma=3, neighbours="replace-one"), "zero-out", P.Gaussian(sigma=3), "bound"),
        (
            P.PureDP(epsilon=1, neighbours="add-remove"),
            "zero-out",
            P.DiscreteLaplace(scale=1, sensitivity=2),
            "bound",
        ),
        (
            P.Table(pairs=[[1, 0]], neighbours="add-remove"),
            "replace-one",
            P.DiscreteLaplace(scale=1, sensitivity=2),
            "bound",
        ),
        (
            P.Laplace(scale=4, neighbours="zero-out").compose(3),
            "replace-one",
            P.Laplace(scale=2).compose(3),
            "bound",
        ),
        (
            P.DiscreteGaussian(sigma=4, sensitivity=2, neighbours="add-remove"),
            "replace-one",
            P.DiscreteGaussian(sigma=4, sensitivity=4),
            "bound",
        ),
        (
            P.Laplace(scale=4, neighbours="add-remove").subsample(0.1),
            "zero-out",
            P.Laplace(scale=4).subsample(0.1),
            "own",
        ),
        (P.DPSGD(**RUN), "zero-out", P.DPSGD(**RUN), "own"),
        (P.DPSGD(**RUN), "replace-one", P.DPSGD(**RUN, neighbours="replace-one"), "own"),
        (P.DPSGD(**RUN, neighbours="replace-one"), "add-remove", P.DPSGD(**RUN), "own"),
        (P.DPSGD(**FIXED), "zero-out", P.DPSGD(**FIXED), "bound"),
        (P.OpacusHistory(history=[[1.5, 0.1, 3]]), "zero-out", P.DPSGD(**RUN), "own"),
        (P.ShuffledEpochs(noise_multiplier=4, steps=9), "replace-one", P.GDP(mu=0.5), "bound"),
    ],
)  # fmt: skip
def test_where_a_theorem_leads(
    profile: gdp.Profile, relation: str, same: gdp.Profile, nature: str
) -> None:
    """The curve is the right one, the result says from where, and a file holds it."""
    found = profile.to_neighbours(relation)
    assert np.allclose(found.delta(EPS), same.delta(EPS), rtol=1e-9, atol=0)
    assert (found.neighbours, found.profile_is) == (relation, nature)
    assert f"converted from {profile.neighbours} to {relation} neighbours" in found.remarks[0]
    assert gdp.load_profile(found.model_dump()) == found
    assert gdp.load_profile({**profile.model_dump(), "to_neighbours": relation}) == found
    assert found.to_neighbours(relation) is found


def test_where_a_theorem_leads_for_runs_of_zcdp() -> None:
    """Their curves take half a second each to make, which is not for the collection of tests."""
    runs = P.ZCDP(rho=0.1, neighbours="add-remove").compose(2)
    test_where_a_theorem_leads(runs, "replace-one", P.ZCDP(rho=0.4).compose(2), "bound")


@pytest.mark.parametrize(
    "profile",
    [
        P.Gaussian(sigma=1.5, neighbours="add-remove"),
        P.Laplace(scale=2, neighbours="add-remove"),
        P.PermuteAndFlip(epsilon=0.7, neighbours="zero-out"),
        P.Table(eps=[0.5, 1], delta=[0.1, 0.01], neighbours="add-remove"),
    ],
    ids=lambda one: one.kind,
)
def test_two_moves_by_hand(profile: gdp.Profile) -> None:
    """P ≤ e^x Q + δ(x) and Q ≤ e^y R + δ(y) give δ(x) + e^x δ(y) at x + y: it is the least one."""

    def delta(eps: np.ndarray) -> np.ndarray:
        # of a symmetric curve, below 0 too
        other = 1 - np.exp(eps) * (1 - np.asarray(profile.delta(np.abs(eps))))
        return np.where(eps < 0, other, np.asarray(profile.delta(np.abs(eps))))

    splits = np.linspace(-3, 4, 2801)
    for eps in EPS:
        least = (delta(splits) + np.exp(splits) * delta(eps - splits)).min()
        found = float(profile.to_neighbours("replace-one").delta(eps))
        assert found == pytest.approx(least, rel=1e-6, abs=1e-12)


def test_parts_are_converted_one_by_one() -> None:
    """A sequence takes the relation of its parts; what is converted composes with what is not."""
    noise = P.Laplace(scale=5, neighbours="add-remove")
    parts = P.Sequence(parts=(P.DPSGD(**RUN), noise))
    assert parts.neighbours == "add-remove"
    found = parts.to_neighbours("replace-one")
    stated = P.DPSGD(**RUN, neighbours="replace-one")
    same = P.Sequence(parts=(stated, P.Laplace(scale=2.5)))
    assert np.allclose(found.delta(EPS), same.delta(EPS), rtol=1e-6)
    assert found.profile_is == "bound"
    both = P.Sequence(parts=(stated, noise.to_neighbours("replace-one")))
    assert np.allclose(both.delta(EPS), same.delta(EPS), rtol=1e-6)


def test_nothing_is_mixed_silently() -> None:
    """Sequences, sums of μ's and ledgers refuse other relations, and say what would help."""
    one, other = P.Gaussian(sigma=2, neighbours="add-remove"), P.DPSGD(**RUN, neighbours="zero-out")
    with pytest.raises(gdp.InputError, match="to_neighbours converts where a theorem allows it"):
        P.Sequence(parts=(one, other))
    sequence = P.Sequence(parts=(one, one))
    for first in (one, sequence):
        with pytest.raises(gdp.InputError, match="add-remove and replace-one"):
            gdp.compose([first, P.Gaussian(sigma=2, neighbours="replace-one")])
    converted = one.to_neighbours("zero-out")
    assert gdp.compose([converted, P.Gaussian(sigma=2, neighbours="zero-out")]).neighbours


def test_a_ledger_takes_what_is_converted(tmp_path: Path) -> None:
    """What is stated for other neighbours than a data set is refused, until it is converted."""
    one = P.Gaussian(sigma=4, neighbours="add-remove")
    book = Ledger(str(tmp_path / "ledger.sqlite"))
    book.init()
    book.add_dataset("trips", unit="person", neighbours="replace-one")
    book.set_budget("trips", 3)
    with pytest.raises(gdp.InputError, match="neighbours is 'add-remove'"):
        book.spend("trips", one, purpose="x", key="1")
    book.spend("trips", one.to_neighbours("replace-one"), purpose="x", key="1")
    assert float(book.status("trips").balance.spent.square) == pytest.approx(0.25, abs=1e-6)


REFUSED = {
    "no theorem leads from replace-one to add-remove neighbours for gaussian": (
        P.Gaussian(sigma=2, neighbours="replace-one"),
        "add-remove",
    ),
    "no theorem leads from zero-out to add-remove neighbours for pure-dp": (
        P.PureDP(epsilon=1, neighbours="zero-out"),
        "add-remove",
    ),
    "no theorem leads from replace-one to add-remove neighbours for dpsgd": (
        P.DPSGD(**FIXED),
        "add-remove",
    ),
    "neighbours is missing: name the relation": (P.Gaussian(sigma=2), "zero-out"),
    "mechanism is 'callable'": (
        P.Callable(
            lambda eps: np.exp(-eps) / 2,
            trusted=["non-increasing", "upper bound"],
            neighbours="add-remove",
        ),
        "replace-one",
    ),
    "to_neighbours is 'nobody': must be one of add-remove, replace-one, zero-out": (
        P.GDP(mu=1, neighbours="add-remove"),
        "nobody",
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_no_theorem_says(message: str) -> None:
    """One sentence, on the place."""
    profile, relation = REFUSED[message]
    with pytest.raises(gdp.InputError, match=message):
        profile.to_neighbours(relation)  # type: ignore[arg-type]


def test_kinds_for_one_relation_alone() -> None:
    """Whose pair is known for some neighbours only is refused for others."""
    for kind, given in [
        (P.RandomAllocation, {"noise_multiplier": 2, "steps": 10, "neighbours": "replace-one"}),
        (P.ShuffledEpochs, {"noise_multiplier": 2, "steps": 10, "neighbours": "add-remove"}),
        (
            P.ThresholdedRelease,
            {"noise": "laplace", "scale": 1, "threshold": 9, "neighbours": "replace-one"},
        ),
    ]:
        with pytest.raises(gdp.InputError, match=r"neighbours is '(replace-one|add-remove)'"):
            kind(**given)


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """--to-neighbours converts, last of all; the answer says what was done; a bad one exits 2."""
    two = "laplace --scale 4 --neighbours add-remove --compose 2"
    words = f"measure {two} --to-neighbours replace-one --json"
    assert main(words.split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["profile_is"] == "bound"
    assert any("a group of two" in note for note in answer["notes"])
    assert answer["mechanism"]["neighbours"] == "replace-one"
    for typed, told in [
        ("measure gaussian --sigma 1 --to-neighbours zero-out", "name the relation"),
        (f"measure {two} --to-neighbours x", "--to-neighbours is x: must be one of add-remove"),
    ]:
        assert main(typed.split()) == 2
        assert told in capsys.readouterr().err
    check = "check gaussian --sigma 1 --neighbours add-remove --claim"
    assert main([*check.split(), "mu <= 1 for zero-out"]) == 0
    assert "in which a zeroed record" in " ".join(capsys.readouterr().out.split())
