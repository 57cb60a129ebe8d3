"""Checkpoints that ``torch.save`` writes: their plain values, read without torch.

A checkpoint is a zip archive with a pickle in it, and a pickle is a program that may name any
function and call it. Here its instructions are read one by one, and those that make plain data are
followed: numbers, texts, lists, tuples, dictionaries. Nothing is imported and nothing called: where
the program asks for a class, a call or a tensor, an :class:`Unread` stands in its place.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["Unread", "plain_values"]

# the values beside the tensors of the largest models take a few megabytes
_MAX_BYTES = 2**26
_MAX_INSTRUCTIONS = 5_000_000
_DATA = "data.pkl"
_ORDERED = "collections OrderedDict"


class Unread:
    """What is no plain value: a class, what a call would return, a tensor."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __repr__(self) -> str:
        return "an object that is not read"


def plain_values(source: Path | IO[bytes]) -> Any:
    """Return the value that a checkpoint holds, an :class:`Unread` in place of all but plain data.

    Args:
        source: the path of the archive, or the archive.

    Raises:
        ValueError: for what is no such archive, or a program that is not well formed.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            (entry,) = (one for one in archive.infolist() if Path(one.filename).name == _DATA)
            with archive.open(entry) as file:
                program = file.read(_MAX_BYTES + 1)
    # what a damaged archive raises is not written anywhere
    except Exception as error:
        raise ValueError(f"no {_DATA} could be read from it") from error
    if len(program) > _MAX_BYTES:
        raise ValueError(f"its {_DATA} is larger than {_MAX_BYTES >> 20} MiB")
    try:
        return _Machine().run(program)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"its {_DATA} is not well formed") from error


class _Machine:
    """The stack and the memory that a pickle's instructions work on."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memory: dict[int, Any] = {}

    def run(self, program: bytes) -> Any:
        for count, (code, argument, _) in enumerate(pickletools.genops(program)):
            if code.name == "STOP":
                return self.stack.pop()
            if count > _MAX_INSTRUCTIONS:
                raise ValueError("too many instructions")
            self._follow(code.name, argument)
        raise ValueError("no end")

    def _follow(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _UNREAD:
            # as many values as the instruction takes are gone
            del self.stack[len(self.stack) - _UNREAD[name] :]
            self.stack.append(Unread())
        elif name in _PUT:
            self.memory[len(self.memory) if argument is None else argument] = self.stack[-1]
        elif name in _GET:
            self.stack.append(self.memory[argument])
        elif name not in _NOTHING:
            _INSTRUCTIONS[name](self, argument)

    def mark(self, _: Any) -> None:
        self.marked.append(self.stack)
        self.stack = []

    def above_mark(self) -> list[Any]:
        """Return what was put on the stack since the last mark, which is gone."""
        found, self.stack = self.stack, self.marked.pop()
        return found

    def drop(self, _: Any) -> None:
        """Take what is given, as what stood above a mark, for nothing."""

    def pop(self, _: Any) -> None:
        self.stack.pop()

    def double(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def name_class(self, name: str) -> None:
        self.stack.append(Unread(name))

    def call(self, _: Any) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        ordered = isinstance(called, Unread) and called.name == _ORDERED and arguments == ()
        self.stack.append({} if ordered else Unread())

    def build(self, _: Any) -> None:
        # the state of an object, which is left out
        self.stack.pop()

    def gather(self, make: Callable[[list[Any]], Any]) -> None:
        # the stack is another one once the mark is gone
        made = make(self.above_mark())
        self.stack.append(made)

    def tuple_of(self, count: int) -> None:
        taken = tuple(self.stack[-count:])
        if len(taken) < count:
            raise ValueError("too few values")
        self.stack[-count:] = [taken]

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(values)
        elif not isinstance(target, Unread):
            raise TypeError("no list")

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            target.update(_pairs(values))
        elif not isinstance(target, Unread):
            raise TypeError("no dictionary")

    def take(self, count: int) -> list[Any]:
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken


def _pairs(values: list[Any]) -> dict[Any, Any]:
    return dict(zip(values[::2], values[1::2], strict=True))


_VALUES = frozenset(
    {
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
# what makes something else, with the number of values that it takes
_UNREAD = {
    "BINPERSID": 1,
    "EMPTY_SET": 0,
    "EXT1": 0,
    "EXT2": 0,
    "EXT4": 0,
    "NEWOBJ": 2,
    "NEWOBJ_EX": 3,
    "PERSID": 0,
}
_PUT = frozenset({"BINPUT", "LONG_BINPUT", "MEMOIZE", "PUT"})
_GET = frozenset({"BINGET", "GET", "LONG_BINGET"})
_NOTHING = frozenset({"FRAME", "PROTO"})
_INSTRUCTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "ADDITEMS": lambda machine, _: machine.append(machine.above_mark()),
    "APPEND": lambda machine, _: machine.append(machine.take(1)),
    "APPENDS": lambda machine, _: machine.append(machine.above_mark()),
    "BUILD": _Machine.build,
    "DICT": lambda machine, _: machine.gather(_pairs),
    "DUP": _Machine.double,
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "FROZENSET": lambda machine, _: machine.gather(lambda _: Unread()),
    "GLOBAL": _Machine.name_class,
    "INST": lambda machine, _: machine.gather(lambda _: Unread()),
    "LIST": lambda machine, _: machine.gather(list),
    "MARK": _Machine.mark,
    "OBJ": lambda machine, _: machine.gather(lambda _: Unread()),
    "POP": _Machine.pop,
    "POP_MARK": lambda machine, _: machine.drop(machine.above_mark()),
    "REDUCE": _Machine.call,
    "SETITEM": lambda machine, _: machine.set_items(machine.take(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.above_mark()),
    "STACK_GLOBAL": lambda machine, _: machine.name_class(" ".join(machine.take(2))),
    "TUPLE": lambda machine, _: machine.gather(tuple),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
}
