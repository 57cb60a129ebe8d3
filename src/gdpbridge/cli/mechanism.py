"""Wherever a mechanism is named, the same words work: KIND and its options, then the command's.

A command is written as a function of a profile and of options declared as Typer wants them;
:func:`add_mechanism_command` makes one subcommand a kind of it. Kinds and their parameters come
from the registry: a new mechanism needs nothing here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Annotated, Any, cast

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from gdpbridge.cli.commands import Command, Group, leading_options
from gdpbridge.cli.output import Output
from gdpbridge.errors import InputError
from gdpbridge.profiles import kinds
from gdpbridge.profiles.base import Profile

__all__ = ["add_mechanism_command", "example"]

Action = Callable[..., Output]

# keeps a mechanism's parameter apart from an option of the command with the same name
_PREFIX = "parameter_"


def add_mechanism_command(
    app: typer.Typer, name: str, action: Action, *, summary: str, epilog: str
) -> None:
    """Add a command whose first words name a mechanism.

    Args:
        app: where to add it.
        name: the command's name.
        action: called with the profile and, by keyword, the options it declares.
        summary: what the command does, one sentence.
        epilog: the end of the command's help.
    """

    class Mechanisms(_Mechanisms):
        pass

    Mechanisms.action = staticmethod(action)
    app.add_typer(
        typer.Typer(cls=Mechanisms, rich_markup_mode=None, add_completion=False),
        name=name,
        help=f"{summary} Each mechanism has a --help of its own.",
        short_help=summary,
        epilog=epilog,
        subcommand_metavar="MECHANISM [OPTIONS]",
        options_metavar="",
    )


class _Mechanisms(Group):
    """The kinds of the registry as subcommands, each made when it is asked for."""

    noun = "mechanism"
    action: Action

    def list_commands(self, ctx: Any) -> list[str]:
        return list(kinds())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        cls = kinds().get(cmd_name)
        return None if cls is None else _subcommand(self.name or "", cls, self.action)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let the command's own options stand before the mechanism too."""
        if args and args[0].startswith("-"):
            params = self._without_mechanism.get_params(ctx)
            leading, rest = leading_options(params, args, ctx.command_path)
            if "--help" in leading:
                rest, leading = ["--help"], []
            else:
                self.check_choice(ctx, rest)
            args = [rest[0], *leading, *rest[1:]]
        return super().parse_args(ctx, args)

    @cached_property
    def _without_mechanism(self) -> TyperCommand:
        return _command(self.name or "", self.action, "", "")


def _subcommand(name: str, cls: type[Profile], action: Action) -> TyperCommand:
    """The command for one kind of mechanism."""
    fields = _fields(cls)

    def run(**given: Any) -> Output:
        typed = {field: given.pop(_PREFIX + field) for field in fields}
        parameters = {
            field: _value(field, text, fields[field])
            for field, text in typed.items()
            if text is not None
        }
        return action(cls(**parameters), **given)

    own = list(inspect.signature(action, eval_str=True).parameters.values())[1:]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*(_option(name, field) for name, field in fields.items()), *own]
    )
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]
    kind = cls.model_fields["kind"].default
    return _command(kind, run, summary, f"Example: {example(name, cls)}")


def _command(name: str, function: Action, summary: str, epilog: str) -> TyperCommand:
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(name, cls=Command, help=summary, epilog=epilog)(function)
    return cast(TyperCommand, typer.main.get_command(alone))


def example(command: str, cls: type[Profile]) -> str:
    """A command line that works, for a kind of mechanism."""
    words = ["gdpbridge", command, cls.model_fields["kind"].default]
    for name, field in cls.parameters().items():
        if field.is_required():
            low, high = _extra(field)["typical"]
            words += [_spellings(name)[0], f"{float(f'{(low * high) ** 0.5:.1g}'):g}"]
    return " ".join(words)


def _fields(cls: type[Profile]) -> Mapping[str, FieldInfo]:
    # a kind that overrides the relation gives its default only
    relation = copy(Profile.model_fields["neighbours"])
    relation.default = cls.model_fields["neighbours"].default
    return {**cls.parameters(), "neighbours": relation}


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    """Declare a parameter of a mechanism as an option of the command line."""
    extra = _extra(field)
    about = f"{field.description}: {extra['allowed']}"
    if field.default is not None and not field.is_required():
        shown = field.default if isinstance(field.default, str) else f"{field.default:g}"
        about += f" [default: {shown}]"
    declared = typer.Option(
        *_spellings(name), metavar=extra.get("symbol", "RELATION"), help=about, show_default=False
    )
    return inspect.Parameter(
        _PREFIX + name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else None,
        annotation=Annotated[str | None, declared],
    )


def _spellings(name: str) -> list[str]:
    """The names of a parameter's option; A may be written a."""
    return list(dict.fromkeys(f"--{text.replace('_', '-')}" for text in (name, name.lower())))


def _value(name: str, text: str, field: FieldInfo) -> float | int | str:
    """Read a parameter's value; its range is the profile's to check.

    Raises:
        InputError: for a text that is no number, or one too small for a float.
    """
    extra = _extra(field)
    if "typical" not in extra:
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise InputError(name, text, extra["allowed"]) from None
    if number == 0 and any(digit in "123456789" for digit in text.lower().partition("e")[0]):
        raise InputError(name, text, f"{extra['allowed']}, and 0 or at least 1e-307 in size")
    return number


def _extra(field: FieldInfo) -> dict[str, Any]:
    return cast(dict[str, Any], field.json_schema_extra)
