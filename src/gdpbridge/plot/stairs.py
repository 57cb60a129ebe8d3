"""The staircases between which the source paper's methods catch a GDP transform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gdpbridge.errors import InputError
from gdpbridge.gaussian.kernels import mu_from_logs
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.plot.lines import Series, lines
from gdpbridge.plot.mechanisms import grid, names_of, range_end
from gdpbridge.plot.picture import Picture
from gdpbridge.plot.style import Style

__all__ = ["WIDTHS", "staircase"]

WIDTHS = (0.5, 0.2, 0.05)
_MOST_STEPS = 20_000


def staircase(
    profile: Profile,
    *,
    eps_max: Real | None = None,
    widths: Sequence[Real] = WIDTHS,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw a GDP transform between its staircases G⁺ and G⁻ for some widths d of a step.

    On [i·d, (i+1)·d), G⁺ is μ((i+1)·d, δ(i·d)) and G⁻ is μ(i·d, δ((i+1)·d)) (Liu, Sun, Jiang and
    Kong 2022, staircase theorem).

    Args:
        profile: the mechanism.
        eps_max: the end of the head, in (0, 1e5]; chosen if None.
        widths: widths d > 0 of a step.
        names: what the legend calls the mechanism, one name; kind and parameters if None.
        title: the title, if another one is wanted.

    Raises:
        InputError: for an argument outside its range.
        MissingExtraError: without the extra ``charts``.
    """
    (label,) = names_of([profile], names)
    end = range_end([profile], (), eps_max, 2e-3, 20.0)
    eps = grid([profile], end)
    series = [Series(f"G, {label}", eps, profile.gdpt(eps), "solid")]
    gaps, finest = [], ""
    for width in sorted({_checked(width, end) for width in widths}, reverse=True):
        steps = int(np.ceil(end / width - 1e-9))
        places = np.asarray(width * np.arange(steps + 1), dtype=np.float64)
        logs, rests = profile.curve.logs(places)
        upper = mu_from_logs(places[1:], logs[:-1], rests[:-1])
        lower = mu_from_logs(places[:-1], logs[1:], rests[1:])
        group = f"d = {width:g}"
        series += [
            _stairs(f"upper staircase, {group}", places, upper, "dashed", group),
            _stairs(f"lower staircase, {group}", places, lower, "dotted", group),
        ]
        finest = f"Steps of {width:g} place μ between {lower.max():.4g} and {upper.max():.4g}"
        gaps.append(f"for {group} their maxima are {lower.max():.4g} and {upper.max():.4g}")
    return lines(
        series,
        title=title or finest,
        x_title="ε",
        y_title="μ",
        x_domain=(0.0, end),
        alt_text=f"The GDP transform of {label} for ε from 0 to {end:g} between staircases: "
        f"{'; '.join(gaps)}.",
    )


def _stairs(
    name: str, places: NDArray[np.float64], values: NDArray[np.float64], style: Style, group: str
) -> Series:
    # the last step is drawn to its end
    return Series(name, places, np.append(values, values[-1]), style, group, step=True)


def _checked(width: Real, end: float) -> float:
    allowed = f"numbers > 0, at most {end:g} and at least {end / _MOST_STEPS:g}"
    found = float(exact_between("widths", width, 0, None, allowed))
    if not end / _MOST_STEPS <= found <= end:
        raise InputError("widths", width, allowed)
    return found
