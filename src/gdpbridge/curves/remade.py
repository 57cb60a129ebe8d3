"""Pickling of what is made of functions and balls, which do not pickle: it is made anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

__all__ = ["Plain", "Remade", "remade_from"]


class Remade:
    """What pickles as the call that made it, once :func:`remade_from` has said which."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        made_by: tuple[Any, ...] | None = self.__dict__.get("_made_by")
        # part of a curve alone pickles where it is plain data
        return made_by or super().__reduce_ex__(2)


class Plain:
    """What pickles without its cached properties."""

    def __getstate__(self) -> dict[str, Any]:
        def is_cached(name: str) -> bool:
            return isinstance(getattr(type(self), name, None), cached_property)

        return {name: value for name, value in vars(self).items() if not is_cached(name)}


def remade_from(made: Remade, maker: Callable[..., Any], *arguments: Any) -> None:
    """Say which call makes an object, unless that is known: the first one is its origin."""
    # past the guard of a frozen dataclass
    made.__dict__.setdefault("_made_by", (maker, arguments))
