"""Privacy profiles of mechanisms, as frozen values; each class is loaded when first named."""

from __future__ import annotations

from gdpbridge.profiles.registry import kinds, profile_class

__all__ = ["kinds", "profile_class"]


def __getattr__(name: str) -> object:
    if name == "Callable":
        # in no registry: a function can be written neither in a file nor on a command line
        from gdpbridge.profiles.function import Callable

        return Callable
    if name == "Sequence":
        # it has no words of its own either: in a file it is a list of parts
        from gdpbridge.profiles.sequence import Sequence

        return Sequence
    for cls in kinds().values():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "Callable", "Sequence", *(cls.__name__ for cls in kinds().values())])
