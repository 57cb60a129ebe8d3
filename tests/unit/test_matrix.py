"""Matrix mechanisms: the sensitivity of C for each way of taking part, and its μ."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import gdpbridge as gdp

P = gdp.profiles
RNG = np.random.default_rng(7)


def square_root(size: int, band: int | None = None) -> np.ndarray:
    """The square root of the matrix of ones below the diagonal, banded if asked for."""
    column = np.cumprod([1.0, *((2 * i - 1) / (2 * i) for i in range(1, size))])
    column[band:] = 0 if band else column[band:]
    return np.array([[column[i - j] if i >= j else 0 for j in range(size)] for i in range(size)])


def by_search(matrix: np.ndarray, most: int, separation: int, fixed: bool = False) -> float:
    """The largest √Σ|G_ij| over all patterns."""
    gram = np.abs(matrix.T @ matrix)
    best = 0.0
    for count in range(1, most + 1):
        for pattern in itertools.combinations(range(matrix.shape[1]), count):
            gaps = np.diff(pattern)
            if (gaps < separation).any() or (fixed and (gaps != separation).any()):
                continue
            best = max(best, gram[np.ix_(pattern, pattern)].sum())
    return float(np.sqrt(best))


@pytest.mark.parametrize(
    ("matrix", "nature"),
    [
        (square_root(12), "bound"),
        (square_root(12, band=3), "own"),
        (np.eye(9), "own"),
        (RNG.normal(size=(9, 9)), "bound"),
        (np.abs(RNG.normal(size=(11, 8))), "bound"),
    ],
)
@pytest.mark.parametrize(("most", "separation"), [(1, 1), (2, 3), (3, 3), (3, 4)])
def test_all_patterns(matrix: np.ndarray, nature: str, most: int, separation: int) -> None:
    """What is proved is never below the search, and equal to it where it is called exact."""
    profile = P.Matrix(entries=matrix, sigma=1, participations=most, separation=separation)
    searched = by_search(matrix, most, separation)
    assert profile.sensitivity >= searched * (1 - 1e-12)
    if profile.profile_is == "own":
        assert profile.sensitivity == pytest.approx(searched, rel=1e-12)
    assert profile.profile_is == ("own" if most == 1 else nature)
    epochs = P.Matrix(
        entries=matrix, sigma=1, participations=most, separation=separation, fixed=True
    )
    searched = by_search(matrix, most, separation, fixed=True)
    assert epochs.sensitivity == pytest.approx(searched, rel=1e-12)
    assert epochs.profile_is == ("own" if (matrix.T @ matrix >= 0).all() or most == 1 else "bound")


def test_toeplitz_coefficients() -> None:
    """Coefficients that fall are worst for steps 0, b, 2b, …: what the whole matrix says too."""
    column = square_root(12)[:, 0]
    profile = P.Matrix(entries=column, sigma=2, participations=3, separation=4)
    assert profile.sensitivity == pytest.approx(by_search(square_root(12), 3, 4), rel=1e-12)
    assert profile.profile_is == "own"
    assert gdp.measure(profile).mu.upper == pytest.approx(profile.sensitivity / 2, abs=1e-10)
    # rising ones are taken as a whole matrix
    rising = P.Matrix(entries=[1, 2, 3], steps=5, sigma=2, participations=2, separation=3)
    whole = np.array([[(i - j + 1) if 0 <= i - j < 3 else 0 for j in range(5)] for i in range(5)])
    assert rising.sensitivity == pytest.approx(by_search(whole, 2, 3), rel=1e-12)


def test_what_it_is_without_correlation() -> None:
    """The identity is as many runs of the Gaussian mechanism as a record takes part in."""
    profile = P.Matrix(entries=np.eye(10), sigma=2, participations=3)
    eps = [0.0, 0.5, 2.0]
    assert np.allclose(profile.delta(eps), P.Gaussian(sigma=2).compose(3).delta(eps), rtol=1e-12)
    assert np.allclose(profile.compose(4).delta(eps), P.Gaussian(sigma=1).compose(3).delta(eps))
    assert np.allclose(profile.group(2).delta(eps), P.Gaussian(sigma=1).compose(3).delta(eps))
    beside = P.Sequence(parts=(profile, P.Gaussian(sigma=2)))
    assert np.allclose(beside.delta(eps), P.Gaussian(sigma=1).delta(eps))


def test_files(tmp_path: Path) -> None:
    """npy and CSV files, and plain data, are the same matrix."""
    matrix = square_root(6, band=2)
    np.save(tmp_path / "c.npy", matrix)
    np.savetxt(tmp_path / "c.csv", matrix, delimiter=",")
    np.savetxt(tmp_path / "column.csv", matrix[:, 0])
    given = {"sigma": 1.0, "participations": 2, "separation": 3}
    found = [P.Matrix(str(tmp_path / name), **given) for name in ("c.npy", "c.csv", "column.csv")]
    assert len({one.sensitivity for one in found}) == 1
    again = gdp.load_profile(P.Matrix(entries=matrix, **given).model_dump())
    assert again.delta(0.5) == found[0].delta(0.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"entries": [[1, np.inf], [0, 1]]}, "entries is of another shape, or infinite"),
        ({"entries": [[1, 2], [3]]}, "entries is no numbers"),
        ({"entries": np.eye(3), "steps": 4}, "steps is 4: must be 3, as many as C has columns"),
        ({"entries": [1, 2], "steps": 5000}, "steps is 5000: must be at most 1024"),
        ({"file": "/nonexistent.npy"}, "file"),
        ({}, "file and entries"),
    ],
)
def test_bad_input(given: dict[str, object], words: str) -> None:
    """One sentence names what is wrong."""
    with pytest.raises(gdp.InputError) as caught:
        P.Matrix(**given, sigma=1)
    assert words in str(caught.value)


COLUMN = [1.0, 0.5, 0.25]


def test_banded_on_samples_is_dpsgd() -> None:
    """σ/κ, b·q and ⌈T/b⌉ steps; the mechanism's own where a group has columns of norm κ alone."""
    # κ = 5: of three groups the first one has whole columns at steps 0, 3 and 6
    banded = P.BandedMatrix(entries=[3.0, 4.0], sigma=10, bands=3, sample_rate=0.02, steps=8)
    same = P.DPSGD(noise_multiplier=2, sample_rate=0.06, steps=3)
    assert np.array_equal(banded.delta([0.0, 0.5, 2.0]), same.delta([0.0, 0.5, 2.0]))
    assert (banded.run, banded.profile_is, banded.neighbours) == (same, "own", "add-remove")
    # its last step ends before the column does, so that nobody has three whole columns
    short = P.BandedMatrix(entries=[3.0, 4.0], sigma=10, bands=3, sample_rate=0.02, steps=7)
    assert (short.run, short.profile_is) == (same, "bound")
    matrix = [[0.0] * 8 for _ in range(8)]
    for step in range(8):
        matrix[step][step] = 3.0
        if step < 7:
            matrix[step + 1][step] = 4.0
    whole = P.BandedMatrix(entries=matrix, sigma=10, bands=3, sample_rate=0.02)
    assert (whole.run, whole.profile_is) == (same, "own")
    assert gdp.load_profile(banded.model_dump()) == banded
    assert "3 groups" in banded.remarks[0]
    zeroed = banded.to_neighbours("zero-out")
    assert zeroed.profile_is == "own"
    assert float(zeroed.delta(0.5)) == float(banded.delta(0.5))


def test_banded_on_samples_by_hand() -> None:
    """A record of the first of two groups: four rows, two steps that it may be drawn in."""
    sigma, rate = 1.5, 0.6
    banded = P.BandedMatrix(entries=[1.0, 0.5], sigma=sigma, bands=2, sample_rate=rate / 2, steps=4)
    columns = np.array([[1, 0.5, 0, 0], [0, 0, 1, 0.5]])
    # all that tells is the products with the columns: normal, with these means and deviations
    norms = (columns**2).sum(axis=1)
    grid = np.linspace(-12, 14, 1501)
    step = grid[1] - grid[0]
    pairs = []
    for norm in norms:
        deviation = sigma * np.sqrt(norm)

        def density(mean: float, deviation: float = deviation) -> np.ndarray:
            return np.exp(-((grid - mean) ** 2) / 2 / deviation**2) / deviation / np.sqrt(2 * np.pi)

        pairs.append(((1 - rate) * density(0) + rate * density(norm), density(0)))
    with_it, without = (np.outer(*(pair[side] for pair in pairs)) for side in (0, 1))
    for eps in (0.1, 0.8):
        both = [
            np.maximum(one - np.exp(eps) * other, 0).sum() * step**2
            for one, other in [(with_it, without), (without, with_it)]
        ]
        assert float(banded.delta(eps)) == pytest.approx(max(both), rel=1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"entries": COLUMN, "bands": 2, "steps": 6}, "bands is 2: must be the number of bands"),
        ({"entries": [[1, 1], [0, 1]], "bands": 2}, "lower triangular"),
        ({"entries": [[1, 0, 0], [1, 1, 0]], "bands": 2}, "the size of C is '2 by 3'"),
        ({"entries": COLUMN, "bands": 20}, "sample_rate is 0.1: must be at most 1/b"),
        ({"entries": COLUMN, "bands": 3, "neighbours": "replace-one"}, "neighbours is 'replace"),
        ({"bands": 3}, "file and entries"),
    ],
)
def test_bad_banded(given: dict[str, object], words: str) -> None:
    """What the theorem does not cover is refused, by its name."""
    with pytest.raises(gdp.InputError) as caught:
        P.BandedMatrix(**{"sigma": 1.0, "sample_rate": 0.1, **given})
    assert words in str(caught.value)
