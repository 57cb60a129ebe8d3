"""A training run in the words people have: batch size, records and epochs, as rate and steps.

Without another rule, q = batch size / records and T = epochs / q, rounded up: a step too many is on
the safe side. Opacus takes q = 1/L with L the number of batches that a loader makes of the records,
the last one of which may be short, and L steps an epoch (opacus.DPDataLoader.from_data_loader; for
some L, 93 for one, a rounding of 1/q costs it one of them, which again is on the safe side).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gdpbridge.errors import Advice, InputError
from gdpbridge.numeric.exact import exact
from gdpbridge.reading.parameters import MAX_WHOLE, read_real

__all__ = ["Run", "derived", "run_of", "with_fraction"]

_NUMBERS = ("sample_rate", "steps", "batch_size", "records", "epochs")
_WHOLE = ("batch_size", "records")


@dataclass(frozen=True)
class Run:
    """How often a record is looked at.

    Attributes:
        rate: q, exactly; None if it is not known.
        steps: T; None if it is not known.
        derived: how they follow from other words, a sentence; empty if they do not.
    """

    rate: Fraction | None
    steps: int | None
    derived: str = ""


def with_fraction(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with a sample rate such as 256/60000 as batch size and records.

    Raises:
        InputError: for another text, or where these are given too and differ.
    """
    rate = given.get("sample_rate")
    if not isinstance(rate, str):
        return dict(given)
    allowed = "a number in [0, 1], or batch size/records such as 256/60000"
    parts = [part.strip() for part in rate.split("/")]
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError("sample_rate", rate, allowed)
    batch, records = map(int, parts)
    if not 1 <= batch <= records <= MAX_WHOLE:
        raise InputError("sample_rate", rate, allowed)
    for name, value in zip(_WHOLE, (batch, records), strict=True):
        other = given.get(name)
        if other is not None and other != value:
            raise InputError("sample_rate", rate, Advice(f"{rate} is not that of {name}: give one"))
    rest = {name: value for name, value in given.items() if name != "sample_rate"}
    return {**rest, "batch_size": batch, "records": records}


def derived(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sample rate and the steps that follow from other words, of those not given.

    Nothing follows from numbers out of their range, which are refused where all are checked.

    Raises:
        InputError: as :func:`run_of` does.
    """
    try:
        numbers = {name: read_real(given[name]) for name in _NUMBERS if given.get(name) is not None}
    except ValueError:
        return {}
    sizes = [numbers.get(name, 1.0) for name in _WHOLE]
    allowed = (
        all(1 <= size <= MAX_WHOLE and size.is_integer() for size in sizes),
        0 < numbers.get("epochs", 1.0) <= MAX_WHOLE,
        0 <= numbers.get("sample_rate", 0.0) <= 1,
        0 <= numbers.get("steps", 0.0) <= MAX_WHOLE,
        given.get("like") in (None, "opacus"),
    )
    if not all(allowed):
        return {}
    run = run_of({**numbers, "like": given.get("like")})
    found: dict[str, Any] = {}
    if "sample_rate" not in numbers and run.rate is not None:
        found["sample_rate"] = float(run.rate)
    if "steps" not in numbers and run.steps is not None:
        found["steps"] = run.steps
    return found


def run_of(given: Mapping[str, Any]) -> Run:
    """Return what parameters say of rate and steps.

    Args:
        given: parameters of DP-SGD, each of them in its range.

    Raises:
        InputError: for what is ambiguous, contradicts itself, or is not enough.
    """
    rate, loader, why = _rate_of(given)
    steps, epochs = given.get("steps"), given.get("epochs")
    if given.get("like") is not None and steps is None and epochs is None:
        raise InputError.missing("epochs", "the steps are counted by them: give epochs or steps")
    if epochs is not None:
        if rate is None:
            raise InputError.missing("sample_rate", "epochs need it, or batch_size and records")
        if rate == 0:
            raise InputError("epochs", epochs, Advice("at sample rate 0 none ends: give steps"))
        counted = math.ceil(exact(epochs) / rate)
        if steps is not None and steps != counted:
            raise InputError(
                "steps",
                steps,
                Advice(f"{steps:.0f} are not the {counted} of {epochs:g} epochs: give one of them"),
            )
        steps = counted
        each = "" if loader is None else f", {loader:,} an epoch"
        why.append(f"{counted:,} steps for {epochs:g} epochs{each}")
    return Run(rate, None if steps is None else int(steps), "; ".join(why))


def _rate_of(given: Mapping[str, Any]) -> tuple[Fraction | None, int | None, list[str]]:
    """Return q, L where Opacus's rule is followed, and how q was derived."""
    batch, records, like = (given.get(name) for name in (*_WHOLE, "like"))
    rate = given.get("sample_rate")
    if batch is None and records is None:
        if like is not None:
            raise InputError.missing("batch_size", f"like {like} needs batch_size and records")
        return None if rate is None else exact(rate), None, []
    if batch is None or records is None:
        missing = "records" if records is None else "batch_size"
        raise InputError.missing(missing, "give both batch_size and records, or a sample_rate")
    batch, records = int(batch), int(records)
    loader = None if like is None else -(-records // batch)
    if loader is None and batch > records:
        raise InputError("batch_size", batch, f"at most {records}, the number of records")
    found = Fraction(batch, records) if loader is None else Fraction(1, loader)
    if rate is not None and rate != float(found):
        shown = f"{batch}/{records}" if loader is None else f"1/{loader}"
        raise InputError(
            "sample_rate",
            rate,
            Advice(f"{rate:g} is not the {shown} of batch_size and records: give one of them"),
        )
    if loader is None:
        why = f"sample rate {batch:,}/{records:,} = {float(found):.6g}"
    else:
        why = (
            f"sample rate 1/{loader:,} = {float(found):.6g} as in Opacus, whose loader makes "
            f"{loader:,} batches of {records:,} records"
        )
    return found, loader, [why]
