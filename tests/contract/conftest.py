"""What the contracts are tried on: every kind of the registry, with parameters drawn from it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from gdpbridge import profiles
from gdpbridge.curves.base import Form
from gdpbridge.mechanisms.base import Profile

# the tests here import what stands beside them
sys.path.insert(0, str(Path(__file__).parent))


def choices(field: FieldInfo) -> tuple[Any, ...]:
    """The values that a parameter may have, where it is no number: a switch's, or some words."""
    return (False, True) if field.annotation is bool else get_args(field.annotation)


def drawn_from(cls: type[Profile]) -> dict[str, FieldInfo]:
    """The parameters of a kind, without those that stand instead of others."""
    return {
        name: field
        for name, field in cls.parameters().items()
        if "alternative" not in (field.json_schema_extra or {})
    }


def drawable(cls: type[Profile]) -> bool:
    """Whether a kind is made of numbers with a typical range, switches and choices alone."""
    return all(
        "typical" in (field.json_schema_extra or {})
        or field.annotation is bool
        or get_origin(field.annotation) is Literal
        for field in drawn_from(cls).values()
    )


def typical(cls: type[Profile], which: int) -> dict[str, Any]:
    """An end of the typical range of each parameter, or a choice."""
    return {
        name: field.json_schema_extra["typical"][which]
        if "typical" in field.json_schema_extra
        else choices(field)[which]
        for name, field in drawn_from(cls).items()
    }


def exact(cls: type[Profile]) -> bool:
    """Whether a kind's curve is known exactly, not between bounds."""
    fields = cls.parameters()
    required = {name: at for name, at in typical(cls, 1).items() if fields[name].is_required()}
    return cls(**required).curve.form not in (Form.BETWEEN, Form.COMPOSED)


KINDS = {kind: cls for kind, cls in profiles.kinds().items() if drawable(cls)}
# those whose curve takes seconds; tests of their own try them
DEAR = ("random-allocation", "skellam")
EXACT = {kind: cls for kind, cls in KINDS.items() if kind not in DEAR and exact(cls)}


# each of their curves, and each proved point, solves equations anew: few parameters are tried, and
# what was solved is kept; tests of their own try others
SOLVED = ("zcdp",)
ENDS = st.sampled_from([0.0, 1.0, 0.5])


@st.composite
def numbers(draw: st.DrawFn, low: float, high: float, whole: bool, few: bool) -> float:
    """A number of the range: an end a third of the time, evenly in its logarithm else."""
    share = draw(ENDS if few else st.one_of(ENDS, st.floats(0, 1)))
    value = low * (high / low) ** share if low > 0 else low + (high - low) * share
    value = min(max(value, low), high)
    return math.floor(value) if whole else value


@st.composite
def parameters(draw: st.DrawFn, cls: type[Profile]) -> dict[str, Any]:
    """Parameters within the declared typical ranges; defaults are left out at times."""
    drawn = {}
    few = cls.model_fields["kind"].default in SOLVED
    for name, field in drawn_from(cls).items():
        extra: Any = field.json_schema_extra
        if not field.is_required() and draw(st.booleans()):
            continue
        if "typical" not in extra:
            drawn[name] = draw(st.sampled_from(choices(field)))
            continue
        low, high = extra["typical"]
        drawn[name] = draw(numbers(low, high, field.annotation is int, few))
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


@pytest.fixture(name="typical")
def typical_values() -> Any:
    """What returns typical values of a kind's parameters."""
    return typical


@pytest.fixture(name="parameters")
def parameters_strategy() -> Any:
    """The strategy that draws a kind's parameters."""
    return parameters
