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


@pytest.mark.slow
def test_the_tables_of_the_characteristics_file() -> None:
    """ρ, three ε of each level and one μ are what the specifications give, rounded up."""
    page = (ROOT / "docs" / "census.md").read_text()
    rows = [cells.strip(" |").split(" | ") for _, cells in DHC.findall(page)]
    persons, units = (
        gdp.load_profile(ROOT / "examples" / "census" / f"dhc_{name}.toml")
        for name in ("persons", "units")
    )
    assert len(rows) == 2 * (1 + len(persons.parts))
    for sequence, found in ((persons, rows[:9]), (units, rows[9:])):
        parts = [*(level.parts for level in sequence.parts)]
        parts.append([one for level in parts for one in level])
        for level, row in zip(parts, found, strict=True):
            rho = round(sum(one.times / one.base.sigma**2 for one in level) / 2, 4)
            assert row[:2] == [
                f"{rho:.4f}",
                rounded_up(rho + 2 * math.sqrt(rho * math.log(1e10)), 4),
            ]
    # exactly by ρ, of both files
    for row in (rows[8], rows[17]):
        by_rho = P.ZCDP(rho=float(row[0])).epsilon_bounds(1e-10)[1]
        assert row[2] == rounded_up(float(by_rho), 4)
    for level, row in zip(persons.parts, rows[:8], strict=True):
        assert row[3] == rounded_up(float(level.epsilon_bounds(1e-10)[1]), 4)
    for found in (rows[:9], rows[9:]):
        together = math.hypot(*(float(row[4]) for row in found[:8]))
        assert float(found[8][4]) == pytest.approx(together, abs=2e-4)


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


@pytest.fixture(scope="module")
def persons() -> gdp.Profile:
    """The characteristics file of persons, with all of its levels."""
    return gdp.load_profile(ROOT / "examples" / "census" / "dhc_persons.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("eps", "delta"),
    [
        pytest.param(8.67139664583832, 0.0755692083579441, marks=pytest.mark.deep),
        (20.079003728602853, 3.048930361816353e-07),
        pytest.param(26.340588852722323, 1.783199335041754e-12, marks=pytest.mark.deep),
    ],
)
def test_published_deltas(persons: gdp.Profile, eps: float, delta: float) -> None:
    """Those of the whole file (arXiv 2606.29835) are right."""
    low, high = persons.delta_bounds(eps)
    assert low < delta < high < delta * 1.001


@pytest.mark.slow
def test_a_published_delta_far_out(persons: gdp.Profile) -> None:
    """Where 1.0999e-22 is given."""
    assert persons.delta_bounds(35.1958074572057)[1] < 1.0036e-22


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
