"""Plan: the settings of training runs that meet a target, side by side."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gdpbridge.calibrate import calibrate
from gdpbridge.calibration import Calibration
from gdpbridge.errors import GdpBridgeError, InputError
from gdpbridge.interval import Interval
from gdpbridge.measure import measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.progress import Progress, silent, with_bar
from gdpbridge.showing import Framed

__all__ = ["Plan", "PlanRow", "plan"]


@dataclass(frozen=True)
class PlanRow:
    """One setting that meets the target.

    Attributes:
        given: the parameters that vary from row to row.
        solved: the parameter that was found.
        value: its value; the target is proved to be met with it.
        noise_multiplier: σ of the run.
        sample_rate: q.
        steps: how many steps are made.
        mu: an interval for μ, of the statement that :attr:`failure_probability` tells.
        failure_probability: p of an approximate statement.
        epsilon: an interval for the least ε at :attr:`delta`; None where no δ is given.
        delta: the δ asked for.
        advantage: an upper bound of an attacker's advantage, δ(0).
        noise_per_sample: σ/(q·N) with N records: the noise in the mean gradient, in clipping
            norms; None where the number of records is not given.
        profile: the run as a mechanism.
        error: why there is no such setting; then the other numbers are None.
    """

    given: Mapping[str, Any]
    solved: str
    value: float | None = None
    noise_multiplier: float | None = None
    sample_rate: float | None = None
    steps: int | None = None
    mu: Interval | None = None
    failure_probability: float | None = None
    epsilon: Interval | None = None
    delta: float | None = None
    advantage: float | None = None
    noise_per_sample: float | None = None
    profile: Profile | None = None
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data; an interval as its ends in two columns."""
        found: dict[str, Any] = {**self.given, "solved": self.solved}
        for name in asdict(self).keys() - {"given", "solved", "profile", "mu", "epsilon"}:
            found[name] = getattr(self, name)
        for name in ("mu", "epsilon"):
            interval: Interval | None = getattr(self, name)
            found[f"{name}_low"] = None if interval is None else interval.lower
            found[f"{name}_high"] = None if interval is None else interval.upper
        return {name: found[name] for name in (*self.given, *_COLUMNS)}


_COLUMNS = (
    *("solved", "value", "noise_multiplier", "sample_rate", "steps", "mu_low", "mu_high"),
    *("failure_probability", "epsilon_low", "epsilon_high", "delta", "advantage"),
    *("noise_per_sample", "error"),
)


class Plan(Framed, tuple[PlanRow, ...]):
    """The rows of a plan, in the order of what varies."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Plan of {len(self)} settings>"

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as plain data."""
        return [row.to_dict() for row in self]

    def _columns(self) -> dict[str, list[Any]]:
        rows = self.to_dict()
        return {name: [row[name] for row in rows] for name in rows[0]}

    def table(self) -> list[list[str]]:
        """Return the plan as a table of texts, the names of the columns first."""
        names = [*self[0].given, "noise multiplier", "sample rate", "steps", "μ", "ε", "advantage"]
        names.append("noise per sample")
        body = [[*map(str, row.given.values()), *_cells(row)] for row in self]
        return [names, *([*cells, *[""] * (len(names) - len(cells))] for cells in body)]

    def _repr_html_(self) -> str:
        from html import escape

        head, *body = self.table()
        rows = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
        rows += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body]
        return f"<table>{''.join(rows)}</table>"


def _cells(row: PlanRow) -> list[str]:
    if row.error is not None:
        return [row.error]
    per_sample = "" if row.noise_per_sample is None else f"{row.noise_per_sample:.5g}"
    return [
        f"{row.noise_multiplier:.8g}",
        f"{row.sample_rate:.6g}",
        str(row.steps),
        "" if row.mu is None else f"{row.mu.upper:.5g}",
        "" if row.epsilon is None else f"{row.epsilon.upper:.5g}",
        f"{row.advantage:.5g}",
        per_sample,
    ]


@with_bar
def plan(
    kind: str = "dpsgd",
    *,
    target_mu: Real | None = None,
    target_epsilon: Real | None = None,
    target_delta: Real | None = None,
    target_advantage: Real | None = None,
    solve: str | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Plan:
    """Plan training runs: for each combination of what is given as a list, what meets a target.

    Args:
        kind: "dpsgd".
        target_mu: the targets, one of them, as for :func:`gdpbridge.calibrate`.
        target_epsilon: with target_delta.
        target_delta: likewise.
        target_advantage: likewise.
        solve: the parameter to find; the one that is missing if None, such as noise_multiplier.
        progress: called with a sentence and a share in [0, 1] during long work; None draws a bar
            in a terminal or a notebook once that takes over a second.
        **parameters: those of the run, such as batch_size, records and epochs; each a value, or a
            list of values to set side by side.

    Returns:
        A row for each combination, the last list varying fastest. A combination for which nothing
        meets the target has the reason in its error.

    Raises:
        InputError: for another kind, or targets that are none.
    """
    if kind != "dpsgd":
        raise InputError("kind", kind, "dpsgd")
    if {target_mu, target_epsilon, target_advantage} == {None}:
        raise InputError.missing("target_epsilon", "give it with target_delta, or another target")
    lists = {name: list(value) for name, value in parameters.items() if _is_list(value)}
    empty = next((name for name, values in lists.items() if not values), None)
    if empty is not None:
        raise InputError(empty, [], "a value, or a list of at least one")
    fixed = {name: value for name, value in parameters.items() if name not in lists}
    varied = [dict(zip(lists, one, strict=True)) for one in itertools.product(*lists.values())]
    rows, report = [], progress or silent
    for number, given in enumerate(varied):
        report("planning", number / len(varied))
        # what is wrong in every row is wrong
        try:
            found = calibrate(
                kind,
                target_mu,
                target_epsilon=target_epsilon,
                target_delta=target_delta,
                target_advantage=target_advantage,
                parameter=solve,
                **fixed,
                **given,
            )
            rows.append(_row(given, found, fixed, target_delta))
        except GdpBridgeError as error:
            if len(varied) == 1:
                raise
            rows.append(PlanRow(given, solve or "noise_multiplier", error=str(error)))
    if all(row.error is not None for row in rows):
        raise InputError("target", rows[0].error, "one that some setting meets")
    return Plan(rows)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _row(
    given: Mapping[str, Any], found: Calibration, fixed: Mapping[str, Any], delta: Real | None
) -> PlanRow:
    profile: Any = found.profile
    p = profile.default_failure
    measured = found.measured or measure(profile, failure=None if p is None else float(p))
    records = given.get("records", fixed.get("records"))
    sigma, rate = float(profile.noise_multiplier), float(profile.sample_rate)
    epsilon = None
    if delta is not None:
        low, high = profile.epsilon_bounds(float(delta))
        epsilon = Interval(float(low), float(high))
    advantage = float(profile.delta_bounds(0.0)[1])
    return PlanRow(
        given,
        found.parameter,
        found.value,
        sigma,
        rate,
        int(profile.steps),
        measured.mu,
        measured.failure_probability,
        epsilon,
        None if delta is None else float(delta),
        advantage,
        None if records is None else sigma / (rate * float(records)),
        profile,
    )
