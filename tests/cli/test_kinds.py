"""``gdpbridge kinds`` lists the mechanisms, and shows what one of them declares."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gdpbridge.profiles import kinds
from gdpbridge_verify.kinds import KINDS


def test_a_line_on_each(run: Callable) -> None:
    """Every kind has one line, in order, with its summary."""
    done = run("kinds")
    assert (done.status, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()] == list(kinds())


@pytest.mark.parametrize("kind", list(kinds()))
def test_one_kind(run: Callable, kind: str) -> None:
    """A kind's page has its formula, what δ is, its parameters, and whether it has certificates."""
    shown = run(f"kinds {kind}").out
    (found,) = run(f"kinds {kind} --json").document["kinds"]
    assert found["certificate"] == (kind in KINDS)
    assert found["about"] in shown
    for name in kinds()[kind].parameters():
        assert f"--{name.replace('_', '-')}" in shown


def test_an_unknown_kind(run: Callable) -> None:
    """A misspelt kind is bad input, with a hint."""
    done = run("kinds lapace")
    assert done.status == 2
    assert "did you mean laplace?" in done.err
