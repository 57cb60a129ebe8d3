"""Wherever a mechanism is named, the same words work: KIND and its options, then the command's.

A command is written as a function of a profile and of options declared as Typer wants them;
:func:`add_mechanism_command` makes one subcommand a kind of it. Kinds and their parameters come
from the registry: a new mechanism needs nothing here.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperOption
from typer.models import ArgumentInfo

from gdpbridge.cli.commands import Command, Group, leading_options
from gdpbridge.cli.errors import CommandLineError, shown
from gdpbridge.cli.output import Output
from gdpbridge.cli.parameters import (
    PREFIX,
    declared,
    example_words,
    fields_of,
    is_shown,
    is_word,
    read,
)
from gdpbridge.cli.specification import FROM_FILE, declared_file, names_file, read_file
from gdpbridge.cli.transformations import declared_transformations, transformed
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import find_class, kinds

__all__ = ["add_mechanism_command", "example", "mechanism_of"]

Action = Callable[..., Output]

# stands for the kind where none is named; no kind has this name
_ALONE = "numbers"


def add_mechanism_command(
    app: typer.Typer,
    name: str,
    action: Action,
    *,
    summary: str,
    epilog: str,
    within: str = "",
    required: str = "",
    alone: Action | None = None,
    complete: bool = True,
) -> None:
    """Add a command whose first words name a mechanism.

    Words that ``action`` declares itself, such as a data set, stand before the mechanism.

    Args:
        app: where to add it.
        name: the command's name.
        action: called with the profile and, by keyword, the options it declares.
        summary: what the command does, one sentence.
        epilog: the end of the command's help.
        within: the command that it is part of, if it is.
        required: words for examples that give the action's required options a value.
        alone: called, with the options it declares, where options stand without a mechanism.
        complete: whether the mechanism must be given whole; else ``action`` is called with the
            kind's class and the parameters that are given, in place of the profile.
    """
    path = f"{within} {name}".strip()
    typed = " ".join([*map(_metavar, _words(action)), "MECHANISM"])
    own = {
        "action": staticmethod(action),
        "path": path,
        "required": required,
        "alone": None if alone is None else staticmethod(alone),
        "complete": complete,
    }
    group = type("Mechanisms", (_Mechanisms,), own)
    app.add_typer(
        typer.Typer(cls=group, rich_markup_mode=None, add_completion=False),
        name=name,
        help=f"{summary} gdpbridge {path} {typed} --help lists the options.",
        short_help=summary,
        epilog=epilog,
        subcommand_metavar=f"{typed} [OPTIONS]",
    )


def mechanism_of(text: str, option: str) -> Profile:
    """Return the mechanism that words name, as an option takes them in one text.

    Args:
        text: KIND with its options, or --spec FILE.
        option: the option whose value it is, for errors.

    Raises:
        CommandLineError: if they name none.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandLineError(
            option, text, f"{option} is {shown(text)}: must be a mechanism ({error})"
        ) from None
    app = typer.Typer(cls=Group, rich_markup_mode=None, add_completion=False)
    app.callback()(lambda: None)
    add_mechanism_command(app, "mechanism", cast(Action, _itself), summary="", epilog="")
    command: Any = typer.main.get_command(app)
    found = command.main(args=["mechanism", *words], prog_name=option, standalone_mode=False)
    if not isinstance(found, Profile):
        raise CommandLineError(option, text, f"{option} is {shown(text)}: must be a mechanism")
    return found


def _itself(profile: Profile) -> Profile:
    return profile


class _Mechanisms(Group):
    """The kinds of the registry as subcommands, each made when it is asked for."""

    noun = "mechanism"
    action: Action
    path: str
    required: str
    alone: Action | None
    complete: bool

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the kinds."""
        return list(kinds())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Make the command of a kind, or of a file."""
        if cmd_name == FROM_FILE:
            return self._of_file
        if cmd_name == _ALONE and self.alone is not None:
            return _command(_ALONE, self.alone, _own(self.alone), "Numbers, not a mechanism.", "")
        cls = find_class(cmd_name)
        if cls is None:
            return None
        command = " ".join([self.path, *map(_metavar, _words(self.action))])
        words = f"{example(command, cls, whole=self.complete)} {self.required}".strip()
        make = _subcommand if self.complete else _incomplete
        return make(cls, self.action, words)

    def check_choice(self, ctx: Any, words: Sequence[str]) -> None:
        """Refuse a first word that is no kind; a kind is loaded without the others."""
        if not words or find_class(words[0]) is None:
            super().check_choice(ctx, words)

    def hint(self, word: str, known: Sequence[str]) -> str:
        """Return what may be meant, which may be a file in the place of a mechanism."""
        ending = Path(word).suffix.lower()
        if ending in (".toml", ".json"):
            return f" (did you mean --spec {word}?)"
        if ending in (".csv", ".parquet"):
            return f" (did you mean table {word}?)"
        return super().hint(word, known)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let the command's own options stand before the mechanism too, or --spec instead of it."""
        words, args = self._own_words(ctx, args)
        bare = args[0].startswith("-") if args else bool(words)
        # no kind is named in the first two, so that there is none to check
        if bare and names_file(args):
            return super(Group, self).parse_args(ctx, [FROM_FILE, *words, *args])
        if bare and self._stands_alone(ctx, args):
            return super(Group, self).parse_args(ctx, [_ALONE, *words, *args])
        if bare and args:
            params = self._without_mechanism.get_params(ctx)
            leading, rest = leading_options(params, args, ctx.command_path)
            if "--help" in leading:
                return super().parse_args(ctx, ["--help"])
            self.check_choice(ctx, rest)
            args = [rest[0], *leading, *rest[1:]]
        if words:
            self.check_choice(ctx, args)
        return super().parse_args(ctx, [*args[:1], *words, *args[1:]])

    def _own_words(self, ctx: Any, args: list[str]) -> tuple[list[str], list[str]]:
        """Split off the words that stand before the mechanism; its command takes them first.

        Raises:
            CommandLineError: if one is missing.
        """
        words, leading = list[str](), list[str]()
        for name in map(_metavar, _words(self.action)):
            taken, args = leading_options(self._all_params(ctx), args, ctx.command_path)
            leading += taken
            if "--help" in taken:
                return [], ["--help"]
            if not args:
                raise CommandLineError(
                    name, None, f"{name} is missing: {ctx.command_path} needs it"
                )
            words.append(args[0])
            args = args[1:]
        return words, [*leading, *args]

    def _all_params(self, ctx: Any) -> list[Any]:
        """The options that may stand before a mechanism, or without one."""
        params = self._without_mechanism.get_params(ctx)
        if self.alone is None:
            return params
        alone = _command(_ALONE, self.alone, _own(self.alone), "", "")
        return [*params, *alone.get_params(ctx)]

    def _stands_alone(self, ctx: Any, args: list[str]) -> bool:
        if self.alone is None or "--help" in args:
            return False
        # the name of a kind may also be what an option is given
        with suppress(CommandLineError):
            if not leading_options(self._all_params(ctx), args, ctx.command_path)[1]:
                return True
        return kinds().keys().isdisjoint(args)

    def leading_params(self, ctx: Any) -> list[Any]:
        """Return the action's own words, and the options that may stand before a mechanism."""
        options = [one for one in self._all_params(ctx) if isinstance(one, TyperOption)]
        if not self.complete:
            return options
        own = _command(self.path, self.action, _words(self.action), "", "").get_params(ctx)
        return [*own[: self.own_words], *options, self._of_file.get_params(ctx)[0]]

    @property
    def own_words(self) -> int:  # type: ignore[override]
        """How many words of the action's own stand before the mechanism."""
        return len(_words(self.action))

    def choices(self, ctx: Any) -> list[tuple[str, str | None]]:
        """Return the mechanisms."""
        return [(kind, _summary(cls)) for kind, cls in kinds().items()]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the mechanisms."""
        with formatter.section("Mechanisms"):
            formatter.write_dl(self.choices(ctx))

    @cached_property
    def _of_file(self) -> TyperCommand:
        action = self.action

        def run(**given: Any) -> Output:
            path = given.pop("spec")
            profile, release = read_file(path)
            written = given.get("output")
            if written is not None and Path(written).resolve() == Path(path).resolve():
                raise InputError("output", written, "another file than that of --spec")
            # a file of its own says more of the release than the mechanism's file does
            if "release" in given and given["release"] is None:
                given["release"] = release
            return action(transformed(profile, given), **given)

        options = [declared_file(), *_with_transformations(action)]
        return _command(FROM_FILE, run, options, "A mechanism that a file describes.", "")

    @cached_property
    def _without_mechanism(self) -> TyperCommand:
        own = _with_transformations(self.action) if self.complete else _options(self.action)[1:]
        return _command(self.path, self.action, own, "", "")


def _subcommand(cls: type[Profile], action: Action, words: str) -> TyperCommand:
    """The command for one kind of mechanism, with an example."""
    fields = fields_of(cls)

    def run(**given: Any) -> Output:
        parameters = _parameters(fields, given)
        return action(transformed(cls(**parameters), given), **given)

    own = [declared(name, field) for name, field in fields.items()]
    taken = _spellings(own)
    first = _words(action)
    others = [option for option in _with_transformations(action) if option not in first]
    options = [*first, *own, *(_without(option, taken) for option in others)]
    kind = cls.model_fields["kind"].default
    return _command(kind, run, options, _summary(cls), f"Example: {words}")


def _incomplete(cls: type[Profile], action: Action, words: str) -> TyperCommand:
    """The command for one kind of mechanism of which a parameter may be left out."""
    fields = {name: copy(field) for name, field in fields_of(cls).items()}
    for field in fields.values():
        if field.is_required() and not is_word(field):
            field.default = None

    def run(**given: Any) -> Output:
        return action(cls, _parameters(fields, given), **given)

    own = [declared(name, field) for name, field in fields.items()]
    taken = _spellings(own)
    options = [*own, *(_without(option, taken) for option in _options(action)[1:])]
    kind = cls.model_fields["kind"].default
    return _command(kind, run, options, _summary(cls), f"Example: {words}")


def _parameters(fields: Mapping[str, FieldInfo], given: dict[str, Any]) -> dict[str, Any]:
    """Take what was typed for a mechanism out of ``given``, and read it."""
    typed = {field: given.pop(PREFIX + field) for field in fields}
    return {
        field: read(field, value, fields[field])
        for field, value in typed.items()
        if value is not None
    }


def _without(option: inspect.Parameter, taken: set[str]) -> inspect.Parameter:
    """Leave a spelling to the mechanism's parameter that has it too; another one must remain."""
    free = _spellings([option]) - taken
    if free == _spellings([option]):
        return option
    kind, info = get_args(option.annotation)
    info = copy(info)
    info.default, *info.param_decls = sorted(free)
    return option.replace(annotation=Annotated[kind, info])


def _spellings(options: Iterable[inspect.Parameter]) -> set[str]:
    found: set[str] = set()
    for option in options:
        info = get_args(option.annotation)[1]
        # within Annotated, Typer takes the first spelling for the default at first
        given = [
            word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str)
        ]
        found.update(given or [f"--{option.name.replace('_', '-')}"])
    return found


def _with_transformations(action: Action) -> list[inspect.Parameter]:
    """The options that an action declares, after what may be done to any mechanism."""
    own = _options(action)
    # what the action does itself is not done twice
    taken = {option.name for option in own}
    return [*declared_transformations(taken), *own]


def _options(action: Action) -> list[inspect.Parameter]:
    """The options that an action declares, which are all its arguments but the profile."""
    return _own(action)[1:]


def _words(action: Action) -> list[inspect.Parameter]:
    """The words that an action declares, which stand before the mechanism."""
    return [one for one in _options(action) if isinstance(_info(one), ArgumentInfo)]


def _metavar(word: inspect.Parameter) -> str:
    return str(_info(word).metavar)


def _info(option: inspect.Parameter) -> Any:
    return get_args(option.annotation)[1]


def _own(action: Action) -> list[inspect.Parameter]:
    return list(inspect.signature(action, eval_str=True).parameters.values())


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


def example(command: str, cls: type[Profile], *, whole: bool = True) -> str:
    """A command line for a kind of mechanism, with typical values; else without one to be found."""
    words = ["gdpbridge", command, cls.model_fields["kind"].default]
    needed = {n: f for n, f in cls.parameters().items() if is_shown(f)}
    free = [n for n, f in needed.items() if cast(Any, f.json_schema_extra or {}).get("effect")]
    if not whole and free:
        del needed[free[-1]]
    for name, field in needed.items():
        words += example_words(name, field)
    if not whole and not free:
        words.append("--parameter times")
    return " ".join(words)
