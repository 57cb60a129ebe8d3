"""Pictures over ε: privacy profiles beside Gaussian curves, and GDP transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.gaussian.curve import epsilon
from gdpbridge.gaussian.curve import mu as mu_at
from gdpbridge.identify import Verdict, identify
from gdpbridge.measure import Measurement, Statement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.plot.lines import Point, Rule, Series, lines
from gdpbridge.plot.mechanisms import Stated, grid, names_of, range_end, rounded_up
from gdpbridge.plot.picture import Picture

__all__ = ["gdpt", "profile"]

# δ at which a picture ends where no range is asked for
_SEEN, _SEEN_LOG = 5e-3, 1e-12
# the δ that a title speaks of
_QUOTED = 1e-5
_MOST = 20.0
_FAR = 100.0
# log plots end there
_LEAST = 1e-300


def profile(
    *profiles: Profile,
    mu: Sequence[Real] | Real = (),
    failure: Real = 0.0,
    eps_max: Real | None = None,
    log: bool = True,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw privacy profiles δ(ε) beside Gaussian curves δ_μ(ε).

    Args:
        *profiles: the mechanisms; where δ is only known between bounds, both are drawn.
        mu: values of μ in (0, 1000] whose curves are drawn too.
        failure: a failure probability p in [0, 1) of those curves.
        eps_max: the largest ε shown, in (0, 1e5]; where δ has almost vanished if None.
        log: whether δ is shown on a logarithmic scale, down to 1e-12.
        names: what the legend calls the mechanisms; their kinds and parameters if None.
        title: the title, if another one is wanted.

    Raises:
        InputError: for an argument outside its range, or nothing to draw.
        MissingExtraError: without the extra ``charts``.
    """
    stated, labels = Stated.checked(mu, failure), names_of(profiles, names)
    if not profiles and not stated.mus:
        raise InputError("profiles", Words("none"), Advice("give at least one mechanism or one μ"))
    end = range_end(profiles, stated.mus, eps_max, _SEEN_LOG if log else _SEEN, _MOST)
    eps = grid(profiles, end)
    series = [_profile(one, name, eps) for one, name in zip(profiles, labels, strict=True)]
    series += [
        Series(f"δ_μ, {stated.name(one)}", eps, stated.delta(eps, one)) for one in stated.mus
    ]
    if log:
        series = [_positive(one) for one in series]
    shown = ", ".join(one.name for one in series)
    scale = "logarithmic" if log else "linear"
    return lines(
        series,
        title=title or _title(profiles, stated),
        x_title="ε",
        y_title="δ(ε)",
        log_y=log,
        x_domain=(0.0, end),
        y_domain=(_SEEN_LOG, 1.0) if log else None,
        rules=_floors(profiles),
        alt_text=f"Privacy profiles δ(ε) for ε from 0 to {end:g}, δ on a {scale} scale: {shown}. "
        + " ".join(
            f"{one.name} starts at δ(0) ≤ {rounded_up(float(np.asarray(one.y)[0]))}."
            for one in series
        ),
    )


def _title(profiles: Sequence[Profile], stated: Stated) -> str:
    """Say where δ falls to the value that people quote most."""
    ends = [float(one.least_epsilon(_QUOTED)) for one in profiles]
    ends += [] if profiles else [float(epsilon(mu, _QUOTED)) for mu in stated.mus]
    if len(ends) > 3:
        return "Privacy profiles"
    found = [f"ε ≤ {rounded_up(end)}" if np.isfinite(end) else "no ε" for end in ends]
    return f"At δ = 1e-5: {' and '.join(found)}"


def _floors(profiles: Sequence[Profile]) -> list[Rule]:
    """Mark what δ does not fall below, which is why no μ covers every ε."""
    found = []
    for one in profiles:
        floor = float(one.delta(MAX_EPS))
        if floor > 0 and identify(one).verdict is Verdict.NOT_GDP:
            found.append(Rule(f"δ stays at {floor:.4g}: not GDP", y=floor, below=True))
    return found


def _profile(one: Profile, name: str, eps: np.ndarray) -> Series:
    low, high = one.curve.delta_range(eps)
    return Series.between(name, eps, low, high, high)


def _positive(one: Series) -> Series:
    kept = np.asarray(one.y) >= _LEAST
    x, y = np.asarray(one.x)[kept], np.asarray(one.y)[kept]
    if one.low is None or one.high is None:
        return replace(one, x=x, y=y)
    low = np.maximum(np.asarray(one.low)[kept], _LEAST)
    return replace(one, x=x, y=y, low=low, high=np.asarray(one.high)[kept])


def gdpt(
    *profiles: Profile,
    eps_max: Real | None = None,
    measured: Sequence[Measurement] | Measurement = (),
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw GDP transforms G(ε) = μ(ε, δ(ε)), whose supremum is the least μ.

    Args:
        *profiles: the mechanisms.
        eps_max: the largest ε shown, in (0, 1e5]; chosen if None.
        measured: answers of :func:`gdpbridge.measure`: the supremum of each is marked, with the
            end ε_h of a head and the tail parameter μ_t.
        names: what the legend calls the mechanisms; their kinds and parameters if None.
        title: the title, if another one is wanted.

    Raises:
        InputError: for an argument outside its range, or no mechanism.
        MissingExtraError: without the extra ``charts``.
    """
    if not profiles:
        raise InputError("profiles", Words("none"), Advice("give at least one mechanism"))
    labels = names_of(profiles, names)
    found = [measured] if isinstance(measured, Measurement) else list(measured)
    for one in found:
        if one.profile not in profiles:
            raise InputError("measured", one.profile.kind, "measurements of the mechanisms drawn")
    end = range_end(profiles, (), eps_max, 1e-6, _MOST)
    if eps_max is None:
        heads = [1.1 * one.eps_h for one in found if one.eps_h is not None and one.eps_h <= _FAR]
        # past the supremum, to show the rise after it
        places = [1.3 * one.attained_at for one in found if one.attained_at <= _FAR]
        end = max([end, *heads, *places])
    eps = grid(profiles, end)
    series = [Series(name, eps, one.gdpt(eps)) for one, name in zip(profiles, labels, strict=True)]
    series += [
        Series(_past_name(one, profiles, labels), eps, _past(one, eps), style="dashed")
        for one in found
        if one.statement is Statement.APPROXIMATE
    ]
    # whose a mark is, where there are several
    whose = [
        f"{labels[profiles.index(one.profile)]}: " if len(profiles) > 1 else "" for one in found
    ]
    points = [
        replace(mark, label=name + mark.label)
        for one, name in zip(found, whose, strict=True)
        for mark in [*_supremum(one, end), *_rise(one, end)]
    ]
    # an end of several heads is marked once, and is nobody's
    ends = [one.eps_h for one in found]
    rules = [
        replace(mark, label=("" if mark.x and ends.count(one.eps_h) > 1 else name) + mark.label)
        for one, name in zip(found, whose, strict=True)
        for mark in _head_and_tail(one, end)
    ]
    rules = list(dict.fromkeys(rules))
    endless = [
        f" {name or 'For this mechanism '}no finite μ covers every ε."
        for one, name in zip(found, whose, strict=True)
        if one.verdict is Verdict.NOT_GDP
    ]
    heights = np.concatenate([np.asarray(one.y) for one in series])
    heights = heights[np.isfinite(heights)]
    if not heights.size:
        raise InputError("profiles", ", ".join(labels), "mechanisms with δ(ε) < 1 for some ε shown")
    highest = float(heights.max())
    stated = [*(point.y for point in points), *(rule.y or 0.0 for rule in rules)]
    # a transform without end must not make all else flat
    highest = min(highest, 2 * max(stated)) if stated else highest
    highest = max([highest, *stated])
    labelled = [*(point.label for point in points), *(rule.label for rule in rules)]
    said = "".join(f" Marked: {label}." for label in labelled)
    return lines(
        series,
        title=title or _finding(found),
        x_title="ε",
        y_title="G(ε) = μ(ε, δ(ε))",
        x_domain=(0.0, end),
        y_domain=(0.0, 1.12 * highest or 1.0),
        points=points,
        rules=rules,
        alt_text=f"GDP transforms G(ε) for ε from 0 to {end:g}: "
        f"{', '.join(labels)}. The least μ is the supremum of the line over all ε ≥ 0, if that is "
        f"finite.{''.join(endless)}{said}",
    )


def _finding(found: Sequence[Measurement]) -> str:
    """Say what was measured, if it is one thing."""
    if len(found) != 1:
        return "The least μ is the highest point of G"
    (one,) = found
    if not np.isfinite(one.mu.upper):
        return "No μ covers what was asked for"
    least = f"μ ≤ {rounded_up(one.mu.upper, 6)}"
    if one.statement is Statement.WHOLE:
        return f"{least} covers every ε"
    if one.statement is Statement.HEAD:
        return f"{least} covers ε up to {one.eps_h:g}"
    return f"{least}, but for a failure of probability {one.failure_probability:.4g}"


def _past_name(found: Measurement, profiles: Sequence[Profile], labels: Sequence[str]) -> str:
    whose = f" of {labels[profiles.index(found.profile)]}" if len(profiles) > 1 else ""
    return f"with p taken off, p = {found.failure_probability:.4g}{whose}"


def _past(found: Measurement, eps: np.ndarray) -> np.ndarray:
    """Return μ(ε, (δ - p)/(1 - p)), where there is anything past p."""
    p = found.failure_probability
    left = (np.asarray(found.profile.delta(eps)) - p) / (1 - p)
    # what is left of p itself is rounding
    return np.where(left > 1e-9 * p, mu_at(eps, delta=np.maximum(left, 0.0)), np.nan)


def _supremum(found: Measurement, end: float) -> list[Point]:
    high = found.mu.upper
    if not np.isfinite(high) or not found.attained_at <= end:
        return []
    if found.statement is Statement.APPROXIMATE:
        label = f"μ ≤ {rounded_up(high, 6)} with p = {found.failure_probability:.4g}"
        return [Point(found.attained_at, high, label)]
    return [Point(found.attained_at, high, f"sup G ≤ {rounded_up(high, 6)}")]


def _rise(found: Measurement, end: float) -> list[Point]:
    """Say where G goes on, where it rises at the end of the picture."""
    # over the room that the label takes
    heights = np.asarray(found.profile.gdpt(np.linspace(0.6 * end, end, 41)))
    last, tail = float(heights[-1]), found.mu_tail
    rises = heights[-2] < last and found.statement is Statement.APPROXIMATE
    if tail is None or not rises:
        return []
    whither = f"rises on, to {tail.upper:.4g}" if np.isfinite(tail.upper) else "rises on: not GDP"
    under = bool(heights.max() > last)
    return [Point(end, last, whither, dot=False, below=under)]


def _head_and_tail(found: Measurement, end: float) -> list[Rule]:
    rules = []
    if found.eps_h is not None and found.eps_h <= end:
        rules.append(Rule(f"the head ends at ε = {found.eps_h:g}", x=found.eps_h))
    tail = found.mu_tail
    if tail is not None and 0 < tail.upper < 3 * max(found.mu.upper, 1e-300):
        rules.append(Rule(f"the tail parameter, {tail.upper:.4g}", y=tail.upper, below=True))
    return rules
