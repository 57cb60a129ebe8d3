"""Where a formula's line of constant height starts and ends: nothing is taken for granted.

δ̂ = 1/2 has h = 1/(2(1 + e^ε)): 0.25 at 0, and 0.1345 at 1.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from flint import arb

from gdpbridge.guarantees.envelope import _Run, _starts_at_one, _Sweep
from gdpbridge.numeric.decide import MorePrecisionError


def _segment(delta: str, off: float = 0.0) -> Any:
    value = arb(delta) + arb(0, off)
    return SimpleNamespace(
        is_log=False, log=lambda eps, _: (value + 0 * eps).log(), point=lambda _: value
    )


def _sweep(height: str, off: float = 0.0) -> Any:
    value = arb(height) + arb(0, off)
    return SimpleNamespace(line=SimpleNamespace(log_height=value.log))


def _run(delta: str, high: str) -> _Run:
    return _Run(arb(0), arb(high), 0, _segment(delta))


@pytest.mark.parametrize(("height", "below"), [("0.26", True), ("0.245", False), ("0.2", False)])
def test_a_narrow_run_is_below_a_line_only_where_that_is_certain(height: str, below: bool) -> None:
    """On [0, 0.1], h lies between 0.2375 and 0.25."""
    assert _Sweep._is_below(_sweep(height), _run("0.5", "0.1")) is below


@pytest.mark.parametrize(("height", "starts"), [("0.02", True), ("0.0099", False)])
def test_a_profile_starts_at_one_only_where_its_h_is_below(height: str, starts: bool) -> None:
    """1 - δ̂ = 0.01 bounds h."""
    assert _starts_at_one(_segment("0.99"), arb(1), _sweep(height).line) is starts


def test_a_height_that_is_not_known_well_is_taken_at_its_least() -> None:
    """h up to 0.25 may be above 0.25 ± 0.02, as 1 - δ̂ = 0.01 ± 0.005 above 0.01 and so on."""
    assert not _Sweep._is_below(_sweep("0.25", 0.02), _run("0.5", "0.1"))
    assert not _starts_at_one(_segment("0.99", 0.005), arb(1), _sweep("0.01").line)
    assert not _starts_at_one(_segment("0.99"), arb(1), _sweep("0.01", 0.005).line)


def test_a_crossing_is_bracketed_or_denied() -> None:
    """Between 0 and 1 a height of 0.2 is crossed, 0.3 is above all of h."""
    run = _run("0.5", "1")
    assert _Sweep._crossing(_sweep("0.2"), run) is not None
    assert _Sweep._crossing(_sweep("0.3"), run) is None


@pytest.mark.parametrize("height", ["0.25", "0.1", "0.13447071068499755"])
def test_a_crossing_that_is_not_certain_is_not_claimed(height: str) -> None:
    """At the height of the start itself, or where h is above to the end, or as good as that."""
    with pytest.raises(MorePrecisionError):
        _Sweep._crossing(_sweep(height), _run("0.5", "1"))
