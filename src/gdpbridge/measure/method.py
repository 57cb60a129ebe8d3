"""Measuring methods: what each is called, proves and handles, and where they are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gdpbridge import plugins
from gdpbridge.curves.base import Form
from gdpbridge.errors import InputError
from gdpbridge.measure import methods
from gdpbridge.measure.problem import Answer, Problem

__all__ = [
    "COMPOSED_TOL",
    "DEFAULT_METHOD",
    "DEFAULT_TOL",
    "FLOATS",
    "PROVED",
    "TRUSTED",
    "Assurance",
    "Method",
    "default_method",
    "method_for",
    "method_named",
    "method_names",
    "register_method",
]

DEFAULT_TOL = 1e-9
# where losses are composed on lattices, between two laws
COMPOSED_TOL = 1e-6

DEFAULT_METHOD = "certified"
"""It stands for the method that proves, if any does for a form of curves, or else the best one."""

_DEFAULTS = {
    Form.SMOOTH: "certified",
    Form.LINEAR: "breakpoints",
    Form.COMPOSED: "composed",
    Form.POINTS: "tangents",
    Form.BETWEEN: "between",
    Form.VALUES: "adaptive",
}


@dataclass(frozen=True)
class Assurance:
    """What stands behind the ends of an interval for μ.

    Attributes:
        basis: what they rest on, in the words of a table.
        ends: the same as the end of a sentence about the interval.
        claim: what is proved, as a sentence; empty if nothing is.
        caveat: what is not, as a sentence; empty if all is, or is said elsewhere.
    """

    basis: str
    ends: str
    claim: str = ""
    caveat: str = ""


PROVED = Assurance(
    basis="both ends proved in ball arithmetic",
    ends="both ends are proved",
    claim="Both ends of the interval for μ are proved in ball arithmetic.",
)
TRUSTED = Assurance(
    basis="none: it rests on what is taken on trust",
    ends="not proved, as it rests on what is taken on trust",
    caveat="The interval for μ rests on what is taken on trust, and is not proved.",
)
FLOATS = Assurance(
    basis="none: computed in floating point",
    ends="computed in floating point, not proved",
    caveat="The interval for μ was computed in floating point and is not proved.",
)


@dataclass(frozen=True)
class Method:
    """A way to find the supremum of G(ε) = μ(ε, δ(ε)) on a range.

    Attributes:
        name: what users call it; inside the package, that of its module.
        sentence: how it finds the interval for μ, as words that follow "By".
        assurance: what stands behind the answer.
        handles: the forms of curves that it can measure.
        unfit: why it cannot measure others, as words that follow "certified:".
        solve: answers a problem. It raises a WorkLimitError beyond its stated limit.
        default_tol: the width asked for where none is given.
        keeps_to_tol: whether it either comes to the width asked for or fails; else it may miss
            a default one, or be much narrower where μ is small.
        no_certificate: why its answers have none, as a sentence; empty where they may have one.
    """

    name: str
    sentence: str
    assurance: Assurance
    handles: frozenset[Form]
    solve: Callable[[Problem], Answer]
    unfit: str = "its curve is known in another form than this method asks for"
    default_tol: float = DEFAULT_TOL
    keeps_to_tol: bool = True
    no_certificate: str = ""

    def check(self, form: Form) -> None:
        """Refuse curves of another form.

        Raises:
            InputError: if the method cannot measure them.
        """
        if form in self.handles:
            return
        if form in (Form.BETWEEN, Form.COMPOSED):
            allowed = f"certified or {_DEFAULTS[form]}: the curve is not known exactly"
        else:
            allowed = f"certified: {self.unfit}"
        raise InputError("method", self.name, allowed)


_registered: dict[str, Method] = {}


def register_method(method: Method) -> Method:
    """Make a method known under its name, as one of another package.

    Raises:
        ValueError: for the name of one of this library's own.
    """
    if method.name in _own_names():
        raise ValueError(f"the method {method.name!r} is one of gdpbridge's own")
    _registered[method.name] = method
    return method


@cache
def _own_names() -> tuple[str, ...]:
    return tuple(module.name for module in pkgutil.iter_modules(methods.__path__))


def method_names() -> list[str]:
    """Return the names of the measuring methods, the default first."""
    names = sorted({*_own_names(), *plugins.brought(plugins.METHODS), *_registered})
    return sorted(names, key=lambda name: name != DEFAULT_METHOD)


def method_named(name: str) -> Method:
    """Return a method by its name.

    Raises:
        InputError: for an unknown name.
    """
    if name not in method_names():
        raise InputError("method", name, f"one of {', '.join(method_names())}")
    if name in _own_names():
        found: Method = importlib.import_module(f"{methods.__name__}.{name}").METHOD
        return found
    if name not in _registered:
        brought = plugins.load(plugins.METHODS, name)
        if brought is None:
            raise InputError("method", name, "one whose package can be loaded")
        register_method(brought)
    return _registered[name]


def method_for(form: Form, name: str) -> Method:
    """Return a method by its name; the default one's is that of the best for a form of curves.

    Raises:
        InputError: for an unknown name, or a method that cannot measure such curves.
    """
    found = default_method(form) if name == DEFAULT_METHOD else method_named(name)
    found.check(form)
    return found


def default_method(form: Form) -> Method:
    """Return the method that proves for a form of curves, or else the best one."""
    return method_named(_DEFAULTS[form])
