"""What is turned: roundings to the wrong side, margins inward, proofs that are taken for granted.

Each change is one that a slip of the pen could make, and that makes an answer say too much. Asked
for wide, it gives any slip: signs, ends of ranges, numbers, conditions, refusals left out. Many of
those change only how far something is from the best, or nothing at all.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants_of"]

_PAIRS = [
    ("float_above", "float_below"),
    ("float_ceiling", "float_floor"),
    ("decimal_ceiling", "decimal_floor"),
    ("ceiling_to_places", "floor_to_places"),
    ("ROUND_CEILING", "ROUND_FLOOR"),
    ("RoundUp", "RoundDown"),
    ("ceil", "floor"),
    ("upper", "lower"),
    ("abs_upper", "abs_lower"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("is_above", "is_below"),
]
_TURNED = dict(_PAIRS) | {right: left for left, right in _PAIRS}
# of these, only what is called as a method is a rounding; np.ceil and min() of counts are no matter
_METHODS = {"upper", "lower", "abs_upper", "abs_lower"}
# what is added or taken away for rounding, by the names it goes by
_MARGINS = ("off", "rounding", "slack", "radius", "pad", "margin", "error", "cover", "unit", "rad")
_COUNTS = {
    "bits", "cells", "count", "few", "index", "length", "longest", "needed", "number", "size",
    "splits", "times", "unknown", "used",
}  # fmt: skip
# where numbers are rational, so that "at least" and "more than" differ
_EXACT = ("curves/base.py", "interval.py", "ledger/", "measure/statements.py", "numeric/exact.py")
_ENDS = {"up": "down", "down": "up", "low": "high", "high": "low"}
_STRICT = {ast.LtE: "<", ast.Lt: "<=", ast.GtE: ">", ast.Gt: ">="}
# for wide ones
_NEGATED = {
    ast.LtE: ">", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_OTHER_SIGN = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_OTHER_SIDE = {"max": "min", "min": "max", "all": "any", "any": "all"}


@dataclass(frozen=True)
class Mutant:
    """One change of a source file.

    Attributes:
        path: the file, within the package.
        function: where it is, as Class.function.
        line: its line.
        before: what stood there.
        after: what is put there.
        number: which of several such changes in the function it is.
        start: its first byte in the file.
        stop: the byte after its last one.
    """

    path: str
    function: str
    line: int
    before: str
    after: str
    number: int
    start: int
    stop: int

    @property
    def key(self) -> str:
        """Name it in a way that other changes of the file do not disturb."""
        return f"{self.path} {self.function}: {self.before} -> {self.after} #{self.number}"

    def apply(self, source: bytes) -> bytes:
        """Return the changed file."""
        return source[: self.start] + self.after.encode() + source[self.stop :]


def mutants_of(path: str, source: bytes, *, wide: bool = False) -> list[Mutant]:
    """Return all changes of one file, in order.

    Args:
        path: its name, within the package.
        source: what is in it.
        wide: whether any slip is wanted, and not only those of rounding.
    """
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    count: Counter[tuple[str, str, str]] = Counter()
    found = []
    tree = ast.parse(source)
    # which of two balls overlap no number decides: "at least" and "more than" are proved alike
    proofs = [node for node in ast.walk(tree) if _is_proof(node)]
    of_balls = {id(part) for proof in proofs for part in ast.walk(proof)}
    in_functions = _in_functions(tree) if wide else set()
    seen = set()
    for function, node in _within(tree, ()):
        if isinstance(node, ast.Compare) and id(node) in of_balls and not wide:
            continue
        changes = list(_changes(node, path))
        if id(node) in in_functions:
            changes += _slips(node)
        for first, last, after in changes:
            start, stop = place(*first), place(*last)
            if (start, stop, after) in seen:
                continue
            seen.add((start, stop, after))
            before = source[start:stop].decode()
            if "\n" in before:
                before = " ".join(before.split())
            name = ".".join(function) or "module"
            count[name, before, after] += 1
            number = count[name, before, after]
            found.append(Mutant(path, name, first[0], before, after, number, start, stop))
    return sorted(found, key=lambda one: (one.start, one.after))


_Place = tuple[int, int]


def _is_proof(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "certainly"
    )


def _within(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _within(child, (*names, child.name))
        elif isinstance(child, ast.Import | ast.ImportFrom):
            continue
        else:
            yield names, child
            yield from _within(child, names)


def _changes(node: ast.AST, path: str) -> Iterator[tuple[_Place, _Place, str]]:
    """Give the start, the end and the new text of each change at a node."""
    exact = path.startswith(_EXACT)
    # the checker's own intervals, and the directions that it rounds in
    independent = path == "gdpbridge_verify/arithmetic.py"
    match node:
        case ast.Call() if _is_proof(node):
            yield _start(node), _end(node), "True"
        case ast.Call(func=ast.Name(id=name)) if name in _TURNED and name not in _METHODS:
            if name not in ("max", "min") or len(node.args) > 1:
                yield _start(node.func), _end(node.func), _TURNED[name]
        case ast.Call(func=ast.Attribute(attr=("nextafter")), args=[_, towards]):
            yield _start(towards), _end(towards), _opposite(towards)
        case ast.Call(func=ast.Attribute(attr=name)) if name in _TURNED:
            if not (name in _METHODS and node.args):
                yield _before_end(node.func, name), _end(node.func), _TURNED[name]
        case ast.Name(id=("ROUND_CEILING" | "ROUND_FLOOR" | "RoundUp" | "RoundDown") as name):
            yield _start(node), _end(node), _TURNED[name]
        case ast.Attribute(attr=("RoundUp" | "RoundDown") as name):
            yield _before_end(node, name), _end(node), _TURNED[name]
        case ast.BinOp(left=left, op=(ast.Add() | ast.Sub()) as op, right=right) if _is_margin(
            right
        ):
            sign = "-" if isinstance(op, ast.Add) else "+"
            yield _start(node), _end(node), f"{_bracketed(left)} {sign} {_bracketed(right)}"
        case ast.Attribute(attr=("up" | "down" | "low" | "high") as name) if independent:
            if isinstance(node.ctx, ast.Load):
                yield _before_end(node, name), _end(node), _ENDS[name]
        case ast.Compare(left=left, ops=[op], comparators=[right]) if (
            exact and type(op) in _STRICT and not _is_count(left) and not _is_count(right)
        ):
            yield (
                _start(node),
                _end(node),
                f"{ast.unparse(left)} {_STRICT[type(op)]} {ast.unparse(right)}",
            )


def _slips(node: ast.AST) -> Iterator[tuple[_Place, _Place, str]]:
    """Give any slip at a node, as _changes does."""
    match node:
        case ast.If(test=test, body=[ast.Raise(), *_]):
            yield _start(test), _end(test), "False"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            others = [_STRICT[type(op)]] if type(op) in _STRICT else []
            for other in [*others, _NEGATED[type(op)]]:
                yield _start(node), _end(node), f"{ast.unparse(left)} {other} {ast.unparse(right)}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OTHER_SIGN:
            whole = f"({ast.unparse(left)}) {_OTHER_SIGN[type(op)]} ({ast.unparse(right)})"
            yield _start(node), _end(node), f"({whole})"
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield _start(node), _end(node), f"({ast.unparse(operand)})"
        case ast.BoolOp(op=op, values=values):
            other = " or " if isinstance(op, ast.And) else " and "
            whole = other.join(f"({ast.unparse(value)})" for value in values)
            yield _start(node), _end(node), f"({whole})"
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_SIDE:
            yield _start(node.func), _end(node.func), _OTHER_SIDE[name]
        case ast.Call(func=ast.Name(id="range"), args=[*_, last]):
            for sign in "+-":
                yield _start(last), _end(last), f"{_bracketed(last)} {sign} 1"
        case ast.Constant(value=bool(value)):
            yield _start(node), _end(node), str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield _start(node), _end(node), str(value + 1)


def _in_functions(tree: ast.AST) -> set[int]:
    """Return the ids of what is run in functions, without annotations and messages."""
    found = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for line in function.body:
            skipped = {
                id(part)
                for node in ast.walk(line)
                if isinstance(node, ast.AnnAssign | ast.JoinedStr | ast.Raise | ast.Subscript)
                for part in ast.walk(_silent(node))
            }
            found |= {id(part) for part in ast.walk(line)} - skipped
    return found


def _silent(node: ast.AST) -> ast.AST:
    match node:
        case ast.AnnAssign(annotation=annotation):
            return annotation
        case ast.Subscript():
            return node.slice
    return node


def _start(node: ast.expr) -> _Place:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> _Place:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _before_end(node: ast.expr, name: str) -> _Place:
    line, column = _end(node)
    return line, column - len(name)


def _opposite(towards: ast.expr) -> str:
    text = ast.unparse(towards)
    if text in ("0.0", "0"):
        return "math.inf"
    return text[1:] if text.startswith("-") else f"-{text}"


def _bracketed(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BinOp | ast.IfExp) else text


def _is_count(node: ast.expr) -> bool:
    """Whether something is a length or a limit of work: one more or less proves the same."""
    match node:
        case ast.Call(func=ast.Name(id="len" | "working_precision")):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            name = name.strip("_").lower()
            return name in _COUNTS or name.startswith(("max_", "most_"))
        case ast.Call(func=function):
            return _is_count(function)
        case ast.BinOp(left=left, right=right):
            return _is_count(left) or _is_count(right)
    return False


def _is_margin(node: ast.expr) -> bool:
    """Whether something is there to cover rounding, as far as its name tells."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower().strip("_") in _MARGINS or name.lower().strip("_").endswith("_error")
        case ast.Call(func=function):
            return _is_margin(function)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return _is_margin(left) or _is_margin(right)
    return False
