"""Pictures of the attacker's test: trade-off functions, and what they allow at low error rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gdpbridge.curves.tradeoff import errors_range
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.arrays import Floats
from gdpbridge.numeric.checked import Real
from gdpbridge.plot.lines import Series, Slider, lines
from gdpbridge.plot.mechanisms import Stated, names_of, rounded_down, rounded_up
from gdpbridge.plot.picture import Picture

__all__ = ["attack", "tradeoff"]


_POINTS = 201
_LOWEST = 1e-6
# a chord may lie so far above a function in a picture; cells are halved so often for it
_CHORD = 2e-4
_CLOSER = 8
# the false-positive rate that words speak of
_SPOKEN_OF = 1e-3
_CHANCE = "chance alone"
_MISSES = "At 10 % false alarms an attack misses at least"
_FINDS = "At 0.1 % false alarms an attack finds at most"
# KEPT·Φ(Φ⁻¹(1 - x/KEPT) - μ) in Vega's words, KEPT being 1 - p
_FORMULA = (
    "datum.x <= 0 ? KEPT : datum.x >= KEPT ? 0 : "
    "KEPT * cumulativeNormal(-quantileNormal(datum.x / KEPT) - mu)"
)
_SLIDER_STOP = 6.0


def tradeoff(
    *profiles: Profile,
    mu: Sequence[Real] | Real = (),
    failure: Real = 0.0,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw trade-off functions f(α): the attacker's least type II error at each type I error.

    In HTML a slider moves the Gaussian curve of a μ of one's choice.

    Args:
        *profiles: the mechanisms; where δ is only known between bounds, both are drawn.
        mu: values of μ in (0, 1000] whose Gaussian curves are drawn too; the last one moves with
            the slider.
        failure: a failure probability p in [0, 1) of those curves.
        names: what the legend calls the mechanisms; their kinds and parameters if None.
        title: the title, if another one is wanted.

    Raises:
        InputError: for an argument outside its range, or nothing to draw.
        MissingExtraError: without the extra ``charts``.
    """
    stated, labels = _checked(profiles, mu, failure, names)
    alpha = _close(profiles)
    series = [_function(one, name, alpha) for one, name in zip(profiles, labels, strict=True)]
    series += [
        Series(f"G_μ, {stated.name(one)}", alpha, stated.beta(alpha, one))
        for one in stated.mus[:-1]
    ]
    series.append(Series(_CHANCE, alpha, 1 - alpha, neutral=True))
    slider = None
    if stated.mus:
        start = stated.mus[-1]
        stop = max(_SLIDER_STOP, float(np.ceil(start)))
        formula = _FORMULA.replace("KEPT", repr(1 - stated.failure))
        slider = Slider(
            "mu",
            start,
            stop,
            formula,
            "G_μ, μ = ",
            stated.with_failure,
            "μ",
            alpha,
            lambda at: stated.beta(at, start),
        )
    return lines(
        series,
        rates=True,
        title=title or _title(series, labels, _MISSES, 0.1),
        x_title="false alarms: type I error α",
        y_title="missed: type II error β = f(α)",
        x_domain=(0.0, 1.0),
        y_domain=(0.0, 1.0),
        slider=slider,
        alt_text="The attacker's least type II error at each type I error: "
        f"{', '.join([*labels, *map(stated.name, stated.mus)])}. The higher the line, the better "
        f"the protection; the diagonal is chance. {_crossings(series)}",
    )


def _close(profiles: Sequence[Profile]) -> Floats:
    """Return the α to draw at: closely at the ends, and where a function has a corner."""
    alpha = np.append(np.sin(np.linspace(0, np.pi / 2, _POINTS)) ** 2, 0.1)
    alpha = np.unique(alpha)
    for one in profiles:
        for _ in range(_CLOSER):
            f = np.asarray(one.tradeoff(alpha))
            slope = np.diff(f) / np.diff(alpha)
            # a convex function lies above the lines through the cells beside
            bend = np.minimum(slope[1:-1] - slope[:-2], slope[2:] - slope[1:-1])
            wide = np.flatnonzero(bend * np.diff(alpha)[1:-1] / 2 > _CHORD) + 1
            if not wide.size:
                break
            alpha = np.unique(np.append(alpha, (alpha[wide] + alpha[wide + 1]) / 2))
    return alpha


def attack(
    *profiles: Profile,
    mu: Sequence[Real] | Real = (),
    failure: Real = 0.0,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw the attacker's view: the best true-positive rate at each false-positive rate.

    Both rates are logarithmic, as an attack is dangerous where it is right with few false alarms.

    Args:
        *profiles: the mechanisms.
        mu: values of μ in (0, 1000] whose Gaussian curves are drawn too.
        failure: a failure probability p in [0, 1) of those curves.
        names: what the legend calls the mechanisms; their kinds and parameters if None.
        title: the title, if another one is wanted.

    Raises:
        InputError: for an argument outside its range, or nothing to draw.
        MissingExtraError: without the extra ``charts``.
    """
    stated, labels = _checked(profiles, mu, failure, names)
    alpha = np.unique(np.append(np.geomspace(_LOWEST, 1.0, _POINTS), _SPOKEN_OF))
    series = [
        Series(name, alpha, 1 - np.asarray(one.tradeoff(alpha)))
        for one, name in zip(profiles, labels, strict=True)
    ]
    series += [
        Series(f"G_μ, {stated.name(one)}", alpha, stated.power(alpha, one)) for one in stated.mus
    ]
    series.append(Series(_CHANCE, alpha, alpha, neutral=True))
    rates = "; ".join(f"{one.name}: {rounded_up(_at(one, _SPOKEN_OF))}" for one in series)
    return lines(
        series,
        rates=True,
        title=title or _title(series, labels, _FINDS, _SPOKEN_OF),
        x_title="false-positive rate α",
        y_title="true-positive rate 1 - f(α)",
        log_x=True,
        log_y=True,
        x_domain=(_LOWEST, 1.0),
        y_domain=(_LOWEST, 1.0),
        alt_text="The attacker's best true-positive rate at each false-positive rate. At a "
        f"false-positive rate of 0.001 it is at most: {rates}.",
    )


def _checked(
    profiles: Sequence[Profile],
    mu: Sequence[Real] | Real,
    failure: Real,
    names: Sequence[str] | None,
) -> tuple[Stated, list[str]]:
    stated = Stated.checked(mu, failure)
    if not profiles and not stated.mus:
        raise InputError("profiles", Words("none"), Advice("give at least one mechanism or one μ"))
    return stated, names_of(profiles, names)


def _function(one: Profile, name: str, alpha: Floats) -> Series:
    low, high = errors_range(one.curve, alpha)
    return Series.between(name, alpha, low, high, low)


def _crossings(series: Sequence[Series]) -> str:
    """Say for each line the β at α = 0.1."""
    # 0.1 is among the points
    parts = [f"{one.name}: {rounded_down(_at(one, 0.1))}" for one in series]
    return f"At α = 0.1, β is at least: {'; '.join(parts)}."


def _title(series: Sequence[Series], labels: Sequence[str], words: str, at: float) -> str:
    """Say what the mechanisms give an attacker: errors rounded down, success up."""
    rounded = rounded_up if words == _FINDS else rounded_down
    shown = [one for one in series if one.name in labels] or list(series[:1])
    if len(shown) > 3:
        return "What an attack misses and finds"
    found = [f"{float(rounded(_at(one, at), 3)) * 100:.3g} %" for one in shown]
    return f"{words} {' and '.join(found)}"


def _at(series: Series, x: float) -> float:
    return float(np.interp(x, np.asarray(series.x), np.asarray(series.y)))
