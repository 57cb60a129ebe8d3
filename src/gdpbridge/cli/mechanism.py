"""Wherever a mechanism is named, the same words work: KIND and its options, then the command's.

A command is written as a function of a profile and of options declared as Typer wants them;
:func:`add_mechanism_command` makes one subcommand a kind of it. Kinds and their parameters come
from the registry: a new mechanism needs nothing here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

import typer
from typer.core import TyperCommand

from gdpbridge.cli.commands import Command, Group, leading_options
from gdpbridge.cli.output import Output
from gdpbridge.cli.parameters import PREFIX, declared, example_words, fields_of, read
from gdpbridge.profiles import kinds
from gdpbridge.profiles.base import Profile

__all__ = ["add_mechanism_command", "example"]

Action = Callable[..., Output]


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
    group = type("Mechanisms", (_Mechanisms,), {"action": staticmethod(action)})
    app.add_typer(
        typer.Typer(cls=group, rich_markup_mode=None, add_completion=False),
        name=name,
        help=f"{summary} gdpbridge {name} MECHANISM --help lists the options.",
        short_help=summary,
        epilog=epilog,
        subcommand_metavar="MECHANISM [OPTIONS]",
    )


class _Mechanisms(Group):
    """The kinds of the registry as subcommands, each made when it is asked for."""

    noun = "mechanism"
    action: Action

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the kinds."""
        return list(kinds())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Make the command of a kind."""
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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the mechanisms."""
        with formatter.section("Mechanisms"):
            formatter.write_dl([(kind, _summary(cls)) for kind, cls in kinds().items()])

    @cached_property
    def _without_mechanism(self) -> TyperCommand:
        return _command(self.name or "", self.action, _options(self.action), "", "")


def _subcommand(name: str, cls: type[Profile], action: Action) -> TyperCommand:
    """The command for one kind of mechanism."""
    fields = fields_of(cls)

    def run(**given: Any) -> Output:
        typed = {field: given.pop(PREFIX + field) for field in fields}
        parameters = {
            field: read(field, value, fields[field])
            for field, value in typed.items()
            if value is not None
        }
        return action(cls(**parameters), **given)

    options = [*(declared(name, field) for name, field in fields.items()), *_options(action)]
    kind = cls.model_fields["kind"].default
    return _command(kind, run, options, _summary(cls), f"Example: {example(name, cls)}")


def _options(action: Action) -> list[inspect.Parameter]:
    """The options that an action declares, which are all its arguments but the profile."""
    return list(inspect.signature(action, eval_str=True).parameters.values())[1:]


def _command(
    name: str, action: Action, options: list[inspect.Parameter], summary: str, epilog: str
) -> TyperCommand:
    """Make a command that calls ``action`` with the options given."""

    def run(**given: Any) -> Output:
        return action(**given)

    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(name, cls=Command, help=summary, epilog=epilog)(run)
    return cast(TyperCommand, typer.main.get_command(alone))


def _summary(cls: type[Profile]) -> str:
    return inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]


def example(command: str, cls: type[Profile]) -> str:
    """A command line for a kind of mechanism, with typical values."""
    words = ["gdpbridge", command, cls.model_fields["kind"].default]
    for name, field in cls.parameters().items():
        if field.is_required():
            words += example_words(name, field)
    return " ".join(words)
