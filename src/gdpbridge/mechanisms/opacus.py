"""The history of a training run as Opacus keeps it: noise multiplier, sample rate and steps.

Each [σ, q, T] is T steps of dpsgd, and δ(ε) = E_P(1 - e^{ε-L})⁺ with L the sum of all their losses
(Yousefpour et al. 2021; docs/composition.md).

An accountant's ``state_dict()`` is {"history": [[σ, q, T], ...], "mechanism": ...}; checkpoints
hold it under some key. Files are JSON, or what ``torch.save`` writes, which is read without torch
and without running any code from it.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

from pydantic import Field

from gdpbridge.curves.nature import Nature
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import STANDARD_INPUT, read_bounded
from gdpbridge.mechanisms.base import Neighbours, Profile
from gdpbridge.mechanisms.dpsgd import DPSGD, AsRun
from gdpbridge.mechanisms.registry import profile_class, register
from gdpbridge.reading.checkpoints import plain_values

__all__ = ["OpacusHistory", "profile_of_history"]

_LEVELS = 8
_ZIP = b"PK\x03\x04"
# how every pickle of protocol 2 or newer begins
_PICKLE = b"\x80"
_INSTEAD = "write json.dumps(accountant.state_dict()) to a file instead"
# a state alone is a few hundred bytes; a checkpoint may hold a model
_MAX_BYTES = 2**30


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
            raise error.renamed(f"{place}.{error.field}") from None
    if not phases:
        raise InputError(
            "history", Words("empty"), Advice("give at least one entry: no step has been taken")
        )
    return phases[0] if len(phases) == 1 else profile_class("sequence")(parts=tuple(phases))


def history_in(data: Any) -> Any:
    """Return the history in an accountant's state or in a checkpoint that holds one.

    Raises:
        InputError: if there is none, or more than one.
    """
    found = list(_histories(data))
    if len(found) != 1:
        if not found:
            raise InputError.missing("history", "give the state of an accountant, which holds one")
        raise InputError("history", len(found), Advice(f"{len(found)} are found: give one"))
    return found[0]


def _histories(data: Any) -> Iterator[Any]:
    """Find every history, in what may hold one value in many places."""
    level, seen = [data], {id(data)}
    for _ in range(_LEVELS + 1):
        inner: list[Any] = []
        for one in level:
            if not isinstance(one, Mapping):
                continue
            if isinstance(one.get("history"), Sequence):
                yield one["history"]
                continue
            for value in one.values():
                if id(value) not in seen:
                    seen.add(id(value))
                    inner.append(value)
        level = inner


def _read(name: str) -> Any:
    # a device may have no end to look for; of a file, the tensors are left where they are
    if name != STANDARD_INPUT and os.path.isfile(name) and zipfile.is_zipfile(name):
        return _of_checkpoint(Path(name), name)
    content = read_bounded(name, _MAX_BYTES)
    if content.startswith(_ZIP):
        return _of_checkpoint(io.BytesIO(content), name)
    if content.startswith(_PICKLE):
        raise InputError("file", name, Advice(f"{name} is a pickle of an old torch: {_INSTEAD}"))
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError("file", name, "JSON, or a file written by torch.save") from None
    return data if isinstance(data, list) else history_in(data)


def _of_checkpoint(source: Path | IO[bytes], name: str) -> Any:
    try:
        data = plain_values(source)
    except ValueError as error:
        what = f"{name} is no checkpoint that can be read ({error}): {_INSTEAD}"
        raise InputError("file", name, Advice(what)) from None
    return data if isinstance(data, list) else history_in(data)


@register
class OpacusHistory(AsRun):
    """A training run, from the history that Opacus's accountants keep."""

    nature: ClassVar[Nature] = Nature.OWN
    stated_for: ClassVar[tuple[Neighbours, ...]] = ("add-remove",)
    samples: ClassVar[bool] = False
    kind: Literal["opacus"] = "opacus"
    file: str | None = Field(
        default=None,
        description="the accountant's state_dict, or a checkpoint that holds it",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "instead": "history",
            "allowed": "a JSON file or one written by torch.save, or - for standard input",
        },
    )
    history: tuple[Any, ...] | None = Field(
        default=None,
        description="triples of noise multiplier, sample rate and steps, instead of a file",
        json_schema_extra={
            "untyped": True,
            "typed": "1.0:0.01:500,0.9:0.01:500",
            "columns": ["noise multiplier σ", "sample rate q", "steps T"],
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
            raise InputError("file and history", Words(given), Advice("give one of them"))
        _ = self.run

    @cached_property
    def run(self) -> Profile:
        """The run as DP-SGD, in one phase or several."""
        return profile_of_history(_read(self.file) if self.file is not None else self.history)

    def restated(self, relation: Neighbours) -> Profile:
        """Return the run for other neighbours."""
        return self.run.to_neighbours(relation)
