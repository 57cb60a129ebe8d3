"""Typer's commands and groups, with every parse problem told in one sentence.

The words are checked before Typer parses them, so that its own messages, which come with a usage
text, never show.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from gdpbridge.cli.errors import CommandLineError, Written, as_written, shown
from gdpbridge.cli.output import spelt_for
from gdpbridge.errors import InputError, did_you_mean

__all__ = ["Command", "Group", "leading_options"]

_WRITTEN = f"{__name__}.written"


class Command(TyperCommand):
    """A command that tells what is wrong with its words in one sentence."""

    def get_help(self, ctx: Any) -> str:
        """Return the help as standard output can hold it."""
        return spelt_for(sys.stdout, super().get_help(ctx))

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """Return --help, described in the words of the other options."""
        return _described(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check the words, then parse them."""
        ctx.meta[_WRITTEN] = _check(self.get_params(ctx), args, ctx.command_path)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an argument that the library refuses is named as it was typed."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise as_written(error, ctx.meta[_WRITTEN]) from error


def add_command(
    app: typer.Typer, name: str, action: Callable[..., object], *, summary: str, example: str
) -> None:
    """Add a command that names no mechanism.

    Args:
        app: where to add it.
        name: the command's name.
        action: called with the words and options that it declares.
        summary: what the command does, one sentence.
        example: a command line, without the program's name.
    """
    epilog = f"Example: gdpbridge {example}"
    app.command(name, cls=Command, help=summary, short_help=summary, epilog=epilog)(action)


class Group(TyperGroup):
    """A command whose first word chooses among others."""

    noun = "command"
    # how many words stand before the one that chooses
    own_words = 0

    def leading_params(self, ctx: Any) -> list[Any]:
        """Return the words and options that may stand before the choice."""
        return list(self.get_params(ctx))

    def choices(self, ctx: Any) -> list[tuple[str, str | None]]:
        """Return what may be chosen, with a sentence on each."""
        found: list[tuple[str, str | None]] = []
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            found.append((name, command.get_short_help_str(200)))
        return found

    def get_help(self, ctx: Any) -> str:
        """Return the help as standard output can hold it."""
        return spelt_for(sys.stdout, super().get_help(ctx))

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """Return --help, described in the words of the other options."""
        return _described(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check the options of the group and the first word, then parse them."""
        _, rest = leading_options(self.get_params(ctx), args, ctx.command_path)
        if len(rest) == len(args):
            self.check_choice(ctx, rest)
        return super().parse_args(ctx, args)

    def check_choice(self, ctx: Any, words: Sequence[str]) -> None:
        """Refuse a first word that is missing or unknown."""
        known = self.list_commands(ctx)
        one_of = f"one of {', '.join(known)}"
        if not words:
            raise CommandLineError(
                self.noun, None, f"{self.noun} is missing: {ctx.command_path} needs {one_of}"
            )
        if words[0] not in known:
            raise CommandLineError(
                self.noun,
                words[0],
                f"{self.noun} is {shown(words[0])}: must be {one_of}{self.hint(words[0], known)}",
            )

    def hint(self, word: str, known: Sequence[str]) -> str:
        """Return what may be meant by an unknown first word."""
        return did_you_mean(word, known)


def _described(option: TyperOption | None) -> TyperOption | None:
    if option is not None:
        option.help = "show this text"
    return option


def leading_options(
    params: Sequence[Any], args: Sequence[str], command: str
) -> tuple[list[str], list[str]]:
    """Split the words before the first that is neither an option nor an option's value.

    Raises:
        CommandLineError: for an unknown option, or one without its value.
    """
    options, words = _by_spelling(params), deque(args)
    while words and _is_option(words[0]):
        _take(options, words, command)
    taken = len(args) - len(words)
    return list(args[:taken]), list(words)


def _check(params: Sequence[Any], args: Sequence[str], command: str) -> dict[str, Written]:
    """Return what is written for each option, under each of its spellings.

    Raises:
        CommandLineError: for the first word that is wrong, or what is missing.
    """
    options, words = _by_spelling(params), deque(args)
    wanted = deque(param for param in params if not isinstance(param, TyperOption))
    written: dict[str, Written] = {}
    while words:
        if not _is_option(words[0]):
            word = words.popleft()
            if not wanted:
                raise CommandLineError(
                    word, None, f"{shown(word)} is one word too many for {command}"
                )
            many = wanted[0].nargs < 0
            name = (wanted[0] if many else wanted.popleft()).metavar
            # which of many words is wrong is for the error to say
            written[f"--{name.lower()}"] = Written(name, None if many else word)
            continue
        option, found = _take(options, words, command)
        if option.name == "help":
            return written
        if option.multiple:
            # which of its values is wrong is for the error to say
            found = Written(found.option)
        elif option.opts[0] in written:
            raise CommandLineError(
                found.option, found.value, f"{found.option} is given twice: give it once"
            )
        written.update(dict.fromkeys(option.opts, found))
    for word in (word for word in wanted if word.required):
        if f"--{word.metavar.lower()}" in written:
            continue
        raise _missing(word.metavar, command, word.help)
    for option in options.values():
        if option.opts[0] not in written:
            if option.required:
                raise _missing(option.opts[0], command, option.help)
            written.update(dict.fromkeys(option.opts, Written(option.opts[0])))
    return written


def _missing(name: str, command: str, what: str | None) -> CommandLineError:
    return CommandLineError(name, None, f"{name} is missing: {command} needs {what}")


def _by_spelling(params: Iterable[Any]) -> dict[str, TyperOption]:
    return {
        spelling: option
        for option in params
        if isinstance(option, TyperOption)
        for spelling in option.opts
    }


def _is_option(word: str) -> bool:
    # "-" alone is standard input
    return word.startswith("-") and word != "-"


def _take(
    options: Mapping[str, TyperOption], words: deque[str], command: str
) -> tuple[TyperOption, Written]:
    """Take an option and its value off the words."""
    spelling, equals, value = words.popleft().partition("=")
    option = options.get(spelling)
    if option is None:
        raise CommandLineError(
            spelling,
            None,
            f"{shown(spelling)} is not an option of {command}: must be one of "
            f"{', '.join(options)}{did_you_mean(spelling, options)}",
        )
    if option.is_flag:
        if equals:
            raise CommandLineError(spelling, value, f"{spelling} takes no value: it is a switch")
        return option, Written(spelling)
    if not equals:
        if not words or words[0].partition("=")[0] in options:
            raise CommandLineError(
                spelling, None, f"{spelling} has no value: must be followed by {option.help}"
            )
        value = words.popleft()
    return option, Written(spelling, value)
