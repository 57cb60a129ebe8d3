"""Table 1: the least ε that seven theorems give for fifty 0.2-DP mechanisms."""

from __future__ import annotations

from functools import cache, partial

from gdpbridge.compare import DELTAS, Comparison, compare
from gdpbridge.convert import delta_at
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import ceiling_to_places, exact
from gdpbridge.paper.examples import REPEATED_EPSILON, TIMES, composed
from gdpbridge.paper.finding import Claim, Fact, Found

__all__ = ["PRINTED", "TABLE", "TABLE_CLAIMS", "comparison"]

TABLE = "table 1"

# by the library's names of the rows; the columns are δ = 0.1, 0.01, 0.001 and 0.0001
PRINTED = {
    "Basic": ("9.89", "9.99", "10", "10"),
    "Advanced": ("5.25", "6.51", "7.47", "8.28"),
    "RDP": ("12.14", "17.17", "21.03", "24.28"),
    "GDP": ("3.1", "5.06", "6.47", "7.62"),
    "GDP Laplace": ("2.87", "4.74", "6.09", "7.19"),
    "Optimal": ("2.12", "3.64", "4.76", "5.28"),
    "GDP summary": ("2.14", "3.73", "4.87", "5.80"),
}
# every number of the row "Optimal" is a multiple of it
_SPACING = exact("0.04")


@cache
def comparison() -> Comparison:
    """Return our table."""
    return compare(REPEATED_EPSILON, TIMES)


def _cell(name: str, column: int) -> Found:
    row = next(row for row in comparison().rows if row.name == name)
    ours = row.epsilons[column]
    facts = () if row.mu is None else (Fact("through μ", row.mu),)
    if name != "Optimal":
        return Found(ours, facts)
    return _optimal(ours, PRINTED[name][column], DELTAS[column])


def _optimal(ours: Interval, printed: str, delta: float) -> Found:
    """Compare with the exact profile: what δ is at the printed ε, and where a coarse grid ends."""
    there = delta_at(composed(), printed)
    steps = -(-exact(ours.high) // _SPACING)
    on_grid = ceiling_to_places(steps * _SPACING, 2)
    facts = (
        Fact(f"δ of the exact profile at the printed ε = {printed}", there),
        Fact(
            "the first multiple of 0.04 that suffices, as all four printed ε are multiples of it",
            Interval(on_grid, on_grid),
        ),
    )
    target = exact(delta)
    if exact(there.low) > target:
        wrong = (
            f"the printed ε is below the least one: δ there is proved to be above {delta:g}, so "
            "that the printed pair is no guarantee"
        )
    elif exact(there.high) < target:
        wrong = "the printed ε is safe, but not the least"
        if on_grid == exact(printed):
            wrong += ": it is the least multiple of 0.04 that is safe"
    else:
        wrong = ""
    return Found(ours, facts, wrong)


TABLE_CLAIMS = tuple(
    Claim(
        name=f"table1/{name.lower().replace(' ', '-')}/{delta:g}",
        where=TABLE,
        what=f"{name}, δ = {delta:g}: the least ε",
        printed=printed[column],
        find=partial(_cell, name, column),
    )
    for name, printed in PRINTED.items()
    for column, delta in enumerate(DELTAS)
)
