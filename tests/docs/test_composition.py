"""What the page says of which kinds compose is what the program does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gdpbridge import InputError, profiles
from gdpbridge.curves.base import Form
from gdpbridge.measure.method import DEFAULT_METHOD, method_for
from gdpbridge.measure.result import no_certificate_because
from gdpbridge.mechanisms.base import Profile

P = profiles
GAUSSIAN, PURE = P.Gaussian(sigma=3), P.PureDP(epsilon=0.1)
BATCHES = {"sampling": "fixed-size", "neighbours": "replace-one"}
RUN: dict[str, Any] = {"noise_multiplier": 1, "sample_rate": 0.05, "steps": 9}
DISCRETE: list[Profile] = [
    PURE,
    P.ApproxDP(epsilon=1, delta=1e-6),
    P.RandomizedResponse(noise_parameter=0.5, buckets=2),
    P.DiscreteLaplace(scale=2),
]
LAPLACE_LIKE: list[Profile] = [
    P.PermuteAndFlip(epsilon=1),
    P.ReportNoisyMax(noise="exponential", scale=2),
]
BOUNDED_RANGE: list[Profile] = [
    P.BoundedRange(range=1),
    P.Exponential(epsilon=1),
    P.ReportNoisyMax(noise="gumbel", scale=2),
]
# of each row of the page, in order, what it is about
ROWS: list[list[Profile]] = [
    [GAUSSIAN, P.GDP(mu=1), P.Matrix(entries=[[1, 0], [1, 1]], sigma=2)],
    [GAUSSIAN.subsample(0.1), P.GDP(mu=1).subsample(0.1), P.DPSGD(**RUN)],
    [
        P.OpacusHistory(history=[[1.0, 0.05, 9]]),
        P.BandedMatrix(entries=[3, 4], sigma=5, bands=2, sample_rate=0.025, steps=20),
        P.TruncatedBatches(**RUN, records=1000, max_batch_size=110),
    ],
    [one.subsample(0.1, scheme="without-replacement") for one in (GAUSSIAN, P.GDP(mu=1))],
    [P.DPSGD(noise_multiplier=1, batch_size=5, records=100, steps=9, **BATCHES)],
    [P.Laplace(scale=2)],
    LAPLACE_LIKE,
    BOUNDED_RANGE,
    [P.SparseVector(threshold_scale=2, answer_scale=2, count=1)],
    [P.Laplace(scale=2).subsample(0.1)],
    [
        *(one.subsample(0.1) for one in DISCRETE[:2]),
        *(one.subsample(0.1, scheme="without-replacement") for one in DISCRETE[2:]),
    ],
    [
        P.DiscreteGaussian(sigma=2).subsample(0.1),
        P.DiscreteGaussian(sigma=2).subsample(0.1, scheme="without-replacement"),
    ],
    DISCRETE,
    [P.DiscreteGaussian(sigma=2)],
    [P.PLD(remove=[[0.5, 0.6], [-0.5, 0.3]])],
    [P.TradeoffFunction(alpha=[0, 0.2], beta=[1, 0.4])],
    [P.TruncatedLaplace(scale=1, delta=1e-3)],
    [P.ThresholdedRelease(noise="laplace", scale=1, threshold=10)],
    [P.Densities(p="2*x", q="1", low=0, high=1)],
    [P.RandomAllocation(noise_multiplier=4, steps=4)],
    [P.Skellam(variance=5)],
    [P.ShuffledEpochs(noise_multiplier=2, steps=10)],
    [P.ZCDP(rho=0.5)],
    [P.Renyi(orders=[2], epsilons=[0.2])],
    [P.Table(pairs=[(0, 0.3), (1, 0.08), (3, 0.0)])],
    [
        P.Formula("delta = 0.9*exp(-eps**2)"),
        P.SGDFamily(A=1.0, B=2.0, sigma=1.0),
        P.ICEA(messages=50, users=10),
    ],
]
WORDS = {
    Form.SMOOTH: ("curve", "ρ", "orders"),
    Form.COMPOSED: ("lines",),
    Form.LINEAR: ("lattice",),
    Form.BETWEEN: ("between",),
    Form.POINTS: ("sums",),
}


def _rows(root: Path) -> list[list[str]]:
    text = (root / "docs" / "composition.md").read_text(encoding="utf-8")
    table = text[text.index("| kind | several runs alone |") :].split("\n\n")[0]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]


def _found(one: Profile, other: Profile | None) -> tuple[tuple[str, ...], bool]:
    """The words for how it is composed, and whether there is a certificate."""
    try:
        whole = P.Sequence(parts=(one, other)) if other else one.compose(2)
        form = whole.curve.form
    except InputError:
        return ("no",), False
    return WORDS[form], not no_certificate_because(whole, lambda: method_for(form, DEFAULT_METHOD))


def test_each_row_has_its_examples(root: Path) -> None:
    """A row that is added says what it is about."""
    assert len(_rows(root)) == len(ROWS)


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_how_kinds_are_composed(root: Path, number: int) -> None:
    """Several alone, beside a Gaussian mechanism and beside discrete losses; the certificate."""
    _, *cells, certificate = _rows(root)[number]
    for one in ROWS[number]:
        has = []
        for cell, other in zip(cells, (None, P.GDP(mu=0.3), PURE), strict=True):
            words, certified = _found(one, other)
            assert any(word in cell for word in words), (one.kind, cell, words)
            has.append(certified)
        said = {
            "yes": [True, True, True],
            "none": [False, False, False],
            "of its own runs": [True, False, False],
            "of laplace": [True, False, True],
            "of Poisson samples": [getattr(one, "scheme", "") == "poisson"] * 3,
        }
        assert said[re.split("[,;]", certificate)[0]] == has, (one.kind, has)
