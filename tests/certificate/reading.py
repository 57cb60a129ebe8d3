"""How much of the checker somebody reads who wants to follow the check of one certificate.

That is the functions that the check enters, the parts of a document that it has, of a table of
kinds the rows of its own, and all else that stands outside of functions in their modules, blank
lines after what is not read excepted.
``python tests/certificate/reading.py FILE`` prints it module by module.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import json
import sys
import tokenize
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

import gdpbridge_verify
from gdpbridge_verify import check, document, evidence, reader
from gdpbridge_verify.kinds import KINDS

FOLDER = Path(gdpbridge_verify.__file__).parent
# where the parts of a document are declared
PARTS = {document.__file__, evidence.__file__}
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
# so much may be asked of somebody who reads it: of code, for any certificate of any kind or sort
MOST_CODE = 1500
# and for runs of several unlike mechanisms, and lines of rare noise
MOST_OF_SEVERAL = 1560
# and of all lines, with texts and comments
MOST_OF_KERNEL = 1500
SHORT = (
    "approx-dp", "bounded-range", "exponential", "gaussian", "gdp", "laplace", "matrix",
    "permute-and-flip", "pure-dp", "randomized-response", "report-noisy-max", "shuffled-epochs",
    "sparse-vector", "table", "tradeoff-function", "truncated-laplace",
)  # fmt: skip
MOST_READ = dict.fromkeys(SHORT, 1500)
MOST_OF_ANY = 2500
# what every certificate is checked by
KERNEL = (
    "refusal", "reader", "numbers", "document", "kinds", "parameters", "arithmetic", "curve",
    "profile", "statement", "check",
)  # fmt: skip


class Count(NamedTuple):
    """Lines of code, and all of them: with imports, texts, comments and blank lines."""

    code: int
    lines: int

    def plus(self, other: Count) -> Count:
        """Return both together."""
        return Count(self.code + other.code, self.lines + other.lines)


def total(counts: Iterable[Count]) -> Count:
    """Return all together."""
    return functools.reduce(Count.plus, counts, Count(0, 0))


@cache
def code_of(path: str) -> frozenset[int]:
    """The lines of a module that have code.

    Texts of documentation, comments and blank lines are none, nor what imports from elsewhere.
    """
    text = Path(path).read_text(encoding="utf-8")
    others: list[ast.stmt] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            others.append(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            others += node.body[:1] if ast.get_docstring(node, clean=False) else []
    without = {line for one in others for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            found |= set(range(token.start[0], token.end[0] + 1))
    return frozenset(found - without)


@cache
def definitions_of(path: str) -> tuple[list[str], dict[int, tuple[int, str]]]:
    """A module's lines, and by their first line where functions and classes end."""
    text = Path(path).read_text(encoding="utf-8")
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            is_class = isinstance(node, ast.ClassDef)
            found[first] = (node.end_lineno or first, node.name if is_class else "")
    return text.splitlines(), found


@cache
def rows_of(path: str) -> dict[int, str]:
    """The lines of a module's tables of kinds, and which kind's each of them is."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    tables = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict)
    ]
    return {
        line: key.value
        for table in tables
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and key.value in KINDS
        for line in range(key.lineno, (value.end_lineno or key.lineno) + 1)
    }


def lines_read(run: Callable[[], Any]) -> dict[str, Count]:
    """The lines of each module that a check is about."""
    entered: set[tuple[str, int]] = set()
    parts: set[str] = set()
    kinds: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        # the bodies of modules and classes are run when they are loaded
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        if event == "call" and path.startswith(str(FOLDER)) and is_function:
            entered.add((path, frame.f_code.co_firstlineno))
            if frame.f_code is reader._object.__code__:
                parts.add(frame.f_locals["kind"].__name__)
            if frame.f_code.co_qualname == "Ladder.__init__":
                mechanism = frame.f_locals["document"].mechanism
                kinds.update(mechanism[name] for name in mechanism if name.endswith("kind"))

    _forget()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    paths = {path for path, _ in entered} | PARTS
    return {Path(path).name: _lines_of(path, entered, parts, kinds) for path in sorted(paths)}


def most_read(text: bytes, folder: Path | None = None) -> Count:
    """The lines that are read for a document, which holds, or for one of its lemmas, the most.

    Each lemma is a certificate, and is read by itself; the document takes what they show as shown.
    """
    plain = json.loads(text)
    lemmas = plain.get("lemmas", [])
    own = {name: plain[name] for name in ("schema", "generator")}
    shown = [text]
    for number, one in enumerate(lemmas):
        shown.append(json.dumps({**own, **one, "lemmas": lemmas[:number]}).encode())
    return max(_read_but_for_lemmas(one, folder) for one in shown)


def _read_but_for_lemmas(text: bytes, folder: Path | None) -> Count:
    count, proved, found = len(json.loads(text).get("lemmas", ())), check._lines, list[bool]()

    def lines(one: document.Certificate, work: Any) -> list[str]:
        is_own = len(one.lemmas or ()) == count
        return proved(one, work) if is_own else ["", ""]

    with mock.patch.object(check, "_lines", lines):
        read = lines_read(lambda: found.append(check.verify(text, folder=folder).valid))
    assert found == [True]
    return total(read.values())


def _forget() -> None:
    """Empty every cache of the checker: what another check has found is read all the same."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == gdpbridge_verify.__name__:
            for one in vars(module).values():
                if hasattr(one, "cache_clear"):
                    one.cache_clear()


def lines_of_kernel() -> int:
    """All lines of the kernel, without the rows of a table of kinds."""
    paths = [str(FOLDER / f"{name}.py") for name in KERNEL]
    return sum(len(definitions_of(path)[0]) - len(rows_of(path)) for path in paths)


def _lines_of(path: str, entered: set[tuple[str, int]], parts: set[str], kinds: set[str]) -> Count:
    lines, found = definitions_of(path)
    # of each line the innermost definition tells whether it is read
    read = dict.fromkeys(range(1, len(lines) + 1), True)
    for first, (end, name) in sorted(found.items()):
        is_part = path in PARTS and name
        wanted = name in parts or name == "Certificate" if is_part else (path, first) in entered
        if not name or is_part:
            read.update(dict.fromkeys(range(first, end + 1), wanted))
    for row, kind in rows_of(path).items():
        if kind not in kinds:
            read[row] = False
    for number, line in enumerate(lines, 1):
        # what parts something from the next
        if not line.strip() and not read.get(number - 1, True):
            read[number] = False
    wanted_lines = {number for number in read if read[number]}
    return Count(len(wanted_lines & code_of(path)), len(wanted_lines))


def main() -> None:
    """Print the lines of each module, and of all."""
    from gdpbridge_verify import verify

    lines = lines_read(lambda: verify(Path(sys.argv[1]).read_bytes()))
    for name, (code, count) in sorted(lines.items(), key=lambda pair: -pair[1].code):
        print(f"{code:5} {count:5} {name}")
    print("{:5} {:5}".format(*total(lines.values())))


if __name__ == "__main__":
    main()
