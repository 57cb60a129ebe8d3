"""Numbers of releases that agencies and libraries made, known from elsewhere."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import gdpbridge as gdp

P = gdp.profiles


@pytest.mark.parametrize(
    ("profile", "mu", "delta", "epsilon"),
    [
        # County Business Patterns as one discrete Gaussian of ρ = 12.058
        (P.DiscreteGaussian(sigma=0.203632626255), 8.77010289661, 1e-10, 36.17398275),
        (P.Gaussian(sigma=1, sensitivity=math.sqrt(8)), 2.82842712, 1e-5, 15.45615582),
        (P.RandomizedResponse(noise_parameter=0.125), 3.06824108871, 0.0, 2.70805020),
    ],
    ids=lambda one: getattr(one, "kind", None),
)
def test_right_values(profile: gdp.Profile, mu: float, delta: float, epsilon: float) -> None:
    """μ, and the least ε at a δ."""
    found = gdp.measure(profile).mu
    assert float(found.low) == pytest.approx(mu, abs=5e-9)
    low, high = profile.epsilon_bounds(delta) if delta else (np.log(15), float(profile.curve.end()))
    assert float(high) == pytest.approx(epsilon, abs=6e-9)
    assert float(low) == pytest.approx(epsilon, abs=6e-9)


ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"^\| ([A-Z][\w ]+|all levels) \|((?: [\d.]+ \|){6})$", re.MULTILINE)


def rounded_up(value: float, digits: int) -> str:
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:.{digits}f}"


@pytest.mark.slow
def test_the_census_page() -> None:
    """The figures of the page are what the specifications give, rounded up: some of them."""
    page = (ROOT / "docs" / "census.md").read_text()
    rows = [cells.strip(" |").split(" | ") for _, cells in TABLE.findall(page)]
    persons, units = (
        gdp.load_profile(ROOT / "examples" / "census" / f"redistricting_{name}.toml")
        for name in ("persons", "units")
    )
    assert len(rows) == 1 + len(persons.parts)
    for at, sequence in ((0, persons), (3, units)):
        rhos = [part.rho for part in sequence.parts]
        assert [row[at] for row in rows] == [rounded_up(one, 5) for one in (*rhos, sum(rhos))]

    def epsilon(profile: gdp.Profile) -> str:
        return rounded_up(float(np.asarray(profile.epsilon_bounds(1e-10)[1])), 4)

    assert [rows[1][1], rows[6][4]] == [epsilon(persons.parts[1]), epsilon(units)]
    assert rows[5][5] == rounded_up(float(gdp.measure(units.parts[5]).mu.high), 4)
    # those of the persons file, and of both
    for rho in (sum(part.rho for part in persons.parts), 2.631169245673755):
        assert epsilon(P.ZCDP(rho=rho)) in page
    assert epsilon(P.Gaussian(sigma=1 / math.sqrt(2 * 2.631169245673755))) in page


DHC = re.compile(r"^\| ([A-Z][\w ]+|all levels) \|((?: [\d.]+ \|){5})$", re.MULTILINE)
FILES = ("redistricting_persons_noise", "redistricting_units_noise", "dhc_persons", "dhc_units")


def census(name: str) -> gdp.Profile:
    """One of the files, as a sequence of its levels."""
    return gdp.load_profile(ROOT / "examples" / "census" / f"{name}.toml")


@pytest.mark.slow
def test_the_tables_of_the_noise() -> None:
    """ρ, and ε of whole files, of each table are what the specifications give, rounded up."""
    page = (ROOT / "docs" / "census.md").read_text()
    rows = [cells.strip(" |").split(" | ") for _, cells in DHC.findall(page)]
    files = [census(name) for name in FILES]
    tables = []
    for sequence in files:
        tables.append(rows[: len(sequence.parts) + 1])
        del rows[: len(sequence.parts) + 1]
    assert not rows
    for sequence, found in zip(files, tables, strict=True):
        for level, row in zip((*sequence.parts, sequence), found, strict=True):
            losses = level.privacy_losses()
            rho = sum(one.times * float(one.transform.tail_variance) for one in losses) / 2
            assert float(row[0]) == pytest.approx(rho, abs=5.1e-5)
            assert row[1] == rounded_up(rho + 2 * math.sqrt(rho * math.log(1e10)), 4)
        # nearly a Gaussian mechanism of the same ρ
        assert row[4] == rounded_up(math.sqrt(2 * rho) + 1e-7, 4)
        low, high = (float(end) for end in sequence.epsilon_bounds(1e-10))
        assert row[3] == rounded_up(high, 4)
        assert high < low * (1 + 1e-6)
        by_rho = P.ZCDP(rho=round(rho, 4)).epsilon_bounds(1e-10)[1]
        assert float(row[2]) == pytest.approx(float(by_rho), abs=1.1e-3)
    for level, row in zip(files[2].parts[::3], tables[2][:8:3], strict=True):
        assert row[3] == rounded_up(float(level.epsilon_bounds(1e-10)[1]), 4)


def test_the_redistricting_files_together() -> None:
    """Both have less than by their ρ: what continuous noise of that ρ has."""
    both = P.Sequence(parts=(census(FILES[0]), census(FILES[1])))
    low, high = (float(end) for end in both.epsilon_bounds(1e-10))
    assert high < low * (1 + 1e-6)
    assert rounded_up(high, 4) == "16.7464"


@pytest.mark.parametrize(
    ("share", "epsilon", "by_the_code"),
    [
        (20, 2.468157169725886, 2.4684),
        (274, 10.125417044111746, 10.1147),
        (85, 5.327608667802572, 5.3283),
        (131, 6.738268418995858, 6.7354),
        (238, 9.35357256665386, 9.3549),
        (118, 6.362426147555297, 6.3635),
        (3, 0.9178298605779451, 0.9179),
    ],
)
def test_published_levels(share: int, epsilon: float, by_the_code: float) -> None:
    """Su, Su and Wang (arXiv 2410.09296): ten numbers a level; twenty by the Bureau's code."""
    rho = 3.65 * share / 1000
    ten = P.DiscreteGaussian(sigma=math.sqrt(5 / rho)).compose(10)
    low, high = ten.epsilon_bounds(1e-11)
    assert low == pytest.approx(high, rel=1e-12)
    assert high == pytest.approx(epsilon, rel=1e-12)
    twenty = P.DiscreteGaussian(sigma=math.sqrt(10 / rho)).compose(20)
    assert float(rounded_up(float(twenty.epsilon_bounds(1e-11)[1]), 4)) == by_the_code


@pytest.mark.parametrize(
    ("share", "numbers", "unused", "smaller"),
    [(274, 10, 8.50, 15.08), (3, 10, 13.76, 24.82), (274, 20, 8.60, 14.80), (3, 20, 13.76, 24.82)],
)
def test_what_is_left_of_the_budget(
    share: int, numbers: int, unused: float, smaller: float
) -> None:
    """Of its abstract: the least and the largest share of ε, and how much less noise would do."""
    rho = 3.65 * share / 1000
    spent = rho + 2 * math.sqrt(rho * math.log(1e11))

    def epsilon(times: float) -> float:
        noise = P.DiscreteGaussian(sigma=math.sqrt(numbers / 2 / (rho * times)))
        return float(noise.compose(numbers).epsilon_bounds(1e-11)[1])

    assert 100 * (1 - epsilon(1) / spent) == pytest.approx(unused, abs=0.005)
    for share_of_variance, above in ((smaller - 0.005, False), (smaller + 0.005, True)):
        assert (epsilon(1 / (1 - share_of_variance / 100)) > spent) is above


def test_published_deltas() -> None:
    """Those of the whole file (arXiv 2606.29835) are right, and far out they are too large."""
    persons = census("dhc_persons")
    for eps, delta in [
        (8.67139664583832, 0.0755692083579441),
        (20.079003728602853, 3.048930361816353e-07),
        (26.340588852722323, 1.783199335041754e-12),
        (31.145272105986784, 1.2785601547019514e-17),
    ]:
        low, high = persons.delta_bounds(eps)
        assert low < delta < high < low * (1 + 5e-7)
    for eps, delta, share in [
        (35.1958074572057, 1.099923908974352e-22, 1.0972),
        (35.94242870913358, 3.01709859301112e-23, 3.1381),
    ]:
        low, high = persons.delta_bounds(eps)
        assert delta / low == pytest.approx(share, abs=1e-4)
        assert delta / high == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize("buckets", [2, 5])
def test_randomized_response_of_an_epsilon(buckets: int) -> None:
    """Given ε₀ it is exactly ε₀-DP, with the masses that p gives."""
    profile = P.RandomizedResponse(epsilon=1, buckets=buckets)
    other = P.RandomizedResponse(noise_parameter=buckets / (math.e - 1 + buckets), buckets=buckets)
    assert profile.epsilon_bounds(0.0) == (1.0, 1.0)
    for one, same in ((profile, other), (profile.compose(3), other.compose(3))):
        assert one.delta(0.3) == pytest.approx(same.delta(0.3), rel=1e-14)
    for one in (profile, profile.compose(3)):
        certificate = gdp.measure(one).certificate
        assert certificate is not None
        assert gdp.verify(certificate).valid
    assert type(profile)(**profile.model_dump()) == profile
    with pytest.raises(gdp.InputError, match="left out beside epsilon"):
        P.RandomizedResponse(epsilon=1, noise_parameter=0.3, buckets=buckets)
