"""The paper's figures, drawn from profiles of this library; the paper's own data is not given.

Where the paper does not say for what it drew a figure (the mechanism of its staircases, the ε and
the γ of its appendix), the captions say what was chosen here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gdpbridge.compare import compare
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.gaussian import GDP
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.paper.examples import (
    EXAMPLES,
    RATES,
    REPEATED_EPSILON,
    TIMES,
    cloak,
    laplace,
    naive_cloak,
    naive_sgd,
    sampled,
    sgd,
)
from gdpbridge.plot import Picture, Series, gdpt, lines, profile, staircase

__all__ = ["FIGURES", "Figure"]

# where nothing is to be seen any more of δ, and where the tails of GDPTs show
_HEAD, _TAIL = 4.0, 10.0
_WIDTHS = (0.5, 0.2, 0.05)
_PURE = (0.5, 1.0, 2.0)
_MU = 2.0
_LEAST_DELTA, _MOST_EPS = 1e-6, 30.0


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Attributes:
        name: the name of its files.
        where: which figure of the paper it is.
        caption: what it shows.
        draw: draws it.
    """

    name: str
    where: str
    caption: str
    draw: Callable[[], Picture]


def _naive_and_refined() -> Picture:
    eps = np.linspace(0.0, _HEAD, 401)
    shown: list[tuple[str, Profile, str]] = [
        ("Laplace", laplace(), "Laplace"),
        ("SGD, refined", sgd(), "SGD"),
        ("SGD, naive", naive_sgd(), "SGD"),
        ("ICEA, refined", cloak(), "ICEA"),
        ("ICEA, naive", naive_cloak(), "ICEA"),
    ]
    series = [
        Series(
            name,
            eps,
            one.delta(eps),
            style="dashed" if name.endswith("naive") else "solid",
            group=group,
        )
        for name, one, group in shown
    ]
    starts = "; ".join(f"{one.name} {np.asarray(one.y)[0]:.4g}" for one in series)
    return lines(
        series,
        title="Privacy profiles, naive and refined",
        x_title="ε",
        y_title="δ(ε)",
        x_domain=(0.0, _HEAD),
        y_domain=(0.0, 1.0),
        alt_text=f"Privacy profiles δ(ε) for ε from 0 to {_HEAD:g}. At ε = 0 they are: {starts}. "
        "The naive ones lie above the refined ones near 0 and join them further on.",
    )


def _beside_gaussian() -> Picture:
    return profile(
        *(one() for one in EXAMPLES.values()),
        mu=(1, 2, 4),
        eps_max=_HEAD,
        names=list(EXAMPLES),
        title="Privacy profiles beside Gaussian curves",
    )


def _transforms() -> Picture:
    return gdpt(
        *(one() for one in EXAMPLES.values()),
        eps_max=_TAIL,
        names=list(EXAMPLES),
        title="GDP transforms of the three examples",
    )


def _stairs() -> Picture:
    return staircase(
        sgd(),
        eps_max=_HEAD,
        widths=_WIDTHS,
        names=["SGD"],
        title="Staircases about the GDP transform of SGD",
    )


def _methods() -> Picture:
    deltas = np.geomspace(0.1, _LEAST_DELTA, 26)
    found = compare(REPEATED_EPSILON, TIMES, [float(f"{one:.6g}") for one in deltas])
    series = [
        Series(row.name, np.array([eps.upper for eps in row.epsilons]), np.array(found.deltas))
        for row in found.rows
    ]
    ends = "; ".join(f"{one.name} {np.asarray(one.x)[-1]:.4g}" for one in series)
    return lines(
        series,
        title=f"Guarantees for {TIMES} mechanisms, each {REPEATED_EPSILON:g}-DP",
        x_title="ε",
        y_title="δ, logarithmic",
        log_y=True,
        x_domain=(0.0, _MOST_EPS),
        y_domain=(_LEAST_DELTA, 0.1),
        alt_text=f"δ against ε by seven theorems, δ from 0.1 to {_LEAST_DELTA:g}. The ε at the "
        f"smallest δ: {ends}.",
    )


def _pure_and_laplace() -> Picture:
    eps = np.linspace(0.0, max(_PURE), 401)
    series = []
    for eps0 in _PURE:
        group = f"{eps0:g}-DP"
        pure, noise = PureDP(epsilon=eps0), Laplace(scale=1, sensitivity=eps0)
        series += [
            Series(f"all {group}", eps, pure.gdpt(eps), style="dashed", group=group),
            Series(f"Laplace, {group}", eps, noise.gdpt(eps), style="solid", group=group),
        ]
    starts = "; ".join(f"{one.name} {np.asarray(one.y)[0]:.4g}" for one in series)
    return lines(
        series,
        title="GDP transforms of pure DP and of Laplace",
        x_title="ε",
        y_title="G(ε)",
        x_domain=(0.0, max(_PURE)),
        alt_text=f"GDP transforms for ε from 0 to {max(_PURE):g}, which start at: {starts}. Each "
        "falls to 0 at the ε it is named after; Laplace lies below.",
    )


def _samples(one: Callable[[], Profile], title: str, eps_max: float) -> Picture:
    rates = (1.0, *RATES)
    return gdpt(
        *(one() if rate == 1 else sampled(one(), rate) for rate in rates),
        eps_max=eps_max,
        names=[f"γ = {rate:g}" for rate in rates],
        title=f"GDP transforms of {title}, sampled at rate γ",
    )


def _gaussian() -> Profile:
    return GDP(mu=_MU)


_SAMPLED = "The rates drawn are 1, 0.5, 0.25 and 0.1"

FIGURES = (
    Figure(
        "figure-1-left",
        "figure 1, left",
        "Privacy profiles of the three examples; those of SGD and ICEA as the inverted trade-off "
        "gives them (naive), and with what each pair implies for smaller ε (refined).",
        _naive_and_refined,
    ),
    Figure(
        "figure-1-right",
        "figure 1, right",
        "The profiles beside the Gaussian curves δ_μ for μ = 1, 2 and 4, all of which the text "
        "speaks of.",
        _beside_gaussian,
    ),
    Figure(
        "figure-2-left",
        "figure 2, left",
        "GDP transforms of the three examples: 0 from ε = 2 on for Laplace, towards √½ for SGD, "
        "growing without bound for ICEA.",
        _transforms,
    ),
    Figure(
        "figure-2-right",
        "figure 2, right",
        "Staircases about a GDP transform for three widths d of a step, paired as the staircase "
        "theorem says. SGD was chosen here, and the widths too.",
        _stairs,
    ),
    Figure(
        "figure-3",
        "figure 3",
        "The least ε for each δ by the methods of table 1. “Optimal” is exact.",
        _methods,
    ),
    Figure(
        "figure-laplace",
        "appendix, GDP transforms of ε-DP and Laplace",
        "GDP transforms of what ε₀-DP alone promises, and of the Laplace mechanism with the same "
        "ε₀; the values of ε₀ were chosen here.",
        _pure_and_laplace,
    ),
    Figure(
        "figure-sampled-laplace",
        "appendix, sampling, Laplace",
        f"{_SAMPLED}; Poisson sampling, for add-remove neighbours.",
        partial(_samples, laplace, "Laplace", 2.0),
    ),
    Figure(
        "figure-sampled-sgd",
        "appendix, sampling, SGD",
        f"{_SAMPLED}; Poisson sampling, if the guarantee is one for add-remove neighbours.",
        partial(_samples, sgd, "SGD", _TAIL),
    ),
    Figure(
        "figure-sampled-icea",
        "appendix, sampling, ICEA",
        f"{_SAMPLED}. The guarantee of ICEA is one for replace-one neighbours, where the sample "
        "must be one of a fixed size, without replacement: the formula is the same.",
        partial(_samples, cloak, "ICEA", _TAIL),
    ),
    Figure(
        "figure-sampled-gaussian",
        "appendix, sampling, δ_μ",
        f"{_SAMPLED}; μ = {_MU:g} was chosen here; Poisson sampling, for add-remove neighbours.",
        partial(_samples, _gaussian, f"the {_MU:g}-GDP curve", _TAIL),
    ),
)
