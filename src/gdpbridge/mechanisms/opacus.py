"""The history of a training run as Opacus keeps it: noise multiplier, sample rate and steps.

An accountant's ``state_dict()`` is {"history": [[σ, q, T], ...], "mechanism": ...}; checkpoints
hold it under some key. Files are JSON, or what ``torch.save`` writes, which is read without running
any code from it (extra ``opacus``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from gdpbridge.curves.smooth import Curve
from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.mechanisms.base import Neighbours, Profile
from gdpbridge.mechanisms.dpsgd import DPSGD
from gdpbridge.mechanisms.registry import profile_class, register

if TYPE_CHECKING:
    from gdpbridge.losses.step import Losses

__all__ = ["OpacusHistory", "profile_of_history"]

_LEVELS = 8
_ZIP = b"PK\x03\x04"


def profile_of_history(history: Any) -> Profile:
    """Return the profile of a training run.

    Args:
        history: triples of noise multiplier, sample rate and number of steps, one for each phase.

    Raises:
        InputError: for what is no such history, naming the entry.
    """
    if not isinstance(history, Sequence) or isinstance(history, str):
        raise InputError("history", history, "a list of [noise multiplier, sample rate, steps]")
    phases: list[Profile] = []
    for number, entry in enumerate(history):
        place = f"history[{number}]"
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 3:
            raise InputError(place, entry, "three numbers: noise multiplier, sample rate, steps")
        noise, rate, steps = (getattr(value, "item", lambda v=value: v)() for value in entry)
        try:
            phases.append(DPSGD(noise_multiplier=noise, sample_rate=rate, steps=steps))
        except InputError as error:
            raise InputError(f"{place}.{error.field}", error.value, error.allowed) from None
    if not phases:
        raise InputError("history", "empty", "at least one entry: no step has been taken")
    return phases[0] if len(phases) == 1 else profile_class("sequence")(parts=tuple(phases))


def history_in(data: Any, level: int = 0) -> Any:
    """Return the history in an accountant's state or in a checkpoint that holds one.

    Raises:
        InputError: if there is none, or more than one.
    """
    found = list(_histories(data, level))
    if len(found) != 1:
        shown = "without one" if not found else f"with {len(found)} of them"
        raise InputError("history", shown, "found once, in the state of an accountant")
    return found[0]


def _histories(data: Any, level: int) -> Any:
    if not isinstance(data, Mapping) or level > _LEVELS:
        return
    if "history" in data and isinstance(data["history"], Sequence):
        yield data["history"]
        return
    for value in data.values():
        yield from _histories(value, level + 1)


def _read(name: str) -> Any:
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise InputError("file", name, f"a readable file ({why})") from None
    if content.startswith(_ZIP):
        return _of_torch(content, name)
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError("file", name, "JSON, or a file written by torch.save") from None
    return data if isinstance(data, list) else history_in(data)


def _of_torch(content: bytes, name: str) -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("opacus", "reading a file written by torch.save") from None
    import io
    import pickle

    try:
        data = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError) as error:
        why = str(error).splitlines()[0][:120]
        raise InputError(
            "file", name, f"a checkpoint of plain values and tensors ({why})"
        ) from None
    return data if isinstance(data, list) else history_in(data)


@register
class OpacusHistory(Profile):
    """A training run, from the history that Opacus's accountants keep."""

    kind: Literal["opacus"] = "opacus"
    file: str | None = Field(
        default=None,
        description="the accountant's state_dict, or a checkpoint that holds it",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "allowed": "a JSON file or one written by torch.save, or - for standard input",
        },
    )
    history: tuple[Any, ...] | None = Field(
        default=None,
        description="triples of noise multiplier, sample rate and steps, instead of a file",
        json_schema_extra={
            "untyped": True,
            "allowed": "a list of [noise multiplier, sample rate, steps]",
        },
    )
    neighbours: Neighbours | None = "add-remove"

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if file is None else {"file": file, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Read the history, so that errors in it come at once."""
        if (self.file is None) == (self.history is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and history", given, "given one and not the other")
        if self.neighbours != "add-remove":
            raise InputError(
                "neighbours", self.neighbours, "add-remove, the relation of Poisson sampling"
            )
        _ = self.run

    @cached_property
    def run(self) -> Profile:
        """The run as DP-SGD, in one phase or several."""
        return profile_of_history(_read(self.file) if self.file is not None else self.history)

    @property
    def default_failure(self) -> Any:
        """That of the run."""
        return self.run.default_failure

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those of the run."""
        return self.run.remarks

    @property
    def certifiable(self) -> bool:
        """The checker of certificates does not know histories."""
        return False

    def build_curve(self) -> Curve:
        """Return the curve of the run."""
        return self.run.curve

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of several such runs."""
        return self.run.composed_curve(times)

    def privacy_losses(self) -> Losses:
        """Return those of the run."""
        return self.run.privacy_losses()
