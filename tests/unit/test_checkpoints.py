"""Checkpoints of torch: their plain values are read, and nothing of them is run."""

from __future__ import annotations

import io
import os
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.reading.checkpoints import Unread, plain_values

HISTORY = [(1.1, 0.01, 500), (0.9, 0.02, 250)]
STATE = {"history": HISTORY, "mechanism": "rdp"}


class _Tensor:
    """Stands for a tensor, which a pickle makes of a storage that is kept elsewhere."""


class _Saver(pickle.Pickler):
    """Pickles as ``torch.save`` does: tensors by a function of torch and a persistent storage."""

    def persistent_id(self, value: Any) -> Any:
        return ("storage", Unread, "0", "cpu", 4) if isinstance(value, _Storage) else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, _Tensor):
            rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
            return rebuild, (_Storage(), 0, (2, 2), (2, 1), False, OrderedDict())
        return NotImplemented


class _Storage:
    """The numbers of a tensor."""


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> Callable[..., io.BytesIO]:
    """Writes a checkpoint in the layout of ``torch.save``."""
    utils = types.ModuleType("torch._utils")

    def _rebuild_tensor_v2(*_: object) -> None:
        raise AssertionError("called")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = (
        "torch._utils",
        "_rebuild_tensor_v2",
    )
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch._utils", utils)

    def save(value: Any, protocol: int = 2) -> io.BytesIO:
        program = io.BytesIO()
        _Saver(program, protocol).dump(value)
        return archived(program.getvalue())

    return save


def archived(program: bytes) -> io.BytesIO:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("run/data.pkl", program)
        file.writestr("run/data/0", b"\0" * 16)
        file.writestr("run/version", "3\n")
    archive.seek(0)
    return archive


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_plain_values(saved: Callable[..., io.BytesIO], protocol: int) -> None:
    """Plain values come back as they were at every protocol, tensors and objects as unread."""
    shared = [1, 2]
    plain = {
        "numbers": [0, 255, 65536, -1, 2**70, 0.1, float("inf")],
        "texts": ("", "ε", "x" * 70000),
        "truths": (True, False, None),
        "nested": {"a": {"b": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)]}},
        "twice": [shared, shared],
        3: "a number as a key",
    }
    ordered = OrderedDict(weight=1, bias=2)
    found = plain_values(
        saved({**plain, "model": OrderedDict(w=_Tensor()), "set": {1}, "o": ordered}, protocol)
    )
    assert isinstance(found.pop("model")["w"], Unread)
    assert isinstance(found.pop("set"), Unread)
    assert found.pop("o") == dict(ordered)
    assert found == plain
    assert found["twice"][0] is found["twice"][1]


def test_a_checkpoint_is_measured(saved: Callable[..., io.BytesIO], tmp_path: Path) -> None:
    """The history in a checkpoint with tensors is that of the accountant, without torch."""
    file = tmp_path / "checkpoint.pt"
    checkpoint = {"model": OrderedDict(w=_Tensor()), "accountant": STATE, "epoch": 3}
    file.write_bytes(saved(checkpoint).getvalue())
    sys.modules.pop("torch._utils")
    found = gdp.profiles.OpacusHistory(str(file))
    assert found.run == gdp.profiles.OpacusHistory(history=HISTORY).run


class _Evil:
    """Runs a command where a pickle is loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_nothing_is_run(tmp_path: Path, protocol: int) -> None:
    """A call in the program is not made: what it would return is unread."""
    value = {"evil": _Evil(tmp_path / "made"), **STATE}
    found = plain_values(archived(pickle.dumps(value, protocol)))
    assert isinstance(found["evil"], Unread)
    assert found["history"] == HISTORY
    assert not (tmp_path / "made").exists()


def test_many_references_to_one_value(saved: Callable[..., io.BytesIO], tmp_path: Path) -> None:
    """A value that stands in very many places is looked at once."""
    data: Any = {"history": HISTORY}
    for _ in range(8):
        data = {str(number): data for number in range(50)}
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(saved(data).getvalue())
    assert gdp.profiles.OpacusHistory(str(file)).run.kind == "sequence"


DAMAGED = {
    "no archive": b"PK\x03\x04 and no more",
    "no program": archived(b"").getvalue(),
    "cut off": archived(pickle.dumps(STATE, 2)[:-5]).getvalue(),
    "empty stack": archived(b"\x80\x02a.").getvalue(),
    "no mark": archived(b"\x80\x02t.").getvalue(),
    "unknown memory": archived(b"\x80\x02h\x07.").getvalue(),
    "list as key": archived(b"\x80\x02}]K\x01s.").getvalue(),
    "not an instruction": archived(b"\xff\xff").getvalue(),
    "old form": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged(tmp_path: Path, content: bytes) -> None:
    """What cannot be read is one sentence that says what to do instead."""
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"write json.dumps\(accountant.state_") as caught:
        gdp.profiles.OpacusHistory(str(file))
    assert caught.value.field == "file"
    assert "\n" not in str(caught.value)


def test_an_entry_that_is_no_number(saved: Callable[..., io.BytesIO], tmp_path: Path) -> None:
    """A tensor where a number should be is refused by its place."""
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(saved({"history": [(_Tensor(), 0.1, 5)]}).getvalue())
    with pytest.raises(InputError, match="noise_multiplier is an object that is not read"):
        gdp.profiles.OpacusHistory(str(file))
