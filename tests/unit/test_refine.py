"""The refinement by the partial order against its definition, in every shape it can have."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from gdpbridge import profiles
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "data" / "refined.json").read_text(encoding="utf-8")
)


def profile_of(row: dict[str, Any]) -> Profile:
    parameters = row["parameters"]
    if row["kind"] == "icea":
        return profiles.ICEA(**{key: int(value) for key, value in parameters.items()})
    return profiles.SGDFamily(**{key: float(value) for key, value in parameters.items()})


def number(text: str) -> arb:
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


@pytest.mark.parametrize("row", REFERENCE, ids=lambda r: str(list(r["parameters"].values())))
def test_against_brute_force(row: dict[str, Any]) -> None:
    """The curve is the minimum over all lines, found elsewhere by scanning them."""
    curve = profile_of(row).curve
    with precision(200):
        for eps, text in row["points"]:
            value, truth = curve.enclose(ball(Fraction(eps))).log(), number(text)
            assert abs(value - truth) <= abs(truth) * arb(10) ** -18 + arb(10) ** -30, eps


def naive_log(profile: Profile, eps: arb) -> arb:
    """log δ̂, written again."""
    if isinstance(profile, profiles.ICEA):
        return number(str(profile.users)).log() - number(str(profile.messages)) / 10 - eps.log()
    kappa = (ball(profile.exact("sigma")) / ball(profile.exact("A"))) ** 2
    return ball(profile.exact("B")).log() - kappa * eps * eps


def shapes() -> list[Profile]:
    rng = random.Random(11)
    drawn: list[Profile] = [
        profiles.SGDFamily(
            A=round(10 ** rng.uniform(-1, 1), 3),
            B=round(10 ** rng.uniform(-2, 2), 4),
            sigma=round(10 ** rng.uniform(-1, 1), 3),
        )
        for _ in range(25)
    ]
    drawn += [profiles.ICEA(messages=m, users=n) for m, n in ((1, 1), (20, 4), (90, 1000))]
    return [
        *drawn,
        profiles.SGDFamily(A=1, B=1e-300, sigma=1),
        profiles.SGDFamily(A=1, B=1e300, sigma=1),
        profiles.SGDFamily(A=1, B=1, sigma=1e6),
        profiles.SGDFamily(A=1e6, B=1, sigma=1),
        profiles.ICEA(messages=10_000, users=1),
    ]


@pytest.mark.parametrize("profile", shapes(), ids=str)
def test_the_curve_is_below_every_line(profile: Profile) -> None:
    """No line through (-1, 1) and a later point of the naive profile lies below the curve."""
    rng = random.Random(str(profile))
    with precision(200):
        starts = [piece.start() if callable(piece.start) else 0 for piece in profile.curve.pieces]
        reach = float(arb(starts[-1])) or 1.0
        for _ in range(60):
            eps = arb(reach * 2 * rng.random() ** 3)
            later = eps + arb(reach * 2 * rng.random() ** 2)
            top = naive_log(profile, later).exp()
            if not top < 1:
                continue
            line = 1 - (1 - top) * (1 + eps.exp()) / (1 + later.exp())
            value = profile.curve.enclose(eps).log().exp()
            assert not value > line, (eps, later)


@pytest.mark.parametrize("profile", shapes(), ids=str)
def test_the_curve_falls_and_has_no_jumps(profile: Profile) -> None:
    """Non-increasing, below 1 at 0, and continuous where its pieces meet."""
    with precision(300):
        starts = [piece.start() for piece in profile.curve.pieces if callable(piece.start)]
        reach = starts[-1] if starts else arb(1)
        points = [(reach * k / 40).mid() for k in range(80)]
        logs = [profile.curve.enclose(point).log() for point in points]
        assert logs[0] < 0
        assert not any(later > earlier for earlier, later in pairwise(logs))
        for start in starts:
            gap = start * arb(2) ** -150
            left = profile.curve.enclose((start - gap).lower()).log()
            right = profile.curve.enclose((start + gap).upper()).log()
            assert abs(left - right) <= abs(left) * arb(2) ** -80 + arb(2) ** -80


def edge_factor(sigma: float) -> tuple[float, Fraction]:
    """The B at which the largest N is zero for A = 1, rounded up, and how much it is above."""
    with precision(400):
        kappa = ball(Fraction(repr(sigma))) ** 2
        t = (-1 + (1 + 8 * kappa).sqrt()) / (4 * kappa)
        factor = (-kappa * t * t).exp() * (1 + 2 * kappa * t * (1 + (-t).exp()))
        edge = 1 / factor
        B = float(edge)
        while not ball(Fraction(repr(B))) > edge:
            B = math.nextafter(B, 2)
        return B, Fraction(repr(B))


@pytest.mark.parametrize(
    ("sigma", "factor"),
    [
        # found by search: N is 4e-22 at most, and its two zeros 1e-11 apart
        (1.468549488886554, 0.3631344709920829),
        (1.8564200566037556, 0.29600560535299414),
        (2.5530105365468203, 0.22089148895266889),
    ],
)
def test_at_the_edge_of_its_shapes(sigma: float, factor: float) -> None:
    """Where crossing and touching point nearly coincide, the curve is the naive one all but there.

    The sign that tells the two apart needs more bits than a coarse tolerance brings along.
    """
    profile = profiles.SGDFamily(A=1, B=factor, sigma=sigma)
    for bits in (53, 96, 103, 128, 256, 512):
        with precision(bits):
            starts = [ball_of(piece.start) for piece in profile.curve.pieces]
            assert len(starts) == 3
            assert 0 < starts[1] < starts[2]
            assert starts[2] - starts[1] < arb(10) ** -9
    points = np.linspace(0, 2, 201)
    computed = np.asarray(profile.log_delta(points))
    assert computed == pytest.approx(math.log(factor) - (sigma * points) ** 2, rel=1e-12)


def ball_of(start: Any) -> arb:
    return start() if callable(start) else ball(start)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_next_to_the_edge(sigma: float) -> None:
    """A factor one float above the edge has three pieces, one clearly below it has one."""
    above, _ = edge_factor(sigma)
    assert len(profiles.SGDFamily(A=1, B=above, sigma=sigma).curve.pieces) == 3
    below = profiles.SGDFamily(A=1, B=above * (1 - 1e-12), sigma=sigma)
    assert len(below.curve.pieces) == 1


def test_breakpoints_are_enclosed_at_the_precision_in_force() -> None:
    """More bits give a tighter ball about the same number: 1.1878488995805… for (2, 1, 2)."""
    start = profiles.SGDFamily(A=2, B=1, sigma=2).curve.pieces[-1].start
    assert callable(start)
    for bits in (64, 256, 1024):
        with precision(bits):
            value = start()
            assert value.rel_accuracy_bits() > bits - 16
            assert abs(value - number("1.18784889958051")) < arb(10) ** -13


def test_known_values() -> None:
    """δ(0) of the literature's two examples."""
    assert profiles.SGDFamily(A=2, B=1, sigma=2).delta(0) == pytest.approx(0.646685089765508)
    assert profiles.ICEA(messages=20, users=4).delta(0) == pytest.approx(0.7454217, rel=1e-7)
