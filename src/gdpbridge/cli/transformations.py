"""What may be done to any mechanism: options that turn it into another one."""

from __future__ import annotations

import inspect
from collections.abc import Container, Mapping
from typing import Annotated, Any, cast, get_args

import typer

from gdpbridge.cli.parameters import PREFIX
from gdpbridge.errors import Advice, InputError
from gdpbridge.mechanisms.base import Neighbours, Profile

__all__ = ["declared_transformations", "transformed"]

_RATE = "a number in (0, 1], or draws/records such as 10/1000"
_SCHEMES = ["poisson", "without-replacement", "with-replacement"]
_RELATIONS = get_args(Neighbours)
_TIMES = "a whole number from 1 to 1000000"

_OPTIONS = {
    "subsample": ("RATE", f"run it on a random sample of the records: {_RATE}"),
    "scheme": (
        "NAME",
        f"how the sample is drawn: {', '.join(_SCHEMES[:-1])} or {_SCHEMES[-1]} [default: poisson]",
    ),
    "compose": ("K", f"run it K times, after --subsample: {_TIMES}"),
    "tune": (
        "MEAN",
        "release the best of a random number of runs, geometric with this mean: a number ≥ 1",
    ),
    "group": ("K", f"protect groups of K records, such as a user's: {_TIMES}"),
    "to_neighbours": (
        "RELATION",
        f"convert it to other neighbours, last of all: {', '.join(_RELATIONS[:-1])} or "
        f"{_RELATIONS[-1]}",
    ),
}
# how the library calls what is typed here
_TYPED = {
    "rate": "subsample",
    "sample": "subsample",
    "population": "subsample",
    "rate and sample/population": "subsample",
    "times": "compose",
    "mean": "tune",
    "size": "group",
}


def declared_transformations(taken: Container[str]) -> list[inspect.Parameter]:
    """Declare the options as Typer wants them.

    Args:
        taken: names of a command's own options; none are declared if one of these is among them.
    """
    if any(name in taken for name in _OPTIONS):
        return []
    return [
        inspect.Parameter(
            PREFIX + name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(
                    f"--{name.replace('_', '-')}",
                    metavar=metavar,
                    help=about,
                    autocompletion=(lambda: _SCHEMES) if name == "scheme" else None,
                ),
            ],
        )
        for name, (metavar, about) in _OPTIONS.items()
    ]


def transformed(profile: Profile, given: dict[str, Any]) -> Profile:
    """Apply the options, which are taken out of ``given``.

    Raises:
        InputError: for a value that is not allowed, under the name of its option.
    """
    typed = {name: given.pop(PREFIX + name, None) for name in _OPTIONS}
    try:
        return _applied(profile, typed)
    except InputError as error:
        field = _TYPED.get(error.field, error.field)
        raise error.renamed(field) from None


def _applied(profile: Profile, typed: Mapping[str, str | None]) -> Profile:
    share, scheme, times = typed["subsample"], typed["scheme"], typed["compose"]
    if share is not None:
        profile = profile.subsample(scheme=scheme or "poisson", **_sample(share))
    elif scheme is not None:
        raise InputError("scheme", scheme, Advice("give it together with --subsample"))
    if times is not None:
        profile = profile.compose(_whole("times", times, _TIMES))
    mean = typed["tune"]
    if mean is not None:
        profile = profile.tune(_number("mean", mean, "a number ≥ 1"))
    size = typed["group"]
    if size is not None:
        profile = profile.group(_whole("size", size, _TIMES))
    relation = typed["to_neighbours"]
    return profile if relation is None else profile.to_neighbours(cast(Neighbours, relation))


def _sample(text: str) -> dict[str, Any]:
    draws, slash, records = text.partition("/")
    if slash:
        sizes = (_whole("sample", part, _RATE) for part in (draws, records))
        return dict(zip(("sample", "population"), sizes, strict=True))
    return {"rate": _number("rate", text, _RATE)}


def _number(field: str, text: str, allowed: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(field, text, allowed) from None


def _whole(field: str, text: str, allowed: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(field, text, allowed) from None
