"""Pictures over ε: privacy profiles beside Gaussian curves, and GDP transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.identify import Verdict
from gdpbridge.measure import Measurement, Statement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.plot.lines import Point, Rule, Series, lines
from gdpbridge.plot.mechanisms import Stated, grid, names_of, range_end, rounded_up
from gdpbridge.plot.picture import Picture

__all__ = ["gdpt", "profile"]

# δ at which a picture ends where no range is asked for
_SEEN, _SEEN_LOG = 5e-3, 1e-12
_MOST = 20.0
_FAR = 100.0
# log plots end there
_LEAST = 1e-300


def profile(
    *profiles: Profile,
    mu: Sequence[Real] | Real = (),
    failure: Real = 0.0,
    eps_max: Real | None = None,
    log: bool = False,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw privacy profiles δ(ε) beside Gaussian curves δ_μ(ε).

    Args:
        *profiles: the mechanisms; where δ is only known between bounds, both are drawn.
        mu: values of μ in (0, 1000] whose curves are drawn too.
        failure: a failure probability p in [0, 1) of those curves.
        eps_max: the largest ε shown, in (0, 1e5]; where δ has almost vanished if None.
        log: whether δ is shown on a logarithmic scale.
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
        title=title or "Privacy profiles",
        x_title="ε",
        y_title="δ(ε)" if not log else "δ(ε), logarithmic",
        log_y=log,
        x_domain=(0.0, end),
        y_domain=(_SEEN_LOG, 1.0) if log else None,
        alt_text=f"Privacy profiles δ(ε) for ε from 0 to {end:g}, δ on a {scale} scale: {shown}. "
        + " ".join(
            f"{one.name} starts at δ(0) ≤ {rounded_up(float(np.asarray(one.y)[0]))}."
            for one in series
        ),
    )


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
        end = max([end, *heads])
    eps = grid(profiles, end)
    series = [Series(name, eps, one.gdpt(eps)) for one, name in zip(profiles, labels, strict=True)]
    # whose a mark is, where there are several
    whose = [
        f"{labels[profiles.index(one.profile)]}: " if len(profiles) > 1 else "" for one in found
    ]
    points = [
        replace(mark, label=name + mark.label)
        for one, name in zip(found, whose, strict=True)
        for mark in _supremum(one, end)
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
    highest = max([highest, *(point.y for point in points), *(rule.y or 0.0 for rule in rules)])
    labelled = [*(point.label for point in points), *(rule.label for rule in rules)]
    said = "".join(f" Marked: {label}." for label in labelled)
    return lines(
        series,
        title=title or "GDP transforms",
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


def _supremum(found: Measurement, end: float) -> list[Point]:
    if found.statement is Statement.APPROXIMATE or not found.attained_at <= end:
        return []
    high = found.mu.upper
    if not np.isfinite(high):
        return []
    return [Point(found.attained_at, high, f"sup G ≤ {rounded_up(high, 6)}")]


def _head_and_tail(found: Measurement, end: float) -> list[Rule]:
    rules = []
    if found.statement is Statement.APPROXIMATE:
        label = f"μ ≤ {rounded_up(found.mu.upper, 6)} with p = {found.failure_probability:.4g}"
        rules.append(Rule(label, y=found.mu.upper))
    if found.eps_h is not None and found.eps_h <= end:
        rules.append(Rule(f"ε_h = {found.eps_h:g}, the end of the head", x=found.eps_h))
    tail = found.mu_tail
    if tail is not None and 0 < tail.upper < 3 * max(found.mu.upper, 1e-300):
        rules.append(Rule(f"μ_t = {tail.upper:.4g}, the tail parameter", y=tail.upper, below=True))
    return rules
