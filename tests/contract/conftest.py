"""What the contracts are tried on: every kind of the registry, with parameters drawn from it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import strategies as st

from gdpbridge import profiles
from gdpbridge.curves.base import Form
from gdpbridge.mechanisms.base import Profile


def drawable(cls: type[Profile]) -> bool:
    """Whether a kind is made of numbers with a typical range alone."""
    fields = cls.parameters().values()
    return all("typical" in (field.json_schema_extra or {}) for field in fields)


def exact(cls: type[Profile]) -> bool:
    """Whether a kind's curve is known exactly, not between bounds."""
    typical = {
        name: field.json_schema_extra["typical"][1]
        for name, field in cls.parameters().items()
        if field.is_required()
    }
    return cls(**typical).curve.form not in (Form.BETWEEN, Form.COMPOSED)


KINDS = {kind: cls for kind, cls in profiles.kinds().items() if drawable(cls)}
EXACT = {kind: cls for kind, cls in KINDS.items() if exact(cls)}


@st.composite
def numbers(draw: st.DrawFn, low: float, high: float, whole: bool) -> float:
    """A number of the range: an end a third of the time, evenly in its logarithm else."""
    share = draw(st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)))
    value = low * (high / low) ** share if low > 0 else low + (high - low) * share
    value = min(max(value, low), high)
    return math.floor(value) if whole else value


@st.composite
def parameters(draw: st.DrawFn, cls: type[Profile]) -> dict[str, Any]:
    """Parameters within the declared typical ranges; defaults are left out at times."""
    drawn = {}
    for name, field in cls.parameters().items():
        extra: Any = field.json_schema_extra
        if not field.is_required() and draw(st.booleans()):
            continue
        low, high = extra["typical"]
        drawn[name] = draw(numbers(low, high, field.annotation is int))
    return drawn


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def any_kind(request: pytest.FixtureRequest) -> type[Profile]:
    """Each kind in turn."""
    cls: type[Profile] = request.param
    return cls


@pytest.fixture(params=EXACT.values(), ids=list(EXACT))
def kind(request: pytest.FixtureRequest) -> type[Profile]:
    """Each kind whose curve is known exactly, in turn."""
    cls: type[Profile] = request.param
    return cls


@pytest.fixture(name="parameters")
def parameters_strategy() -> Any:
    """The strategy that draws a kind's parameters."""
    return parameters
