"""How much of the checker somebody must read who wants to follow the check of one certificate.

Read are the functions that the check enters, and all that stands outside of functions in their
modules; ``python tests/certificate/reading.py FILE`` prints it module by module.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import gdpbridge_verify

FOLDER = Path(gdpbridge_verify.__file__).parent


@cache
def functions_of(path: str) -> tuple[int, dict[int, tuple[int, int]]]:
    """The lines of a module, and of its functions the first and last line by where they begin."""
    text = Path(path).read_text(encoding="utf-8")
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found[first] = (first, node.end_lineno or first)
    return len(text.splitlines()), found


def lines_read(check: Callable[[], Any]) -> dict[str, int]:
    """The lines of each module that a check is about."""
    entered: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(FOLDER)) and frame.f_code.co_name != "<module>":
            entered.add((path, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        check()
    finally:
        sys.setprofile(None)
    read = {}
    for path in {path for path, _ in entered}:
        total, functions = functions_of(path)
        left = set()
        for first, (start, end) in functions.items():
            if (path, first) not in entered:
                left |= set(range(start, end + 1))
        for first, (start, end) in functions.items():
            if (path, first) in entered:
                left -= {line for line in range(start, end + 1) if not _inner(line, path, entered)}
        read[Path(path).name] = total - len(left)
    return read


def _inner(line: int, path: str, entered: set[tuple[str, int]]) -> bool:
    """Whether a line is in a function that is not entered, though the one around it is."""
    around = [
        (end - start, first)
        for first, (start, end) in functions_of(path)[1].items()
        if start <= line <= end
    ]
    return (path, min(around)[1]) not in entered


if __name__ == "__main__":
    from gdpbridge_verify import verify

    lines = lines_read(lambda: verify(sys.argv[1]))
    for name, count in sorted(lines.items(), key=lambda pair: -pair[1]):
        print(f"{count:5} {name}")
    print(f"{sum(lines.values()):5}")
