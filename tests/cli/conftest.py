"""The command line, run in this process."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gdpbridge.cli import main


@dataclass(frozen=True)
class Done:
    """What a command line did."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document on standard output."""
        return json.loads(self.out, parse_constant=_refuse)

    @property
    def error(self) -> dict[str, Any]:
        """The error object on standard error."""
        document = json.loads(self.err, parse_constant=_refuse)
        assert set(document) == {"error"}
        return document["error"]

    @property
    def rows(self) -> dict[str, str]:
        """The rows of a text answer, by label, unwrapped."""
        found: dict[str, str] = {}
        label = ""
        for line in self.out.splitlines()[1:]:
            label = line[:13].strip() or label
            found[label] = f"{found.get(label, '')} {line[13:]}".strip()
        return found


Run = Callable[[str], Done]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line given as text, as for an 80-column terminal without colour."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("GDPBRIDGE_DEBUG", raising=False)

    def runner(text: str) -> Done:
        capsys.readouterr()
        status = main(shlex.split(text))
        shown = capsys.readouterr()
        return Done(int(status), shown.out, shown.err)

    return runner
