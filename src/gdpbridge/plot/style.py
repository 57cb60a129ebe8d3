"""How lines look: told apart by colour, and by dashes where there is no colour."""

from __future__ import annotations

from typing import Any, Literal

__all__ = ["COLOURS", "CONFIG", "DASHES", "NEUTRAL", "Style", "dash_of"]

Style = Literal["solid", "dashed", "dotted"]

# Okabe and Ito (2008), which people with any colour vision can tell apart, from dark to light
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
# of a line that is there for scale only
NEUTRAL = "#777777"
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
