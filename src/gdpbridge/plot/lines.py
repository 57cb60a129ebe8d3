"""The one kind of chart: named lines over labelled axes, with marked points and rules."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gdpbridge.errors import InputError, Words
from gdpbridge.numeric.arrays import Floats
from gdpbridge.plot.labels import Canvas, places
from gdpbridge.plot.picture import Picture, charts
from gdpbridge.plot.style import COLOURS, CONFIG, INK, NEUTRAL, Style, dash_of
from gdpbridge.specification.title import number_text

__all__ = ["Point", "Rule", "Series", "Slider", "lines"]

_WIDTH, _HEIGHT = 480, 360
_STROKE, _FONT = 2.2, 12
_PADDED = re.compile(r"(?<=\d)e\+?(-?)0+(\d)")
# more names than these stand in a legend
_DIRECT = 4
# pixels from a point without a dot to its label
_BELOW = {True: 44, False: -9}
# of the width: where labels go to the left; within how much two labels would overlap
_RIGHT, _NEAR_X, _NEAR_Y = 0.6, 0.4, 0.06


@dataclass(frozen=True)
class Series:
    """A line.

    Attributes:
        name: what the legend calls it.
        x: where, of shape (n,).
        y: how high, of shape (n,); points that are not finite are left out.
        style: "solid", "dashed" or "dotted"; chosen to differ from the other lines if None.
        group: lines of one group share a colour; a line is its own group if None.
        step: whether y[i] holds on all of [x[i], x[i+1]).
        neutral: whether it is there for scale only: grey, and last in the legend.
        low: with ``high``, a band about the line that it is known to lie in.
        high: see ``low``.
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    style: Style | None = None
    group: str | None = None
    step: bool = False
    neutral: bool = False
    low: ArrayLike | None = None
    high: ArrayLike | None = None

    @classmethod
    def between(
        cls, name: str, x: ArrayLike, low: ArrayLike, high: ArrayLike, line: ArrayLike
    ) -> Series:
        """Return a line with a band about it, unless the band has no width."""
        if np.array_equal(low, high):
            return cls(name, x, line)
        return cls(name, x, line, low=low, high=high)

    def rows(self) -> list[dict[str, Any]]:
        """Return the finite points as plain data.

        Raises:
            InputError: if x and y differ in shape.
        """
        x, y = np.asarray(self.x, dtype=np.float64), np.asarray(self.y, dtype=np.float64)
        if x.ndim != 1 or x.shape != y.shape:
            raise InputError(
                "y", Words(f"of shape {y.shape}"), f"of the shape of x, {x.shape}, and flat"
            )
        columns = {"x": x, "y": y}
        if self.low is not None and self.high is not None:
            columns |= {"low": np.asarray(self.low), "high": np.asarray(self.high)}
        found = []
        for values in zip(*columns.values(), strict=True):
            row = {name: float(value) for name, value in zip(columns, values, strict=True)}
            if all(map(math.isfinite, row.values())):
                found.append({"name": self.name, **row})
        return found


@dataclass(frozen=True)
class Point:
    """A point with a label beside it: marked by a dot, or else above it or ``below`` it."""

    x: float
    y: float
    label: str
    dot: bool = True
    below: bool = False


@dataclass(frozen=True)
class Rule:
    """A thin line across the picture at ``x``, or else at ``y``, with a label.

    The label of a level line is above it, or else ``below`` it.
    """

    label: str
    x: float | None = None
    y: float | None = None
    below: bool = False


@dataclass(frozen=True)
class Slider:
    """A curve that moves with a parameter; in a still picture it stays at its start.

    Attributes:
        name: the parameter's name in formulas, and on the slider.
        start: its value at first.
        stop: its largest value.
        formula: y in terms of ``datum.x`` and the parameter, in Vega's language.
        prefix: what the legend calls the curve, before the parameter's value.
        suffix: what follows the value there.
        symbol: the parameter's symbol, beside the slider.
        x: where it is drawn.
        height: y at its start, for its name.
    """

    name: str
    start: float
    stop: float
    formula: str
    prefix: str
    suffix: str
    symbol: str
    x: ArrayLike
    height: Callable[[Any], ArrayLike]

    @property
    def label(self) -> str:
        """What the legend calls the curve at first."""
        return f"{self.prefix}{number_text(self.start)}{self.suffix}"


def lines(
    series: Sequence[Series],
    *,
    title: str,
    x_title: str,
    y_title: str,
    alt_text: str,
    log_x: bool = False,
    log_y: bool = False,
    x_domain: tuple[float, float] | None = None,
    y_domain: tuple[float, float] | None = None,
    points: Sequence[Point] = (),
    rules: Sequence[Rule] = (),
    slider: Slider | None = None,
    rates: bool = False,
) -> Picture:
    """Draw lines into one picture.

    Args:
        series: the lines, in the order of the legend.
        title: what the picture shows.
        x_title: what the horizontal axis shows, with its symbol.
        y_title: likewise upwards.
        alt_text: what the picture shows, in words.
        log_x: whether the horizontal axis is logarithmic; points at or below 0 are left out.
        log_y: likewise upwards.
        x_domain: the ends of the horizontal axis; as the lines need if None.
        y_domain: likewise upwards.
        points: points to mark.
        rules: lines across to mark.
        slider: a curve that moves with a parameter.
        rates: whether both axes are rates, in per cent where they are not tiny.

    Raises:
        InputError: for two lines of one name, or none.
        MissingExtraError: without the extra ``charts``.
    """
    alt, alt_text = charts(), _written(alt_text)
    names = [one.name for one in series]
    if len(set(names)) < len(names) or not names:
        raise InputError("series", names, "lines with different names, at least one")
    rows = [_rows(one, log_x=log_x, log_y=log_y) for one in series]
    direct = len(names) + (slider is not None) <= _DIRECT
    look = _Look(series, slider, legend=not direct)
    axes = {
        "x": alt.X("x:Q", title=x_title, **_axis(alt, log_x, x_domain, rates)),
        "y": alt.Y("y:Q", title=y_title, **_axis(alt, log_y, y_domain, rates)),
    }
    layers = [
        layer
        for one, data in zip(series, rows, strict=True)
        for layer in _layers(alt, one, data, axes, look)
    ]
    room = _Room(x_domain, y_domain)
    layers += [_rule(alt, rule, axes, room) for rule in rules]
    if slider is not None:
        layers.append(_moving(alt, slider, axes, look))
    if direct:
        canvas = _canvas(rows, x_domain, y_domain, log_x, log_y)
        layers += _names(alt, series, rows, slider, canvas, axes, look, rules)
    for point in sorted(points, key=lambda one: -one.y):
        layers += _marked(alt, point, axes, room)
    chart = (
        alt.layer(*layers)
        .properties(
            width=_WIDTH,
            height=_HEIGHT,
            title=_written(title),
            description=alt_text,
            padding={"left": 8, "right": 16, "top": 8, "bottom": 8},
            background="white",
        )
        .configure(**CONFIG)
    )
    beside = look.beside(slider) if direct else ()
    return Picture(chart, title, alt_text, tuple(row for data in rows for row in data), beside)


def _rows(series: Series, *, log_x: bool, log_y: bool) -> list[dict[str, Any]]:
    logs = [axis for axis, log in (("x", log_x), ("y", log_y)) if log]
    return [row for row in series.rows() if all(row[axis] > 0 for axis in logs)]


class _Look:
    """Which colour and dashes a name has, the same on the line and in the legend."""

    def __init__(self, series: Sequence[Series], slider: Slider | None, *, legend: bool) -> None:
        self.legend = legend
        own = [one for one in series if not one.neutral]
        groups = list(dict.fromkeys(one.group or one.name for one in own))
        self.names = [one.name for one in own]
        self.colours = [COLOURS[groups.index(one.group or one.name) % 7] for one in own]
        self.dashes = [dash_of(one.style, number) for number, one in enumerate(own)]
        self.label: str | None = None
        if slider is not None:
            name = json.dumps(slider.label)
            # the legend follows the slider
            moving = f"{json.dumps(slider.prefix)} + {slider.name} + {json.dumps(slider.suffix)}"
            self.label = f"datum.label == {name} ? {moving} : datum.label"
            self._add(slider.label, COLOURS[len(groups) % 7], dash_of(None, len(own)))
        for one in series:
            if one.neutral:
                self._add(one.name, NEUTRAL, dash_of("dotted", 0))

    def _add(self, name: str, colour: str, dashes: list[int]) -> None:
        self.names.append(name)
        self.colours.append(colour)
        self.dashes.append(dashes)

    def beside(self, slider: Slider | None) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """What stands beside the lines, where the moving one's name does not move."""
        still = {}
        if slider is not None:
            still = {slider.label: slider.prefix.removesuffix(" = ") + " of the slider"}
        texts = [_written(still.get(name, name)) for name in self.names]
        return tuple(zip(texts, self.colours, map(tuple, self.dashes), strict=True))

    def encoding(self, alt: Any) -> dict[str, Any]:
        # the two legends merge into one, as they are of the same field and alike
        legend = None
        if self.legend:
            label = self.label or "datum.label"
            plain = f"replace({label}, regexp('[Gδ]_μ, '), 'Gaussian curve, ')"
            legend = alt.Legend(labelExpr=plain)
        colours = alt.Scale(domain=self.names, range=self.colours)
        dashes = alt.Scale(domain=self.names, range=self.dashes)
        return {
            "color": alt.Color("name:N", scale=colours, legend=legend),
            "strokeDash": alt.StrokeDash("name:N", scale=dashes, legend=legend),
        }


def _layers(
    alt: Any, series: Series, rows: list[dict[str, Any]], axes: dict[str, Any], look: _Look
) -> list[Any]:
    base = alt.Chart(alt.Data(values=rows))
    shape = {"interpolate": "step-after"} if series.step else {}
    line = base.mark_line(strokeWidth=_STROKE, clip=True, **shape).encode(
        **axes, **look.encoding(alt), order="x:Q", tooltip=["name:N", "x:Q", "y:Q"]
    )
    if not rows or "low" not in rows[0]:
        return [line]
    colour = look.colours[look.names.index(series.name)]
    band = base.mark_area(color=colour, opacity=0.25, clip=True).encode(
        x=axes["x"], y=alt.Y("low:Q"), y2="high:Q"
    )
    return [band, line]


def _moving(alt: Any, slider: Slider, axes: dict[str, Any], look: _Look) -> Any:
    bind = alt.binding_range(min=0.01, max=slider.stop, step=0.01, name=f"{slider.symbol} ")
    parameter = alt.param(name=slider.name, value=slider.start, bind=bind)
    rows = [{"x": float(x), "name": slider.label} for x in np.asarray(slider.x)]
    return (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(y=slider.formula)
        .mark_line(strokeWidth=_STROKE, clip=True)
        .encode(**axes, **look.encoding(alt), order="x:Q")
        .add_params(parameter)
    )


class _Room:
    """Where labels go: to the left of a mark near the right edge, and not onto each other."""

    def __init__(
        self, x_domain: tuple[float, float] | None, y_domain: tuple[float, float] | None
    ) -> None:
        self._x, self._y = x_domain, y_domain
        self._taken: list[tuple[float, float]] = []

    def beside(self, x: float, distance: int) -> dict[str, Any]:
        """Return the alignment of a label beside a mark."""
        left = self._x is not None and x > self._x[0] + _RIGHT * (self._x[1] - self._x[0])
        return {"align": "right", "dx": -distance} if left else {"align": "left", "dx": distance}

    def above(self, x: float, y: float) -> int:
        """Return how far up a label goes: above its mark, and below it where one is already."""
        beside = [taken for taken in self._taken if self._is_near(taken, (x, y))]
        self._taken.append((x, y))
        return (-9, 14, -25, 30)[len(beside) % 4]

    def _is_near(self, one: tuple[float, float], other: tuple[float, float]) -> bool:
        if self._x is None or self._y is None:
            return False
        spans = (self._x[1] - self._x[0], self._y[1] - self._y[0])
        shares = [abs(a - b) / span for a, b, span in zip(one, other, spans, strict=True)]
        return shares[0] < _NEAR_X and shares[1] < _NEAR_Y


def _marked(alt: Any, point: Point, axes: dict[str, Any], room: _Room) -> list[Any]:
    base = alt.Chart(
        alt.Data(values=[{"x": point.x, "y": point.y, "label": _written(point.label)}])
    )
    dot = base.mark_point(filled=True, size=70, color="#000000", opacity=float(point.dot))
    down = room.above(point.x, point.y) if point.dot else _BELOW[point.below]
    place = {**room.beside(point.x, 9), "dy": down}
    text = base.mark_text(fontSize=_FONT, color="#222222", **place)
    return [dot.encode(**axes), text.encode(**axes, text="label:N")]


def _canvas(
    rows: Sequence[list[dict[str, Any]]],
    x_domain: tuple[float, float] | None,
    y_domain: tuple[float, float] | None,
    log_x: bool,
    log_y: bool,
) -> Canvas:
    every = [row for some in rows for row in some] or [{"x": 0.0, "y": 0.0}]
    ends = [
        domain or (min(row[axis] for row in every), max(row[axis] for row in every))
        for axis, domain in (("x", x_domain), ("y", y_domain))
    ]
    return Canvas(_WIDTH, _HEIGHT, ends[0], ends[1], log_x, log_y)


def _names(
    alt: Any,
    series: Sequence[Series],
    rows: Sequence[list[dict[str, Any]]],
    slider: Slider | None,
    canvas: Canvas,
    axes: dict[str, Any],
    look: _Look,
    rules: Sequence[Rule],
) -> list[Any]:
    """Write each name beside its line, and that of the moving curve with its parameter."""
    drawn = [(one.name, *_path(one, some)) for one, some in zip(series, rows, strict=True) if some]
    if slider is not None:
        x = np.asarray(slider.x, dtype=np.float64)
        drawn.append((slider.label, x, np.asarray(slider.height(x), dtype=np.float64)))
    texts = [_written(name) for name, _, _ in drawn]
    levels = [(rule.y, rule.label, rule.below) for rule in rules if rule.y is not None]
    found = places(texts, [(x, y) for _, x, y in drawn], canvas, levels)
    layers = []
    for number, ((name, _, _), text, place) in enumerate(zip(drawn, texts, found, strict=True)):
        colour = look.colours[look.names.index(name)]
        data = {"x": place.x, "y": place.y, "label": text}
        base = alt.Chart(alt.Data(values=[data]), name=f"beside_{number}")
        if slider is not None and name == slider.label:
            parts = (_written(slider.prefix), _written(slider.suffix))
            moving = f"{json.dumps(parts[0])} + {slider.name} + {json.dumps(parts[1])}"
            base = base.transform_calculate(y=slider.formula, label=moving)
        mark = base.mark_text(
            fontSize=_FONT, align="left", dx=place.dx, dy=place.dy, color=INK.get(colour, colour)
        )
        layers.append(mark.encode(**axes, text="label:N"))
    return layers


def _path(series: Series, rows: list[dict[str, Any]]) -> tuple[Floats, Floats]:
    """A line from point to point, with the corners of its steps."""
    x, y = (np.array([row[axis] for row in rows]) for axis in ("x", "y"))
    return (np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]) if series.step else (x, y)


def _written(name: str) -> str:
    """A text as it stands in the picture: 1e-6, and no subscript of G_μ, which no font has."""
    name = name.replace("G_μ, ", "Gaussian curve, ").replace("δ_μ, ", "Gaussian curve, ")
    return _plain(name)


def _plain(text: str) -> str:
    return _PADDED.sub(r"e\1\2", text)


def _rule(alt: Any, rule: Rule, axes: dict[str, Any], room: _Room) -> Any:
    where = "y" if rule.x is None else "x"
    base = alt.Chart(
        alt.Data(values=[{where: getattr(rule, where), "label": _written(rule.label)}])
    )
    mark = base.mark_rule(strokeDash=[3, 3], color="#555555", strokeWidth=1.2)
    if rule.x is not None:
        place = {**room.beside(rule.x, 4), "y": 8}
    else:
        end = {"expr": "width - 4"}
        place = {"align": "right", "dy": 10 if rule.below else -8, "x": end}
    encoding = {where: axes[where]}
    text = base.mark_text(fontSize=_FONT, color="#222222", **place)
    return alt.layer(mark.encode(**encoding), text.encode(**encoding, text="label:N"))


def _axis(alt: Any, log: bool, domain: tuple[float, float] | None, rate: bool) -> dict[str, Any]:
    options: dict[str, Any] = {} if domain is None else {"domain": list(domain), "nice": False}
    percent = "format(datum.value * 100, '~r') + ' %'"
    if not log:
        labels = (
            {"labelExpr": percent, "tickCount": 5} if rate else {"format": "~r", "tickCount": 7}
        )
        return {"scale": alt.Scale(**options), "axis": alt.Axis(**labels)}
    ticks: dict[str, Any] = {"tickCount": 8}
    if domain is not None:
        first, last = (round(math.log10(end)) for end in domain)
        every = 2 if last - first > 8 else 1
        ticks = {"values": [10.0**power for power in range(last, first - 1, -every)]}
    small = "format(datum.value, '~e')"
    words = (
        f"datum.value >= 0.001 ? {percent} : {small}"
        if rate
        else f"datum.value == 1 ? '1' : {small}"
    )
    return {"scale": alt.Scale(type="log", **options), "axis": alt.Axis(labelExpr=words, **ticks)}
