"""Results as plain data with a name and a version; fields are in the order of the JSON document.

A field is never removed or changed in meaning without a new version; one may be added.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gdpbridge.errors import UndecidedError, WorkLimitError
from gdpbridge.identify import Identification, TailStatus, Verdict, identify
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement
from gdpbridge.measure.statements import bounds_of
from gdpbridge.mechanisms.base import Profile

__all__ = [
    "FailureRecord",
    "IdentificationRecord",
    "MeasurementRecord",
    "Record",
    "Schema",
    "TailRecord",
    "UndecidedRecord",
    "identification_record",
    "measurement_record",
    "undecided_record",
]

# of a measurement, what stands elsewhere in its document, and what is too long for it
_ELSEWHERE = ("profile", "tail_status", "failure", "evidence", "undecided")
# what it is called in the document
_NAMES = {"mu_tail": "tail"}


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
class FailureRecord:
    """A failure probability and the μ that it leaves."""

    failure_probability: float
    mu: Interval
    decided: bool


@dataclass(frozen=True)
class IdentificationRecord:
    """An :class:`~gdpbridge.Identification`, with the mechanism it is about."""

    schema: Schema
    mechanism: dict[str, Any]
    found: Identification

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        found = self.found
        return {
            "schema": self.schema,
            "mechanism": self.mechanism,
            "verdict": found.verdict,
            "reason": found.reason,
            "tail": TailRecord(found.mu_tail, found.tail_status),
            "profile_is": found.profile_is,
        }


@dataclass(frozen=True)
class MeasurementRecord:
    """A :class:`~gdpbridge.Measurement`, where each field is declared, with its mechanism."""

    schema: Schema
    mechanism: dict[str, Any]
    found: Measurement

    @property
    def by_failure(self) -> tuple[FailureRecord, ...]:
        """The failure probabilities with the μ that each leaves."""
        found = self.found
        return tuple(FailureRecord(p, mu, p not in found.undecided) for p, mu in found.by_failure)

    def document(self) -> dict[str, Any]:
        """Return the JSON document: the fields of the measurement in their order, and its proof."""
        found = self.found
        names = [one.name for one in fields(found) if one.name not in _ELSEWHERE]
        shown = {_NAMES.get(name, name): getattr(found, name) for name in names}
        return {
            "schema": self.schema,
            "mechanism": self.mechanism,
            **shown,
            "tail": TailRecord(found.mu_tail, found.tail_status),
            "by_failure": self.by_failure,
            "profile_is": found.profile_is,
            "proof": found.proof,
        }


@dataclass(frozen=True)
class UndecidedRecord:
    """A mechanism, one of several, whose μ could not be found within the stated limits.

    Attributes:
        schema: what the document is.
        mechanism: the mechanism.
        verdict: whether some finite μ covers it.
        mu: what μ is known to lie in.
        error: why.
    """

    schema: Schema
    mechanism: dict[str, Any]
    verdict: Verdict
    mu: Interval
    error: str


Record = IdentificationRecord | MeasurementRecord


def identification_record(profile: Profile, found: Identification) -> IdentificationRecord:
    """Make the record of an identification."""
    return IdentificationRecord(Schema("gdpbridge.identification", 1), profile.model_dump(), found)


def measurement_record(found: Measurement) -> MeasurementRecord:
    """Make the record of a measurement."""
    return MeasurementRecord(Schema("gdpbridge.measurement", 1), found.profile.model_dump(), found)


def undecided_record(profile: Profile, error: UndecidedError | WorkLimitError) -> UndecidedRecord:
    """Make the record of a measurement that could not be made."""
    schema = Schema("gdpbridge.undecided", 1)
    verdict = identify(profile).verdict
    return UndecidedRecord(schema, profile.model_dump(), verdict, bounds_of(error), str(error))
