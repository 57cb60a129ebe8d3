"""Functions of one thing that take a list of them too, and then return a list."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from gdpbridge.errors import InputError

__all__ = ["over_lists"]

F = TypeVar("F", bound=Callable[..., Any])


def over_lists(*names: str) -> Callable[[F], F]:
    """Let some arguments of a function be lists, of one length, and return a list then."""

    def decorated(function: F) -> F:
        signature = inspect.signature(function)

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not any(isinstance(one, list | tuple) for one in (*args, *kwargs.values())):
                return function(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            extra = given.pop("parameters", {})
            lists = {
                name: given[name] for name in names if isinstance(given.get(name), list | tuple)
            }
            if not lists:
                return function(*args, **kwargs)
            first, size = next((name, len(values)) for name, values in lists.items())
            for name, values in lists.items():
                if len(values) != size:
                    raise InputError(name, values, f"a list of {size}, as {first} is")
            return [
                function(
                    **{**given, **{name: values[at] for name, values in lists.items()}, **extra}
                )
                for at in range(size)
            ]

        return wrapped  # type: ignore[return-value]

    return decorated
