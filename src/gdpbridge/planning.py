"""Plan: the settings of training runs that meet a target, side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gdpbridge.calibrate import calibrate
from gdpbridge.calibration import Calibration
from gdpbridge.errors import GdpBridgeError, InputError
from gdpbridge.interval import Interval
from gdpbridge.measure import measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.numeric.exact import decimal_ceiling, decimal_floor, exact
from gdpbridge.progress import Progress, silent, with_bar
from gdpbridge.showing import Framed
from gdpbridge.specification.title import number_text

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
        calibration: the bracket and the run as a mechanism, with the certificate of both ends.
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
    calibration: Calibration | None = None
    error: str | None = None

    def __repr__(self) -> str:
        found = self.error or f"{self.solved} = {self.value!r}"
        return f"<PlanRow {', '.join([*(f'{k} = {v}' for k, v in self.given.items()), found])}>"

    @property
    def profile(self) -> Profile | None:
        """The run as a mechanism; None where nothing meets the target."""
        return None if self.calibration is None else self.calibration.profile

    @property
    def proof(self) -> str | None:
        """The command that proves the row again; None where nothing meets the target."""
        if self.calibration is None:
            return None
        stated = self.calibration.profile.specification()
        stated["steps"] = f"{self.steps}"
        options = [f"--{k.replace('_', '-')} {v}" for k, v in stated.items() if k != "kind"]
        given = self.calibration.goal.given
        (name, value), *at = given.items()
        if self.failure_probability and name == "mu":
            at = [("p", self.failure_probability)]
        claim = f"{name} <= {number_text(value)}" + "".join(
            f" {'with' if one == 'p' else 'at'} {one} = {number_text(number)}" for one, number in at
        )
        return f"gdpbridge check dpsgd {' '.join(options)} --claim '{claim}'"

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data; an interval as its ends in two columns."""
        found: dict[str, Any] = {**self.given, "solved": self.solved}
        for name in _COLUMNS:
            found[name] = getattr(self, name, None)
        for name in ("mu", "epsilon"):
            interval: Interval | None = getattr(self, name)
            found[f"{name}_low"] = None if interval is None else interval.lower
            found[f"{name}_high"] = None if interval is None else interval.upper
        return {name: found[name] for name in (*self.given, *_COLUMNS)}


_COLUMNS = (
    *("solved", "value", "noise_multiplier", "sample_rate", "steps", "mu_low", "mu_high"),
    *("failure_probability", "epsilon_low", "epsilon_high", "delta", "advantage"),
    *("noise_per_sample", "error", "proof"),
)
_RUN = ("noise_multiplier", "sample_rate", "steps")


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
        first = dict.fromkeys([*self[0].given, self[0].solved])
        rows = [_cells(row, [name for name in first if name not in _RUN]) for row in self]
        names = dict.fromkeys([*self[0].given, *rows[0]])
        shown = [name for name in names if any(row[name] for row in rows)]
        head = [name.replace("_", " ") for name in shown]
        body = [[row[name] for name in shown] for row in rows]
        for row, cells in zip(self, body, strict=True):
            # the last column has room for a sentence
            cells[-1] = row.error or cells[-1]
        return [head, *body]

    def _repr_html_(self) -> str:
        from html import escape

        head, *body = self.table()
        rows = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
        rows += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body]
        return f"<table>{''.join(rows)}</table>"


def _cells(row: PlanRow, names: Iterable[str]) -> dict[str, str]:
    """Return what the table shows of a row, rounded to the side that meets the target."""
    given = dict(row.given)
    epochs = row.value if row.solved == "epochs" else None
    found = {name: str(given.get(name, row.value if name == row.solved else "")) for name in names}
    if epochs is not None:
        found["epochs"] = _down(epochs, 8)
    rate = row.sample_rate
    return {
        **found,
        "noise_multiplier": _up(row.noise_multiplier or given.get("noise_multiplier"), 8),
        "sample_rate": _down(rate or given.get("sample_rate"), 8),
        "steps": str(row.steps or given.get("steps", "")),
        "μ": _up(None if row.mu is None else row.mu.upper),
        "ε": _up(None if row.epsilon is None else row.epsilon.upper),
        "advantage": _up(row.advantage),
        "noise per sample": _up(row.noise_per_sample),
    }


def _up(value: float | None, digits: int = 5) -> str:
    if value is None:
        return ""
    return f"{decimal_ceiling(exact(value), digits).normalize():f}" if math.isfinite(value) else "∞"


def _down(value: float | None, digits: int) -> str:
    return "" if value is None else f"{decimal_floor(exact(value), digits).normalize():f}"


@with_bar
def plan(
    kind: str = "dpsgd",
    *,
    target_mu: Real | None = None,
    target_epsilon: Real | None = None,
    target_delta: Real | None = None,
    target_advantage: Real | None = None,
    target_tpr: Real | None = None,
    target_fpr: Real | None = None,
    solve: str | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Plan:
    """Plan training runs: for each combination of what is given as a list, what meets a target.

    Args:
        kind: "dpsgd".
        target_mu: the targets, one of them, as for :func:`gdpbridge.calibrate`.
        target_epsilon: with target_delta.
        target_delta: with another target, the δ at which each row tells its ε.
        target_advantage: likewise.
        target_tpr: with target_fpr.
        target_fpr: likewise.
        solve: the parameter to find, any of them; the one that is missing if None, such as
            noise_multiplier.
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
    if {target_mu, target_epsilon, target_advantage, target_tpr} == {None}:
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
                target_delta=None if target_epsilon is None else target_delta,
                target_advantage=target_advantage,
                target_tpr=target_tpr,
                target_fpr=target_fpr,
                parameter=solve,
                **fixed,
                **given,
            )
            rows.append(_row(given, found, target_delta))
        except GdpBridgeError as error:
            if len(varied) == 1:
                raise
            rows.append(PlanRow(given, solve or _missing(given, fixed), error=str(error)))
    if all(row.error is not None for row in rows):
        raise InputError("target", rows[0].error, "one that some setting meets")
    return Plan(rows)


def _missing(*given: Mapping[str, Any]) -> str:
    """Return the parameter that is found where none is named, for a row in which it was not."""
    known = {name for one in given for name in one}
    known |= {"steps"} if "epochs" in known else set()
    known |= {"sample_rate"} if "batch_size" in known else set()
    return next((name for name in _RUN if name not in known), "noise_multiplier")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _row(given: Mapping[str, Any], found: Calibration, delta: Real | None) -> PlanRow:
    profile: Any = found.profile
    p = profile.default_failure
    measured = found.measured or measure(profile, failure=None if p is None else float(p))
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
        None if profile.records is None else sigma / (rate * profile.records),
        found,
    )
