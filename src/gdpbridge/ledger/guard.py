"""Spending around code: reserve, run, commit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.ledger.entries import Entry
from gdpbridge.ledger.words import checked_text
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.approx_dp import ApproxDP
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.pure_dp import PureDP
from gdpbridge.mechanisms.zcdp import ZCDP

if TYPE_CHECKING:
    from gdpbridge.ledger.book import Ledger
    from gdpbridge.ledger.records import Receipt
    from gdpbridge.ledger.requests import ReserveOptions

__all__ = ["Spending", "charged"]


class Spending:
    """What ``with ledger.spending(...) as run`` gives; see :meth:`Ledger.spending`.

    Attributes:
        entry: the reservation's entry, inside the context.
        receipt: what ended it, after the context.
    """

    entry: Entry
    receipt: Receipt

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        what: Profile | Measurement | None,
        options: ReserveOptions,
    ) -> None:
        self._ledger, self._dataset, self._what, self._options = ledger, dataset, what, options
        self._nothing: str | None = None

    def nothing_released(self, reason: str) -> None:
        """Say that nothing of the data left the body, and how that is known.

        Args:
            reason: 1 to 1,000 printable characters; it is recorded.
        """
        self._nothing = checked_text("reason", reason)

    def __enter__(self) -> Self:
        reserved = self._ledger.reserve(self._dataset, self._what, **self._options)
        if reserved.repeated:
            raise InputError(
                "key", reserved.entry.key, "a new key: the release under this one was begun before"
            )
        self.entry = reserved.entry
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        number = self.entry.number
        if self._nothing is None:
            self.receipt = self._ledger.commit(self._dataset, number)
        else:
            self.receipt = self._ledger.cancel(self._dataset, number, reason=self._nothing)


def charged(
    ledger: Ledger,
    dataset: str,
    *,
    purpose: str,
    profile: Profile | None = None,
    d_in: Any = 1,
    **options: Any,
) -> Callable[[Any], Callable[[Any], Any]]:
    """Decorate an OpenDP measurement: each call reserves, runs and commits.

    Args:
        ledger: where the budget is.
        dataset: the data set.
        purpose: what the releases are for.
        profile: the measurement's privacy profile; what its privacy map says at ``d_in`` if None.
        d_in: the input distance between neighbours of this data set.
        **options: as for :meth:`Ledger.reserve`.

    Returns:
        A function from a measurement to a function of the data. It needs the extra ``mechanisms``.

    Raises:
        InputError: for what is no measurement, or one whose map says neither ε, (ε, δ) nor ρ.
    """

    def decorate(measurement: Any) -> Callable[[Any], Any]:
        what = _profile_of(measurement, d_in) if profile is None else profile

        @wraps(measurement, assigned=(), updated=())
        def run(data: Any) -> Any:
            with ledger.spending(dataset, what, purpose=purpose, **options):
                return measurement(data)

        return run

    return decorate


def _profile_of(measurement: Any, d_in: Any) -> Profile:
    """Return what a measurement's privacy map says, as a profile."""
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        raise MissingExtraError("mechanisms", "charging an OpenDP measurement") from None
    if not isinstance(measurement, dp.Measurement):
        raise InputError("measurement", measurement, "an OpenDP measurement")
    measure, opened = measurement.output_measure, cast(Any, measurement)
    if measure == dp.max_divergence():
        return PureDP(epsilon=_above(opened.map(d_in)))
    if measure == dp.fixed_smoothed_max_divergence():
        epsilon, delta = opened.map(d_in)
        # the public name of the parameter is its alias
        given: dict[str, Any] = {"epsilon": _above(epsilon), "delta": _above(delta)}
        return ApproxDP(**given)
    if measure == dp.zero_concentrated_divergence():
        return ZCDP(rho=_above(opened.map(d_in)))
    raise InputError(
        "measurement", str(measure), "one whose privacy map says ε, (ε, δ) or ρ, or given a profile"
    )


def _above(value: float) -> float:
    """A float whose shortest decimal, which a profile takes it for, is at least ``value``."""
    return math.nextafter(value, math.inf) if value else value
