"""Kinds that are given by what they shall cost: their noise or threshold follows from that."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

import gdpbridge as gdp

P = gdp.profiles


@pytest.mark.parametrize(
    ("given", "ratio"),
    [
        ({"epsilon": 1}, 2 ** (2 / 3)),
        ({"epsilon": 0.3, "count": 5, "sensitivity": 2}, 10 ** (2 / 3)),
        ({"epsilon": 2, "count": 5, "monotonic": True}, 5 ** (2 / 3)),
    ],
)
def test_sparse_vector(given: dict[str, float], ratio: float) -> None:
    """Both scales cost ε together, in the ratio that is best, and the curve is that of ε-DP."""
    found = P.SparseVector(**given)
    width = Fraction(str(given.get("sensitivity", 1)))
    each = given.get("count", 1) * (1 if given.get("monotonic") else 2)
    first = width / Fraction(str(found.threshold_scale))
    second = each * width / Fraction(str(found.answer_scale))
    assert 0 <= Fraction(str(given["epsilon"])) - first - second < Fraction(1, 10**14)
    assert float(second / first) == pytest.approx(ratio, rel=1e-14)
    pure = P.PureDP(epsilon=given["epsilon"])
    assert found.delta_bounds(0.2) == pure.delta_bounds(0.2)
    assert found.certified_as == pure
    assert P.SparseVector(**found.model_dump()) == found


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-290])
def test_thresholds(noise: str, groups: int, delta: float) -> None:
    """A record alone in its groups is given away with δ₀, or hardly less."""
    found = P.ThresholdedRelease(
        noise=noise, scale=1.5, delta=delta, groups=groups, contribution=0.5
    )
    with mpmath.workdps(400):
        away = (mpmath.mpf(str(found.threshold)) - 0.5) / 1.5
        once = (
            mpmath.erfc(away / mpmath.sqrt(2)) / 2 if noise == "gaussian" else mpmath.exp(-away) / 2
        )
        rest = mpmath.mpf(str(delta)) - (1 - (1 - once) ** groups)
        assert 0 <= rest < delta * 1e-11
    assert (
        found.specification()["threshold"]
        == gdp.profiles.ThresholdedRelease(
            noise=noise, scale=1.5, threshold=found.threshold
        ).specification()["threshold"]
    )
    assert "delta" not in found.specification()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: P.SparseVector(epsilon=1, threshold_scale=3), "left out beside epsilon"),
        (lambda: P.SparseVector(epsilon=True), "epsilon is True: must be a number > 0"),
        (lambda: P.SparseVector(epsilon=1e-300, sensitivity=1e300), "epsilon is 1e-300: must be"),
        (
            lambda: P.ThresholdedRelease(noise="gaussian", scale=1e308, delta=1e-5),
            r"scale is 1e\+308: must be one whose threshold",
        ),
        (lambda: P.SparseVector(epsilon=-1), "epsilon is -1.*: must be a number > 0"),
        (
            lambda: P.ThresholdedRelease(noise="laplace", scale=1, threshold=9, delta=1e-6),
            "left out beside delta",
        ),
        (lambda: P.ThresholdedRelease(noise="laplace", scale=1, delta=0.5), r"delta is 0.5: must"),
    ],
)
def test_what_is_refused(make: object, words: str) -> None:
    """Both ways at once, or a cost out of range."""
    with pytest.raises(gdp.InputError, match=words):
        make()  # type: ignore[operator]
