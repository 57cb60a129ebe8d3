"""Which expressions of a source file are balls: a small inference over its syntax tree.

It goes by annotations of parameters, fields and results across the whole package, and follows
assignments within a function. What it cannot tell counts as unknown.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Comparison", "comparisons_of_balls"]

BALL, OTHER, UNKNOWN = "ball", "other", "unknown"

# of flint: these methods of a ball give balls, all others plain numbers
_BALL_METHODS = {
    "abs_lower", "abs_upper", "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "intersection",
    "log", "log1p", "lower", "max", "mid", "min", "neg_inf", "nan", "pos_inf", "pi", "rad", "sqrt",
    "union", "upper", "coeffs",
}  # fmt: skip
_BALL_TYPES = {"arb", "arb_series", "arb_poly"}
# which are a ball or a float, as the kind of number they are asked with
_OPERATIONS = {
    "constant", "exp", "log", "expm1", "log1p", "log1mexp", "log1pexp", "logaddexp", "sqrt", "erfc",
    "log_erfc", "absolute", "minimum", "power", "divide",
}  # fmt: skip
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(frozen=True)
class Comparison:
    """A comparison of what is, or may be, a ball."""

    path: str
    line: int
    text: str
    kind: str


@dataclass
class _Known:
    """What annotations say of names across the package."""

    results: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    fields: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def result(self, name: str) -> str:
        return _joined(self.results.get(name, {UNKNOWN}))

    def field(self, name: str) -> str:
        return _joined(self.fields.get(name, {UNKNOWN}))


def _joined(kinds: set[str] | list[str]) -> str:
    found = set(kinds)
    if BALL in found:
        return BALL
    return UNKNOWN if UNKNOWN in found else OTHER


def _annotated(node: ast.expr | None) -> str:
    if node is None:
        return UNKNOWN
    words = set(ast.unparse(node).replace("[", " ").replace("]", " ").replace(",", " ").split())
    if words & _BALL_TYPES or "Line" in words:
        return BALL
    return UNKNOWN if words & {"Any", "Value", "T", "Result"} else OTHER


def _targets(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for part in node.elts:
            yield from _targets(part)
    else:
        yield node


def _learn(tree: ast.Module, known: _Known) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            kind = _annotated(node.returns)
            known.results[node.name].add(kind)
            if any(ast.unparse(one).endswith("property") for one in node.decorator_list):
                known.fields[node.name].add(kind)
        if isinstance(node, ast.ClassDef):
            known.results[node.name].add(OTHER)
            for part in node.body:
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    known.fields[part.target.id].add(_annotated(part.annotation))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            known.fields[node.target.attr].add(_annotated(node.annotation))


def _learn_fields(tree: ast.Module, known: _Known) -> None:
    """Follow assignments to attributes."""
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        scope = _Scope(known, function, {})
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    scope.assign_fields(target, node.value)


class _Scope:
    """The kinds of the names in one function."""

    def __init__(self, known: _Known, function: ast.FunctionDef, outer: dict[str, str]) -> None:
        self.known = known
        self.names = dict(outer)
        arguments = function.args
        for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            self.names[one.arg] = _annotated(one.annotation)
        self.functions = {
            node.name: _annotated(node.returns)
            for node in ast.walk(function)
            if isinstance(node, ast.FunctionDef)
        }
        # twice, so that what a loop assigns at its end is known at its beginning
        self._follow(function)
        self._follow(function)

    def _follow(self, function: ast.FunctionDef) -> None:
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._assign(target, value)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    self.names[name] = _annotated(annotation)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    self._add(name, self.kind(value))
                case ast.NamedExpr(target=target, value=value):
                    self._assign(target, value)
                case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                    self._iterate(target, over)
                case ast.MatchStar(name=str(name)) | ast.MatchAs(name=str(name)):
                    self._add(name, UNKNOWN)

    def _iterate(self, target: ast.expr, over: ast.expr) -> None:
        match over:
            case ast.Call(func=ast.Name(id="range")):
                self._bind(target, OTHER)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if isinstance(
                target, ast.Tuple
            ):
                self._bind(target.elts[0], OTHER)
                self._iterate(target.elts[1], inner)
            case ast.Call(func=ast.Name(id="zip"), args=parts) if isinstance(target, ast.Tuple):
                for name, part in zip(target.elts, parts, strict=False):
                    self._iterate(name, part)
            case ast.Tuple(elts=elts) if isinstance(target, ast.Tuple):
                for one in elts:
                    self._assign(target, one)
            case _:
                self._bind(target, self.kind(over))

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                for one, part in zip(target.elts, value.elts, strict=True):
                    self._assign(one, part)
                return
        self._bind(target, self.kind(value))

    def assign_fields(self, target: ast.expr, value: ast.expr) -> None:
        """Note what is assigned to attributes."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, part in zip(target.elts, value.elts, strict=False):
                self.assign_fields(one, part)
            return
        for one in _targets(target):
            if isinstance(one, ast.Attribute) and one.attr not in self.known.fields:
                self.known.fields[one.attr].add(self.kind(value))

    def _bind(self, target: ast.expr, kind: str) -> None:
        for one in _targets(target):
            if isinstance(one, ast.Starred):
                one = one.value
            if isinstance(one, ast.Name):
                self._add(one.id, kind)

    def _add(self, name: str, kind: str) -> None:
        self.names[name] = _joined([self.names.get(name, kind), kind])

    def kind(self, node: ast.expr) -> str:
        """Tell what an expression is."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.Lambda() | ast.Dict():
                return OTHER
            case ast.Name(id=name):
                return self.names.get(name, OTHER if name.isupper() else UNKNOWN)
            case ast.UnaryOp(op=ast.Not()):
                return OTHER
            case ast.UnaryOp(operand=inner) | ast.Starred(value=inner) | ast.Subscript(value=inner):
                return self.kind(inner)
            case ast.BinOp(left=left, right=right):
                return _joined([self.kind(left), self.kind(right)])
            case ast.BoolOp(values=values):
                return _joined([self.kind(value) for value in values])
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return _joined([self.kind(one) for one in elts] or [OTHER])
            case ast.IfExp(body=body, orelse=other):
                return _joined([self.kind(body), self.kind(other)])
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.SetComp(elt=elt):
                return self.kind(elt)
            case ast.NamedExpr(value=value):
                return self.kind(value)
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(value, attr)
            case ast.Call():
                return self._call(node)
        return UNKNOWN

    def _attribute(self, value: ast.expr, attr: str) -> str:
        if isinstance(value, ast.Name) and value.id in ("np", "math"):
            return OTHER
        return self.known.field(attr)

    def _call(self, node: ast.Call) -> str:
        match node.func:
            case ast.Name(id=("arb" | "arb_series" | "arb_poly")):
                return BALL
            case ast.Name(
                id=("int" | "float" | "len" | "bool" | "str" | "isinstance" | "round" | "range")
            ):
                return OTHER
            case ast.Name(
                id=("max" | "min" | "abs" | "sum" | "sorted" | "list" | "tuple" | "set" | "reversed")
            ):
                return _joined([self.kind(one) for one in node.args])
            case ast.Name(id=name) if name in self.functions:
                return self.functions[name]
            case ast.Name(id=name):
                return self.known.result(name)
            case ast.Attribute(value=ast.Name(id=("np" | "math" | "bisect"))):
                return OTHER
            case ast.Attribute(value=ast.Name(id=("BALLS" | "SERIES"))):
                return BALL
            case ast.Attribute(value=ast.Name(id="FLOATS")):
                return OTHER
            case ast.Attribute(value=ast.Name(id="ops"), attr=attr) if attr in _OPERATIONS:
                return UNKNOWN
            case ast.Attribute(value=value, attr=attr):
                inner = self.kind(value)
                if inner == BALL:
                    return BALL if attr in _BALL_METHODS else OTHER
                if attr in _BALL_METHODS:
                    # of a Decimal, an array, or a probability
                    return inner if attr not in ("log", "log_complement") else BALL
                return self.known.result(attr)
        return UNKNOWN


def _functions(
    tree: ast.AST, known: _Known, outer: dict[str, str]
) -> Iterator[tuple[ast.FunctionDef, _Scope]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            scope = _Scope(known, node, outer)
            yield node, scope
            yield from _functions(node, known, scope.names)
        else:
            yield from _functions(node, known, outer)


def comparisons_of_balls(root: Path, excused: set[str]) -> list[Comparison]:
    """Return the comparisons of what is or may be a ball, in modules that can have one.

    Args:
        root: the package's folder.
        excused: functions whose arguments may hold such comparisons.
    """
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}
    known = _Known()
    for tree in trees.values():
        _learn(tree, known)
    for tree in trees.values():
        _learn_fields(tree, known)
    found: dict[tuple[str, int, int], Comparison] = {}
    for path, tree in trees.items():
        if not _has_balls(tree):
            continue
        inside = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in excused
            for part in ast.walk(node)
        }
        for function, scope in _functions(tree, known, {}):
            for node in ast.walk(function):
                if not isinstance(node, ast.Compare) or id(node) in inside:
                    continue
                if not any(isinstance(op, _ORDER) for op in node.ops):
                    continue
                kind = _joined([scope.kind(one) for one in (node.left, *node.comparators)])
                where = str(path.relative_to(root))
                key = where, node.lineno, node.col_offset
                # the innermost function knows best, and comes last
                if kind == OTHER:
                    found.pop(key, None)
                else:
                    found[key] = Comparison(where, node.lineno, ast.unparse(node), kind)
    return list(found.values())


def _has_balls(tree: ast.Module) -> bool:
    """Whether a module imports anything that balls come from."""
    return any(
        (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flint")
        or (isinstance(node, ast.ImportFrom) and (node.module or "").endswith("numeric.kinds"))
        for node in ast.walk(tree)
    )
