"""What may be typed next: commands, kinds, options and their values, for the shells to offer.

A shell's script (see :mod:`gdpbridge.cli.completion`) runs the program with the words typed so far
and :data:`ASKED` set in the environment. Each line of the answer is a word, a tab and what it is;
:data:`FILES` stands for the names of files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from typer.core import TyperOption

from gdpbridge.cli.commands import Group

__all__ = ["ASKED", "FILES", "completions"]

ASKED = "_GDPBRIDGE_COMPLETE"
FILES = ":files"

_PLACES = {"FILE", "FOLDER"}
_WIDEST = 80


def completions(program: Group, words: Sequence[str]) -> str:
    """Return the lines of the answer.

    Args:
        program: the command that all words belong to.
        words: those after the program's name, up to the one that is being typed, which may be "".
    """
    *before, current = words or [""]
    found = _Place(program, deque(before)).offers(current)
    lines = [
        word if word == FILES else f"{word}\t{' '.join((about or '').split())[:_WIDEST]}"
        for word, about in found
        if word == FILES or word.startswith(current)
    ]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


class _Place:
    """Where in the tree of commands the words before the cursor lead."""

    def __init__(self, command: Any, words: deque[str], parent: Any = None) -> None:
        self._command = command
        self._context = command.context_class(command, parent=parent, info_name=command.name)
        self._params = (
            command.leading_params(self._context)
            if isinstance(command, Group)
            else command.get_params(self._context)
        )
        self._options = {
            spelling: one
            for one in self._params
            if isinstance(one, TyperOption)
            for spelling in one.opts
        }
        self._words = deque(one for one in self._params if not isinstance(one, TyperOption))
        self._given: set[str] = set()
        self._open: TyperOption | None = None
        self._inner: _Place | None = None
        self._known = True
        self._read(words)

    def _read(self, words: deque[str]) -> None:
        while words and self._inner is None:
            word = words.popleft()
            if word.startswith("-") and word != "-":
                self._take(word, words)
            elif self._words:
                self._words.popleft()
            elif isinstance(self._command, Group):
                inner = self._command.get_command(self._context, word)
                self._known = inner is not None
                if inner is None:
                    return
                self._inner = _Place(inner, words, self._context)
                # what the group's words gave stands before the kind, and belongs to it
                self._inner.settle(self._given)

    def _take(self, word: str, words: deque[str]) -> None:
        spelling, equals, _ = word.partition("=")
        option = self._options.get(spelling)
        if option is None:
            return
        self._given.update(option.opts)
        if option.is_flag or equals:
            return
        if words:
            words.popleft()
        else:
            self._open = option

    def settle(self, given: set[str]) -> None:
        """Take options, and the words of a group, as given already."""
        self._given |= given
        parent = self._context.parent.command
        if isinstance(parent, Group):
            for _ in range(min(parent.own_words, len(self._words))):
                self._words.popleft()

    def offers(self, current: str) -> Iterator[tuple[str, str | None]]:
        """Yield what may stand here, and what it is."""
        if self._inner is not None:
            yield from self._inner.offers(current)
        elif self._open is not None:
            yield from self._values(self._open, current)
        elif self._known:
            # a word that is being typed is no option, unless it begins like one
            if not current.startswith("-"):
                yield from self._next_word(current)
            if current.startswith("-") or not (self._words or isinstance(self._command, Group)):
                yield from self._free_options()

    def _next_word(self, current: str) -> Iterator[tuple[str, str | None]]:
        if self._words:
            yield from self._values(self._words[0], current)
        elif isinstance(self._command, Group):
            yield from self._command.choices(self._context)

    def _values(self, param: Any, current: str) -> Iterable[tuple[str, str | None]]:
        if param.metavar in _PLACES:
            return [(FILES, None)]
        return [(one.value, one.help) for one in param.shell_complete(self._context, current)]

    def _free_options(self) -> Iterator[tuple[str, str | None]]:
        for spelling, option in self._options.items():
            if option.multiple or spelling not in self._given:
                yield spelling, option.help
