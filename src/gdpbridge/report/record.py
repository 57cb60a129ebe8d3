"""Results as plain data with a name and a version; fields are in the order of the JSON document.

A field is never removed or changed in meaning without a new version; one may be added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gdpbridge.curves.nature import Nature
from gdpbridge.identify import Identification, TailStatus, Verdict
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, Standing, Statement
from gdpbridge.mechanisms.base import Profile

__all__ = [
    "FailureRecord",
    "IdentificationRecord",
    "MeasurementRecord",
    "Record",
    "Schema",
    "TailRecord",
    "identification_record",
    "measurement_record",
]


@dataclass(frozen=True)
class Schema:
    """What a document is."""

    name: str
    version: int


@dataclass(frozen=True)
class TailRecord:
    """The tail parameter, None where it is not known, and how it is known."""

    mu_t: Interval | None
    status: TailStatus


@dataclass(frozen=True)
class IdentificationRecord:
    """An :class:`~gdpbridge.Identification`, with the mechanism it is about."""

    schema: Schema
    mechanism: dict[str, Any]
    verdict: Verdict
    reason: str
    tail: TailRecord
    profile_is: Nature

    @property
    def verdict_sentence(self) -> str:
        """What the verdict says, for a reader."""
        return self.verdict.sentence(self.profile_is, self.tail.status)


@dataclass(frozen=True)
class FailureRecord:
    """A failure probability and the μ that it leaves."""

    failure_probability: float
    mu: Interval


@dataclass(frozen=True)
class MeasurementRecord:
    """A :class:`~gdpbridge.Measurement`; see there for what the fields mean."""

    schema: Schema
    mechanism: dict[str, Any]
    verdict: Verdict
    reason: str
    statement: Statement
    mu: Interval
    attained_at: float
    eps_h: float | None
    failure_probability: float
    log_failure_probability: float
    whole_range_mu: Interval | None
    tail: TailRecord
    certified: bool
    method: str
    evaluations: int
    cells: int
    seconds: float
    notes: tuple[str, ...]
    by_failure: tuple[FailureRecord, ...]
    profile_is: Nature
    proof: Standing

    @property
    def verdict_sentence(self) -> str:
        """What the verdict says, for a reader."""
        return self.verdict.sentence(self.profile_is, self.tail.status)


Record = IdentificationRecord | MeasurementRecord


def identification_record(profile: Profile, found: Identification) -> IdentificationRecord:
    """Make the record of an identification."""
    return IdentificationRecord(
        schema=Schema("gdpbridge.identification", 1),
        mechanism=profile.model_dump(),
        verdict=found.verdict,
        reason=found.reason,
        tail=TailRecord(found.mu_tail, found.tail_status),
        profile_is=found.profile_is,
    )


def measurement_record(found: Measurement) -> MeasurementRecord:
    """Make the record of a measurement."""
    return MeasurementRecord(
        schema=Schema("gdpbridge.measurement", 1),
        mechanism=found.profile.model_dump(),
        verdict=found.verdict,
        reason=found.reason,
        statement=found.statement,
        mu=found.mu,
        attained_at=found.attained_at,
        eps_h=found.eps_h,
        failure_probability=found.failure_probability,
        log_failure_probability=found.log_failure_probability,
        whole_range_mu=found.whole_range_mu,
        tail=TailRecord(found.mu_tail, found.tail_status),
        certified=found.certified,
        method=found.method,
        evaluations=found.evaluations,
        cells=found.cells,
        seconds=found.seconds,
        notes=found.notes,
        by_failure=tuple(FailureRecord(p, mu) for p, mu in found.by_failure),
        profile_is=found.profile_is,
        proof=found.proof,
    )
