"""How lines look: told apart by colour, and by dashes where there is no colour."""

from __future__ import annotations

from typing import Any, Literal

__all__ = ["COLOURS", "CONFIG", "DARK", "DASHES", "INK", "NEUTRAL", "Style", "dash_of"]

Style = Literal["solid", "dashed", "dotted"]

# Okabe and Ito (2008), which people with any colour vision can tell apart, from dark to light
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
# of a line that is there for scale only
NEUTRAL = "#777777"
# a name is written in its line's colour, darker where that is too light to read
INK = {"#cc79a7": "#a0457a", "#56b4e9": "#1c6fa5", "#e69f00": "#8f6200", NEUTRAL: "#666666"}
# what each colour is on a dark page
_ON_DARK = {
    "#000000": "#ffffff",
    "#222222": "#e8eaed",
    "#555555": "#a9b1bb",
    "#666666": "#b4bbc4",
    NEUTRAL: "#b4bbc4",
    "#e6e6e6": "#3a4149",
    "#0072b2": "#6cb8f0",
    "#d55e00": "#ff9d5c",
    "#009e73": "#4fd1a5",
    "#a0457a": "#e59cc6",
    "#1c6fa5": "#7cc8f5",
    "#8f6200": "#f0bd4b",
}
# style sheet for pages that hold pictures as SVG: a dark page has light lines
DARK = "\n".join(
    [
        "@media (prefers-color-scheme: dark) {",
        "  svg > rect[fill='white'] { fill: transparent; }",
        *(
            f"  svg [{ink}='{light}'] {{ {ink}: {dark}; }}"
            for light, dark in _ON_DARK.items()
            for ink in ("stroke", "fill")
        ),
        "}\n",
    ]
)
# a line's dashes where no style is asked for
DASHES: tuple[tuple[int, ...], ...] = (
    (),
    (9, 4),
    (2, 3),
    (9, 3, 2, 3),
    (5, 3),
    (14, 4),
    (14, 3, 2, 3, 2, 3),
)
_STYLES: dict[Style, tuple[int, ...]] = {"solid": (), "dashed": (8, 4), "dotted": (2, 3)}

CONFIG: dict[str, Any] = {
    "font": "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "gridColor": "#e6e6e6",
        "domainColor": "#555555",
        "tickColor": "#555555",
        "labelColor": "#222222",
        "titleColor": "#222222",
        "titlePadding": 8,
    },
    "legend": {
        "labelFontSize": 12,
        "labelColor": "#222222",
        "labelLimit": 420,
        "symbolSize": 700,
        "symbolStrokeWidth": 2.4,
        "orient": "bottom",
        "direction": "vertical",
        "title": None,
    },
    "title": {"fontSize": 15, "fontWeight": "bold", "anchor": "start", "color": "#222222"},
}


def dash_of(style: Style | None, number: int) -> list[int]:
    """Return the dashes of a line of a style, or of the line so numbered."""
    if style is not None:
        return list(_STYLES[style])
    # after seven lines the colours come again, with other dashes
    return list(DASHES[(number + number // len(COLOURS)) % len(DASHES)])
