"""Plans of amplification as plain data with a name and a version, and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdpbridge.curves.nature import Nature
from gdpbridge.identify import TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure import Standing, Statement
from gdpbridge.report.record import Schema
from gdpbridge.report.text import (
    Row,
    certain_and_ends,
    laid_out,
)
from gdpbridge.specification.title import mechanism_title, number_text

if TYPE_CHECKING:
    from gdpbridge.amplify.clip_rectify import ClipRectifyPlan
    from gdpbridge.amplify.subsample import SubsamplePlan

__all__ = [
    "ClipRectifyRecord",
    "SubsampleRecord",
    "clip_rectify_record",
    "plan_to_text",
    "subsample_record",
]

_VALUE_WIDTH = 60


@dataclass(frozen=True)
class ClipRectifyRecord:
    """A :class:`~gdpbridge.amplify.clip_rectify.ClipRectifyPlan`; see there for the fields."""

    schema: Schema
    mechanism: dict[str, Any]
    verdict: Verdict
    statement: Statement
    mu: Interval
    head_mu: Interval
    eps_h: float
    lower: float | tuple[float, ...]
    upper: float | tuple[float, ...]
    sensitivity: float
    scale: float
    mean_absolute_error: float
    standard_deviation: float
    certified: bool
    notes: tuple[str, ...]
    profile_is: Nature
    proof: Standing


@dataclass(frozen=True)
class SubsampleRecord:
    """A :class:`~gdpbridge.amplify.subsample.SubsamplePlan`; see there for the fields."""

    schema: Schema
    mechanism: dict[str, Any]
    scheme: str
    target_mu: float
    rate: float
    beyond: float | None
    verdict: Verdict
    statement: Statement
    mu: Interval
    mu_before: Interval
    eps_h: float | None
    failure_probability: float
    certified: bool
    notes: tuple[str, ...]
    profile_is: Nature
    proof: Standing


def clip_rectify_record(plan: ClipRectifyPlan) -> ClipRectifyRecord:
    """Make the record of a clip-and-rectify plan."""
    return ClipRectifyRecord(
        schema=Schema("gdpbridge.clip-rectify", 1),
        mechanism=plan.profile.base.model_dump(),
        verdict=plan.verdict,
        statement=plan.measurement.statement,
        mu=plan.mu,
        head_mu=plan.head_mu,
        eps_h=plan.eps_h,
        lower=plan.lower if plan.is_vector else plan.lower[0],
        upper=plan.upper if plan.is_vector else plan.upper[0],
        sensitivity=plan.sensitivity,
        scale=plan.scale,
        mean_absolute_error=plan.mean_absolute_error,
        standard_deviation=plan.standard_deviation,
        certified=plan.measurement.certified,
        notes=(*plan.notes, *plan.measurement.notes),
        profile_is=plan.measurement.profile_is,
        proof=plan.measurement.proof,
    )


def subsample_record(plan: SubsamplePlan) -> SubsampleRecord:
    """Make the record of a subsampling plan."""
    found = plan.measurement
    return SubsampleRecord(
        schema=Schema("gdpbridge.subsample", 1),
        mechanism=plan.base.model_dump(),
        scheme=plan.scheme,
        target_mu=plan.target_mu,
        rate=plan.rate,
        beyond=plan.beyond,
        verdict=found.verdict,
        statement=found.statement,
        mu=plan.mu,
        mu_before=plan.before.mu,
        eps_h=found.eps_h,
        failure_probability=found.failure_probability,
        certified=found.certified,
        notes=(*plan.notes, *found.notes),
        profile_is=found.profile_is,
        proof=found.proof,
    )


def plan_to_text(
    record: ClipRectifyRecord | SubsampleRecord, width: int, *, colour: bool = False
) -> str:
    """Return a plan as lines of text; arguments as for :func:`gdpbridge.report.text.to_text`."""
    rows = _clipped(record) if isinstance(record, ClipRectifyRecord) else _sampled(record)
    return laid_out(
        mechanism_title(record.mechanism), [*rows, *_ending(record)], width, colour=colour
    )


def _clipped(record: ClipRectifyRecord) -> Iterator[Row]:
    yield Row("Clip", f"below at {_numbers(record.lower)}, above at {_numbers(record.upper)}")
    noise = f"Laplace noise of scale {number_text(record.scale)}"
    if isinstance(record.lower, tuple):
        noise += f", for the L1 diameter {number_text(record.sensitivity)}"
    yield Row("Then add", noise)
    yield Row("Verdict", record.verdict.sentence(record.profile_is, TailStatus.PROVED))
    yield Row("μ", certain_and_ends(record.mu, _VALUE_WIDTH), "1")
    yield Row("Theorem's μ", certain_and_ends(record.head_mu, _VALUE_WIDTH))
    yield Row("Covers", record.statement.sentence)
    error = (
        f"{record.mean_absolute_error:.6g} in the mean, "
        f"{record.standard_deviation:.6g} as a standard deviation"
    )
    yield Row("Added error", error)


def _sampled(record: SubsampleRecord) -> Iterator[Row]:
    yield Row("Rate", f"{number_text(record.rate)}, {record.scheme}", "1")
    if record.beyond is not None:
        how = "is proved to exceed" if record.proof.proved else "exceeds"
        yield Row("Too much", f"{number_text(record.beyond)} {how} the target")
    yield Row("Target", f"μ ≤ {number_text(record.target_mu)}")
    yield Row("μ", certain_and_ends(record.mu, _VALUE_WIDTH))
    yield Row("Without", certain_and_ends(record.mu_before, _VALUE_WIDTH))
    yield Row("Covers", record.statement.sentence)
    if record.eps_h is not None:
        yield Row("ε_h", number_text(record.eps_h))
    if record.statement is not Statement.WHOLE:
        yield Row("p", f"{record.failure_probability:.6g}")


def _ending(record: ClipRectifyRecord | SubsampleRecord) -> Iterator[Row]:
    yield Row("δ(ε)", record.profile_is.sentence)
    yield Row("Proof", record.proof.why)
    for label, note in zip(("Notes", *[""] * len(record.notes)), record.notes, strict=False):
        yield Row(label, note)


def _numbers(value: float | tuple[float, ...]) -> str:
    values = value if isinstance(value, tuple) else (value,)
    return ", ".join(map(number_text, values))
