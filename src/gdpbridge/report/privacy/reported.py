"""What is needed of a report by what is made of it."""
# ruff: noqa: D102 (what each is stands there)

from __future__ import annotations

from typing import Any, Protocol

from gdpbridge.measure import Measurement
from gdpbridge.report.privacy.tables import EpsilonRow
from gdpbridge.report.record import MeasurementRecord

__all__ = ["Reported"]


class Reported(Protocol):
    """Part of a :class:`~gdpbridge.PrivacyReport`; see there."""

    @property
    def title(self) -> str: ...
    @property
    def release(self) -> dict[str, str | None]: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def headline(self) -> str: ...
    @property
    def lead(self) -> str: ...
    @property
    def covers(self) -> str: ...
    @property
    def measurement(self) -> MeasurementRecord: ...
    @property
    def found(self) -> Measurement: ...
    @property
    def epsilons(self) -> tuple[EpsilonRow, ...]: ...
    @property
    def risk(self) -> Any: ...
    @property
    def certificate(self) -> Any: ...
    @property
    def versions(self) -> dict[str, str]: ...
