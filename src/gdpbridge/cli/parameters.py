"""A mechanism's parameters as words of the command line: declared, read, and shown by example.

What a parameter becomes follows from its declaration alone: a number is an option with a value, a
truth value a switch, a mapping an option that may be repeated (``--set A=2``), a list one option
(``--orders 2,4``, pairs as ``0:0.3,1:0.08``, rows as ``1,0;0.5,1``), a required text a word
without an option.
"""

from __future__ import annotations

import inspect
from copy import copy
from fractions import Fraction
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import exact

__all__ = ["PREFIX", "declared", "example_words", "fields_of", "is_shown", "is_word", "read"]

# keeps a mechanism's parameter apart from an option of the command with the same name
PREFIX = "parameter_"


def fields_of(cls: type[Profile]) -> dict[str, FieldInfo]:
    """Return what the command line asks for a kind of mechanism, by public name."""
    # a kind that overrides the relation gives its default only
    relation = copy(Profile.model_fields["neighbours"])
    relation.default = cls.model_fields["neighbours"].default
    typed = {
        name: field
        for name, field in cls.parameters().items()
        if "untyped" not in _extra(field) or _is_list(field)
    }
    return {**typed, "neighbours": relation}


def declared(name: str, field: FieldInfo) -> inspect.Parameter:
    """Declare a parameter as Typer wants it."""
    extra = _extra(field)
    about = f"{field.description}: {extra['allowed']}"
    annotation: Any
    default: Any
    if field.annotation is bool:
        option = typer.Option(_spellings(name)[0], help=field.description)
        annotation, default = Annotated[bool, option], False
    elif _is_mapping(field):
        option = typer.Option(_spellings(name)[0], metavar="NAME=NUMBER", help=about)
        annotation, default = Annotated[list[str] | None, option], None
    elif _is_list(field):
        about += f", such as {extra['typed']}"
        option = typer.Option(_spellings(name)[0], metavar="LIST", help=about)
        annotation, default = Annotated[str | None, option], None
    elif is_word(field):
        word = typer.Argument(metavar=name.upper(), help=about)
        needed = "instead" not in extra
        annotation = Annotated[str, word] if needed else Annotated[str | None, word]
        default = inspect.Parameter.empty if needed else None
    else:
        if field.default is not None and not field.is_required():
            shown = field.default if isinstance(field.default, str) else f"{field.default:g}"
            about += f" [default: {shown}]"
        choices = _choices(field)
        option = typer.Option(
            *_spellings(name),
            metavar=extra.get("symbol", "WORD"),
            help=about,
            show_default=False,
            autocompletion=(lambda: choices) if choices else None,
        )
        needed = field.is_required() and "instead" not in extra
        default = inspect.Parameter.empty if needed else None
        annotation = Annotated[str | None, option]
    return inspect.Parameter(
        PREFIX + name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def read(name: str, given: Any, field: FieldInfo) -> Any:
    """Read what was typed for a parameter; its range is the profile's to check.

    Raises:
        InputError: for a text that is not what the parameter is made of.
    """
    if _is_mapping(field):
        return _pairs(name, given)
    if _is_list(field):
        rows = [_row(name, row) for row in given.split(";")]
        return rows if len(rows) > 1 else rows[0]
    if "fraction" in _extra(field) and "/" in given:
        return given
    if "typical" in _extra(field):
        return _number(name, given, _extra(field)["allowed"])
    return given


def example_words(name: str, field: FieldInfo) -> list[str]:
    """Return words that give a required parameter a typical value."""
    if "example" in _extra(field):
        return [_spellings(name)[0], f"'{_extra(field)['example']}'"]
    if is_word(field):
        return [name.upper()]
    if choices := _choices(field):
        return [_spellings(name)[0], choices[0]]
    low, high = _extra(field)["typical"]
    return [_spellings(name)[0], f"{float(f'{(low * high) ** 0.5:.1g}'):g}"]


def _pairs(name: str, given: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        key, equals, number = text.partition("=")
        if not equals or key in found:
            raise InputError(name, text, "NAME=NUMBER, each name once, such as A=2")
        found[key] = _number(f"{name} {key}", number, "a finite number")
    return found


def _row(name: str, text: str) -> list[Any]:
    """Read numbers with commas or spaces between, or groups of them as in 0:0.3,1:0.08."""
    found: list[Any] = []
    for place, item in enumerate(text.replace(",", " ").split()):
        parts = [_number(f"{name}[{place}]", part, "a number") for part in item.split(":")]
        found.append(parts if len(parts) > 1 else parts[0])
    return found


def _number(name: str, text: str, allowed: str) -> float:
    if "/" in text:
        return _quotient(name, text, allowed)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise InputError(name, text, allowed) from None
    # a nonzero number that no float holds would be taken for 0
    if number == 0 and any(digit in "123456789" for digit in text.lower().partition("e")[0]):
        raise InputError(name, text, f"{allowed}, and 0 or at least 1e-307 in size")
    return number


def _quotient(name: str, text: str, allowed: str) -> float:
    """Read a quotient such as 1/2, where a decimal of a float's digits is the same number."""
    try:
        value = Fraction(text.replace(" ", ""))
        number = float(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError(name, text, allowed) from None
    if exact(number) != value:
        raise InputError(name, text, f"{allowed}; of quotients, one that is a decimal, as 1/2 is")
    return number


def _spellings(name: str) -> list[str]:
    """The names of a parameter's option; A may be written a."""
    return list(dict.fromkeys(f"--{text.replace('_', '-')}" for text in (name, name.lower())))


def _choices(field: FieldInfo) -> list[str]:
    """The words that a parameter may be, where it is one of some."""
    arms = (field.annotation, *get_args(field.annotation))
    return [word for arm in arms if get_origin(arm) is Literal for word in get_args(arm)]


def _is_mapping(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is dict


def _is_list(field: FieldInfo) -> bool:
    return "typed" in _extra(field)


def is_shown(field: FieldInfo) -> bool:
    """Whether an example gives it: what is required, or stands for it."""
    return field.is_required() or is_word(field) or "example" in _extra(field)


def is_word(field: FieldInfo) -> bool:
    """Whether a parameter is a word without an option: a required text, or declared as a word."""
    return (field.annotation is str and field.is_required()) or "word" in _extra(field)


def _extra(field: FieldInfo) -> dict[str, Any]:
    return cast(dict[str, Any], field.json_schema_extra)
