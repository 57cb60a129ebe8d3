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


@pytest.mark.parametrize("buckets", [2, 5])
def test_randomized_response_of_an_epsilon(buckets: int) -> None:
    """Given ε₀ it is exactly ε₀-DP, with the masses that p gives."""
    profile = P.RandomizedResponse(epsilon=1, buckets=buckets)
    other = P.RandomizedResponse(noise_parameter=buckets / (math.e - 1 + buckets), buckets=buckets)
    assert profile.epsilon_bounds(0.0) == (1.0, 1.0)
    for one, same in ((profile, other), (profile.compose(3), other.compose(3))):
        assert one.delta(0.3) == pytest.approx(same.delta(0.3), rel=1e-14)
    certificate = gdp.measure(profile).certificate
    assert (certificate is not None) == (buckets == 2)
    assert certificate is None or gdp.verify(certificate).valid
    assert type(profile)(**profile.model_dump()) == profile
    with pytest.raises(gdp.InputError, match="left out beside epsilon"):
        P.RandomizedResponse(epsilon=1, noise_parameter=0.3, buckets=buckets)
