"""Which expressions of a source file are balls: a small inference over its syntax tree.

It goes by annotations of parameters, fields and results across the whole package, and follows
assignments within a function. What it cannot tell counts as unknown.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Comparison", "comparisons_of_balls"]

BALL, OTHER, UNKNOWN = "ball", "other", "unknown"

_BALL_TYPES = {"arb", "arb_series", "arb_poly"}
# of flint: these methods of a ball give balls, all others plain numbers
_BALL_METHODS = {
    "abs_lower", "abs_upper", "coeffs", "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1",
    "intersection", "log", "log1p", "log_complement", "lower", "max", "mid", "min", "nan",
    "neg_inf", "pi", "pos_inf", "rad", "sqrt", "union", "upper",
}  # fmt: skip
# modules whose functions give no balls
_PLAIN_MODULES = {"np", "math", "bisect", "itertools", "functools"}
_PLAIN_CALLS = {"bool", "float", "int", "isinstance", "len", "range", "round", "str", "Fraction"}
_PASSED_ON = {"abs", "list", "max", "min", "next", "reversed", "set", "sorted", "sum", "tuple"}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(frozen=True)
class Comparison:
    """A comparison of what is, or may be, a ball."""

    path: str
    line: int
    text: str
    kind: str


def _joined(kinds: Iterable[str]) -> str:
    found = set(kinds)
    if BALL in found:
        return BALL
    return UNKNOWN if UNKNOWN in found else OTHER


@dataclass
class _Type:
    """What an annotation says: whether it is, or has, balls, of which class it is, its parts."""

    kind: str
    name: str = ""
    parts: tuple[_Type, ...] = ()


# names of types made of others, by module-level assignments
_aliases: dict[str, ast.expr] = {}


def _annotated(node: ast.expr | None) -> _Type:
    match node:
        case None:
            return _Type(UNKNOWN)
        case ast.Constant(value=str(text)):
            return _annotated(ast.parse(text, mode="eval").body)
        case ast.Name(id=name) if name in _aliases:
            return _annotated(_aliases[name])
        case ast.Subscript(value=ast.Name(id="tuple" | "dict" as name), slice=ast.Tuple(elts=elts)):
            parts = tuple(_annotated(one) for one in elts)
            kinds = [part.kind for part in parts]
            return _Type(kinds[-1] if name == "dict" else _joined(kinds), name, parts)
        case ast.Subscript(value=ast.Name(id="Callable"), slice=ast.Tuple(elts=[_, result])):
            return _annotated(result)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = [one for one in (left, right) if ast.unparse(one) != "None"]
            return _common([_annotated(one) for one in sides])
    text = ast.unparse(node)
    for sign in "[],|.'\"":
        text = text.replace(sign, " ")
    words = [word for word in text.split() if word != "None"]
    if _BALL_TYPES & set(words):
        return _Type(BALL)
    if {"Any", "Value", "Self", "T"} & set(words):
        return _Type(UNKNOWN)
    return _Type(OTHER, words[-1] if words else "")


@dataclass
class _Class:
    """A class: the types of its fields, and of the results of its methods."""

    fields: dict[str, _Type] = field(default_factory=dict)
    results: dict[str, _Type] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)


@dataclass
class _Known:
    """What annotations say across the package."""

    classes: dict[str, _Class] = field(default_factory=dict)
    functions: dict[str, list[_Type]] = field(default_factory=lambda: defaultdict(list))
    module: str = ""

    def key(self, name: str) -> str:
        """Return the name of a class, which for a private one is of this module alone."""
        return f"{self.module}:{name}" if name.startswith("_") else name

    def member(self, owner: str, name: str, where: str) -> _Type:
        """Return the type of a field or of a method's result, also if the owner is not known."""
        todo = [owner]
        while todo:
            one = self.classes.get(self.key(todo.pop()))
            if one is not None:
                found: dict[str, _Type] = getattr(one, where)
                if name in found:
                    return found[name]
                todo += one.bases
        everywhere = [
            getattr(one, where)[name]
            for one in self.classes.values()
            if name in getattr(one, where)
        ]
        return _common(everywhere)

    def function(self, name: str) -> _Type:
        """Return the type of a function's result."""
        return (
            _Type(OTHER, name)
            if self.key(name) in self.classes
            else _common(self.functions.get(name, []))
        )


def _common(types: list[_Type]) -> _Type:
    if not types:
        return _Type(UNKNOWN)
    names, parts = {one.name for one in types}, {len(one.parts) for one in types}
    common = ()
    if len(parts) == 1:
        common = tuple(
            _common(list(some)) for some in zip(*(one.parts for one in types), strict=True)
        )
    kind = _joined(one.kind for one in types)
    return _Type(kind, names.pop() if len(names) == 1 else "", common)


def _is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def _learn_names(tree: ast.Module, known: _Known) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            known.classes[known.key(node.name)] = _Class()


def _learn(tree: ast.Module, known: _Known) -> None:
    """Note the annotations of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            known.functions[node.name].append(_annotated(node.returns))
        if not isinstance(node, ast.ClassDef):
            continue
        one = known.classes[known.key(node.name)]
        one.bases += [base.id for base in node.bases if isinstance(base, ast.Name)]
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                one.fields[part.target.id] = _annotated(part.annotation)
            if isinstance(part, ast.FunctionDef):
                target = one.fields if _is_property(part) else one.results
                target[part.name] = _annotated(part.returns)


def _learn_aliases(tree: ast.Module, known: _Known) -> None:
    for node in tree.body:
        match node:
            # a constant is compared for being the same, which needs no balls
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value
            ):
                if name != "Constant" and name[:1].isupper() and name not in known.classes:
                    _aliases[name] = value


def _learn_fields(tree: ast.Module, known: _Known) -> None:
    """Follow assignments to attributes of self."""
    for owner, function, scope in _functions(tree, known):
        for node in ast.walk(function):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
                known.classes[known.key(owner)].fields[node.target.attr] = _annotated(
                    node.annotation
                )
            if isinstance(node, ast.Assign) and owner:
                for target in node.targets:
                    _learn_field(known.classes[known.key(owner)], scope, target, node.value)


def _learn_field(owner: _Class, scope: _Scope, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            _learn_field(owner, scope, one, part)
    elif isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
        owner.fields.setdefault(target.attr, scope.type(value))


class _Scope:
    """The types of the names in one function."""

    def __init__(self, known: _Known, owner: str, function: ast.FunctionDef) -> None:
        self.known = known
        self.names: dict[str, _Type] = {"self": _Type(OTHER, owner), "cls": _Type(OTHER, owner)}
        self.functions = {
            node.name: _annotated(node.returns)
            for node in ast.walk(function)
            if isinstance(node, ast.FunctionDef)
        }
        # functions within functions see its names
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                for one in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                    if one.arg not in ("self", "cls"):
                        self._add(one.arg, _annotated(one.annotation))
        # twice, so that what a loop assigns at its end is known at its beginning
        for _ in range(2):
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
                    self._add(name, self.type(value))
                case ast.NamedExpr(target=target, value=value):
                    self._assign(target, value)
                case (
                    ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over)
                ):
                    self._iterate(target, over)
                case ast.MatchStar(name=str(name)):
                    self._add(name, _Type(UNKNOWN))
                case ast.MatchClass(cls=ast.Name(id=owner), patterns=patterns):
                    fields = self.known.classes.get(self.known.key(owner), _Class()).fields.values()
                    for pattern, found in zip(patterns, fields, strict=False):
                        if isinstance(pattern, ast.MatchAs) and pattern.name:
                            self._add(pattern.name, found)

    def _iterate(self, target: ast.expr, over: ast.expr) -> None:
        match over:
            case ast.Call(func=ast.Name(id="range")):
                self._bind(target, _Type(OTHER))
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if isinstance(
                target, ast.Tuple
            ):
                self._bind(target.elts[0], _Type(OTHER))
                self._iterate(target.elts[1], inner)
            case ast.Call(func=ast.Name(id="zip"), args=parts) if isinstance(target, ast.Tuple):
                for name, part in zip(target.elts, parts, strict=False):
                    self._iterate(name, part)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) if isinstance(target, ast.Tuple):
                for one in elts:
                    self._assign(target, one)
            case _:
                found = self.type(over)
                # of a table, the keys
                self._bind(target, found.parts[0] if found.name == "dict" else found)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                for one, part in zip(names, values, strict=True):
                    self._assign(one, part)
            case _:
                self._bind(target, self.type(value))

    def _bind(self, target: ast.expr, found: _Type) -> None:
        match target:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                parts = found.parts if len(found.parts) == len(elts) else [found] * len(elts)
                for one, part in zip(elts, parts, strict=True):
                    self._bind(one, part)
            case ast.Starred(value=inner):
                self._bind(inner, found)
            case ast.Name(id=name):
                self._add(name, found)

    def _add(self, name: str, found: _Type) -> None:
        self.names[name] = _common([self.names.get(name, found), found])

    def type(self, node: ast.expr) -> _Type:
        """Tell what an expression is."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.Dict():
                return _Type(OTHER)
            case ast.Lambda(body=body):
                return self.type(body)
            case ast.Name(id=name):
                return self.names.get(name, _Type(OTHER if name.isupper() else UNKNOWN))
            case ast.UnaryOp(op=ast.Not()):
                return _Type(OTHER)
            case ast.Subscript(value=inner, slice=ast.Constant(value=int(index))):
                found = self.type(inner)
                return found.parts[index] if index < len(found.parts) else found
            case ast.Subscript(value=inner):
                found = self.type(inner)
                return found.parts[1] if found.name == "dict" else found
            case ast.UnaryOp(operand=inner) | ast.Starred(value=inner):
                return self.type(inner)
            case ast.NamedExpr(value=value):
                return self.type(value)
            case ast.BinOp(left=left, right=right):
                return _Type(_joined([self.type(left).kind, self.type(right).kind]))
            case ast.Tuple(elts=parts):
                types = tuple(self.type(part) for part in parts)
                return _Type(_joined(one.kind for one in types), "tuple", types)
            case ast.BoolOp(values=parts) | ast.List(elts=parts):
                return _common([self.type(part) for part in parts] or [_Type(OTHER)])
            case ast.Set(elts=parts):
                return _common([self.type(part) for part in parts])
            case ast.IfExp(body=body, orelse=other):
                return _common([self.type(body), self.type(other)])
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.SetComp(elt=elt):
                return self.type(elt)
            case ast.Attribute(value=ast.Name(id=name)) if name in _PLAIN_MODULES:
                return _Type(OTHER)
            case ast.Attribute(value=value, attr=attr):
                return self.known.member(self.type(value).name, attr, "fields")
            case ast.Call(func=function, args=arguments):
                return self._call(function, arguments)
        return _Type(UNKNOWN)

    def _call(self, function: ast.expr, arguments: list[ast.expr]) -> _Type:
        match function:
            case ast.Name(id=name) if name in _BALL_TYPES:
                return _Type(BALL)
            case ast.Name(id=name) if name in _PLAIN_CALLS:
                return _Type(OTHER)
            case ast.Name(id=name) if name in _PASSED_ON:
                types = [self.type(one) for one in arguments]
                return _common([one.parts[0] if one.name == "dict" else one for one in types])
            case ast.Name(id=name) if name in self.functions:
                return self.functions[name]
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name):
                return self.known.function(name)
            case ast.Attribute(value=ast.Name(id=("BALLS" | "SERIES"))):
                return _Type(BALL)
            case ast.Attribute(value=ast.Name(id=name)) if name in {*_PLAIN_MODULES, "FLOATS"}:
                return _Type(OTHER)
            case ast.Attribute(value=ast.Name(id="ops")):
                return _Type(UNKNOWN)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in self.names:
                # a module, as in gaussian.mu_of
                return self.known.function(attr)
            case ast.Attribute(value=value, attr=attr):
                inner = self.type(value)
                if inner.name == "dict" and inner.parts:
                    return inner if attr == "items" else inner.parts[1]
                if (inner.kind == BALL and not inner.name) or inner.name == "Probability":
                    return _Type(BALL if attr in _BALL_METHODS else OTHER)
                if attr in _BALL_METHODS and self.known.key(inner.name) not in self.known.classes:
                    return inner
                return self.known.member(inner.name, attr, "results")
        return _Type(UNKNOWN)


def _functions(
    tree: ast.AST, known: _Known, owner: str = ""
) -> Iterator[tuple[str, ast.FunctionDef, _Scope]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield owner, node, _Scope(known, owner, node)
        else:
            name = node.name if isinstance(node, ast.ClassDef) else owner
            yield from _functions(node, known, name)


def comparisons_of_balls(root: Path, excused: set[str]) -> list[Comparison]:
    """Return the comparisons of what is or may be a ball, in modules that can have one.

    Args:
        root: the package's folder.
        excused: functions whose arguments may hold such comparisons.
    """
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}
    known = _Known()
    with_balls = {path: tree for path, tree in trees.items() if _has_balls(tree)}
    for learn in (_learn_names, _learn_aliases, _learn):
        for path, tree in trees.items():
            known.module = str(path)
            learn(tree, known)
    for path, tree in with_balls.items():
        known.module = str(path)
        _learn_fields(tree, known)
    found = []
    for path, tree in with_balls.items():
        known.module = str(path)
        inside = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in excused
            for part in ast.walk(node)
        }
        for _, function, scope in _functions(tree, known):
            for node in ast.walk(function):
                if not isinstance(node, ast.Compare) or id(node) in inside:
                    continue
                if any(isinstance(op, _ORDER) for op in node.ops):
                    kind = _joined(scope.type(one).kind for one in (node.left, *node.comparators))
                    # "is the same" is asked of anything; of balls it is the question as well
                    same = all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
                    if kind == BALL or (kind == UNKNOWN and not same):
                        where = str(path.relative_to(root))
                        found.append(Comparison(where, node.lineno, ast.unparse(node), kind))
    return found


def _has_balls(tree: ast.Module) -> bool:
    """Whether a module imports anything that balls come from."""
    return any(
        isinstance(node, ast.ImportFrom)
        and ((node.module or "") == "flint" or (node.module or "").endswith("numeric.kinds"))
        for node in ast.walk(tree)
    )
