"""Pickling of what is made of functions and balls, which do not pickle: it is made anew."""

from __future__ import annotations

import importlib
import reprlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["Described", "Plain", "Remade", "found_in"]


class _WithTail(Protocol):
    @property
    def tail(self) -> object:
        """Return its tail."""


C = TypeVar("C", bound=_WithTail)


class Remade:
    """What pickles as the call that made it, once :func:`found_in` has said which."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        made_by: tuple[Any, ...] | None = self.__dict__.get("_made_by")
        # part of a curve alone pickles where it is plain data
        return made_by or super().__reduce_ex__(2)


# long tables and texts are cut short
_SHORT = reprlib.Repr()
_SHORT.maxother, _SHORT.maxstring = 120, 80
_SHORT.maxlist = _SHORT.maxtuple = 4


class Plain:
    """What pickles without its cached properties."""

    def __getstate__(self) -> dict[str, Any]:
        def is_cached(name: str) -> bool:
            return isinstance(getattr(type(self), name, None), cached_property)

        return {name: value for name, value in vars(self).items() if not is_cached(name)}


class Described:
    """A pydantic model that pickles and copies as its fields and what was read of them."""

    def __getstate__(self) -> dict[Any, Any]:
        state: dict[Any, Any] = super().__getstate__()  # type: ignore[assignment]
        fields = type(self).model_fields  # type: ignore[attr-defined]
        return {**state, "__dict__": {name: state["__dict__"][name] for name in fields}}

    def __repr__(self) -> str:
        shown = [f"{name}={_SHORT.repr(value)}" for name, value in self._said()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __str__(self) -> str:
        return repr(self)

    def _said(self) -> Iterator[tuple[str, Any]]:
        """Return the parameters that are not what they are by themselves, by public name."""
        fields: Mapping[str, FieldInfo] = type(self).model_fields  # type: ignore[attr-defined]
        for name, info in fields.items():
            value, usual = getattr(self, name), info.get_default(call_default_factory=True)
            same = value is usual or (type(value) is type(usual) and bool(value == usual))
            if name != "kind" and not same:
                yield info.alias or name, value

    def _repr_html_(self) -> str:
        return str(importlib.import_module("gdpbridge.report.shown").html(self))

    def __deepcopy__(self, _: dict[int, Any] | None = None) -> Self:
        return self


def found_in(profile: object, curve: C) -> C:
    """Say whose a curve and its tail are, unless that is known: the first profile is the origin."""
    # past the guard of a frozen dataclass
    curve.__dict__.setdefault("_made_by", (getattr, (profile, "curve")))
    curve.tail.__dict__.setdefault("_made_by", (getattr, (profile, "tail")))
    return curve
