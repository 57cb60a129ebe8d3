"""The picture of a plan: one number of each setting, over what varies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gdpbridge.errors import InputError, Words
from gdpbridge.interval import Interval
from gdpbridge.planning import PlanRow
from gdpbridge.plot.lines import Point, Series, lines
from gdpbridge.plot.picture import Picture
from gdpbridge.specification.title import number_text

__all__ = ["SHOWN", "plan"]

# a range that is wider than this is logarithmic
_WIDE = 20.0
# what may be shown, in words; the first is what training feels
SHOWN = {
    "noise_per_sample": "noise per sample σ/(q·records)",
    "noise_multiplier": "noise multiplier σ",
    "steps": "steps T",
    "mu": "μ at most",
    "epsilon": "ε at most",
    "advantage": "attacker's advantage at most",
}


def plan(found: Sequence[PlanRow], show: str | None = None, *, title: str | None = None) -> Picture:
    """Draw one number of a plan's settings over the first parameter that varies.

    Args:
        found: the plan (:class:`gdpbridge.Plan`), of settings in which something varies.
        show: "noise_per_sample", "noise_multiplier", "steps", "mu", "epsilon" or "advantage"; the
            first that the plan has if None.
        title: the title, if another one is wanted.

    Raises:
        InputError: for a plan of one setting, or a number that it has not.
        MissingExtraError: without the extra ``charts``.
    """
    rows = [row for row in found if row.error is None]
    if len(rows) < 2 or not rows[0].given:
        raise InputError("plan", Words("of one setting"), "a plan in which a parameter varies")
    has = [name for name in SHOWN if _value(rows[0], name) is not None]
    if show is not None and show not in has:
        raise InputError("show", show, f"one of {', '.join(has)}")
    shown = show or has[0]
    over = next(iter(rows[0].given))
    best = min(rows, key=lambda row: _value(row, shown) or 0.0)
    least, *others = dict.fromkeys(
        number_text(float(f"{_value(row, shown):.4g}")) for row in (best, *rows)
    )
    place = float(best.given[over])
    words = f"with {over.replace('_', ' ')} {number_text(place)}"
    name, bound, _ = SHOWN[shown].partition(" at most")
    # all alike where it is the target
    told = f"Least {name}: {least}, {words}" if others else f"{name}{bound} {least} in each setting"
    xs = [float(row.given[over]) for row in rows]
    log = min(xs) > 0 and max(xs) / min(xs) > _WIDE
    return lines(
        [_series(name, group, over, shown) for name, group in _groups(rows, over).items()],
        title=title or told,
        x_title=over.replace("_", " "),
        y_title=SHOWN[shown],
        log_x=log,
        x_domain=(min(xs), max(xs)),
        points=[Point(place, float(least), "")] if others else [],
        alt_text=f"{SHOWN[shown]} of {len(rows)} settings over {over.replace('_', ' ')}; the least "
        f"is {least}, {words if others else 'in each'}.",
    )


def _value(row: PlanRow, name: str) -> float | None:
    value = getattr(row, name)
    if isinstance(value, Interval):
        return value.upper
    return None if value is None else float(value)


def _groups(rows: Iterable[PlanRow], over: str) -> dict[str, list[PlanRow]]:
    """The settings that differ in one parameter alone, by what the others are."""
    found: dict[str, list[PlanRow]] = {}
    for row in rows:
        rest = [
            f"{name.replace('_', ' ')} {value}" for name, value in row.given.items() if name != over
        ]
        found.setdefault(", ".join(rest) or "each setting meets the target", []).append(row)
    return found


def _series(name: str, rows: list[PlanRow], over: str, shown: str) -> Series:
    ordered = sorted(rows, key=lambda row: float(row.given[over]))
    x = np.array([float(row.given[over]) for row in ordered])
    return Series(name, x, np.array([_value(row, shown) for row in ordered], dtype=np.float64))
