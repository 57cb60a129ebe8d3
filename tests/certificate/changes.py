"""Changes to a certificate, one at a time, and what the checker says of each."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path as Folder
from typing import Any

from gdpbridge import InputError, Profile, UndecidedError, measure, verify
from gdpbridge.certificate.write_answers import Asked

Document = dict[str, Any]
Path = tuple[str | int, ...]
REMOVED = object()
# answers of every sort
ASKED = (
    Asked("delta", Fraction(1, 2)),
    Asked("epsilon", Fraction(1, 1000)),
    Asked("advantage"),
    Asked("beta", Fraction(1, 20)),
    Asked("tpr", Fraction(1, 100)),
    Asked("beta", Fraction(9, 10)),
)


def documents_of(
    examples: Mapping[str, tuple[Profile, dict[str, Any]]], **how: Any
) -> tuple[Callable[[str], str], Callable[[str], Document]]:
    """What tells the JSON text of an example's certificate, and what gives it to be changed.

    Each is measured once, as the example says and as all are.
    """

    @cache
    def text_of(name: str) -> str:
        profile, own = examples[name]
        document = measure(profile, **how, **own).certificate
        assert document is not None
        return document.to_json()

    def fresh(name: str) -> Document:
        parsed: Document = json.loads(text_of(name))
        return parsed

    return text_of, fresh


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a document with its path; of lists the first two and the last."""
    if path:
        yield path, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            if index < 2 or index == len(node) - 1:
                yield from leaves(value, (*path, index))


def put(document: Any, path: Path, value: object) -> Any:
    """A copy with one value changed or removed; what was not touched is shared."""
    first, *rest = path
    changed = copy.copy(document)
    if rest:
        changed[first] = put(document[first], tuple(rest), value)
    elif value is REMOVED:
        del changed[first]
    else:
        changed[first] = value
    return changed


ALWAYS: list[object] = [
    REMOVED, None, True, 1, 1.5, -1, [], {}, "", "nan", "inf", "-inf", "1e400", "1e999999999",
    "-1", "0", "1", "0x1p+0", "0x0p+0", "0x1p+9999", "0x1p-9999", "9" * 390, "9" * 5000,
    "0.5", "1e-9999", "tail", "whole", "head", "approximate", "gdp", "not-gdp", "__import__('os')",
]  # fmt: skip


BINARY = re.compile("0x[0-9a-f]+p[+-][0-9]+")


def numbers_near(text: str) -> Iterator[str]:
    """A number a little moved, and doubled."""
    listed = list(BINARY.finditer(text))
    if len(listed) > 1:
        for found in listed:
            for other in numbers_near(found[0]):
                yield f"{text[: found.start()]}{other}{text[found.end() :]}"
        return
    if listed and text.startswith("-"):
        yield text[1:]
        yield from (f"-{other}" for other in numbers_near(text[1:]))
        return
    if listed:
        mantissa, exponent = text[2:].split("p")
        whole, power = int(mantissa, 16), int(exponent)
        for other in (whole + 1, whole - 1, 2 * whole, whole // 2, whole + (whole >> 7)):
            if other >= 0:
                yield f"0x{other:x}p{power:+d}"
        yield f"0x{(whole << 300) + 1:x}p{power - 300:+d}"
        return
    try:
        value = Fraction(text)
    except ValueError:
        return
    unit = Fraction(1, 10 ** len(text.partition(".")[2]))
    for other in (value + unit, value - unit, value + Fraction(1, 10**10),
                  value - Fraction(1, 10**10), 2 * value, value / 2, value + 1):  # fmt: skip
        if other >= 0:
            yield decimal(other)


def decimal(value: Fraction) -> str:
    """A number as a decimal of 40 places."""
    return f"{value.numerator * 10**40 // value.denominator}e-40"


def beside(document: Document, step: Fraction) -> Iterator[Document]:
    """The claim with an interval that ends below the μ of this one, and one that begins above."""
    low, high = (Fraction(document["claim"]["mu"][end]) for end in ("low", "high"))
    # where nothing is claimed below, the search knows better
    low = low or high - step
    for ends in ((Fraction(0), low - step), (high + step, high + 1)):
        moved = dict(zip(("low", "high"), map(decimal, ends), strict=True))
        yield put(document, ("claim", "mu"), moved)


def changes(document: Document) -> Iterator[tuple[str, Document]]:
    """Every field changed in many ways, one at a time."""
    for path, value in leaves(document):
        where = ".".join(map(str, path))
        for other in ALWAYS:
            yield f"{where} := {other!r:.30}", put(document, path, other)
        if isinstance(value, str):
            for other in numbers_near(value):
                yield f"{where} := {other:.30}", put(document, path, other)
        if isinstance(value, dict):
            yield f"{where} + unknown", put(document, (*path, "unknown"), "1")
            for first, second in zip(value, list(value)[1:], strict=False):
                swapped = put(document, (*path, first), value[second])
                yield f"{where}: {first} <-> {second}", put(swapped, (*path, second), value[first])


def structural(document: Document) -> Iterator[tuple[str, Document]]:
    """Changes to the order, number and ends of cells; none leaves a proof."""
    cells = document["evidence"]["cells"]

    def with_cells(new: list[dict[str, Any]]) -> Document:
        return put(document, ("evidence", "cells"), new)

    for i, cell in enumerate(cells):
        yield f"remove {i}", with_cells(cells[:i] + cells[i + 1 :])
        yield f"duplicate {i}", with_cells([*cells[: i + 1], *cells[i:]])
        reversed_cell = {**cell, "low": cell["high"], "high": cell["low"]}
        yield f"reverse {i}", with_cells([*cells[:i], reversed_cell, *cells[i + 1 :]])
        empty = {**cell, "high": cell["low"], "centre": None}
        yield f"empty {i}", with_cells([*cells[:i], empty, *cells[i + 1 :]])
        for field, step in (("low", 1), ("low", -1), ("high", 1), ("high", -1)):
            moved = one_ulp(cell[field], step)
            if moved and (field == "low" or i + 1 < len(cells)):
                yield (
                    f"{field} of {i} by {step} ulp",
                    with_cells([*cells[:i], {**cell, field: moved}, *cells[i + 1 :]]),
                )
    for i in range(len(cells) - 1):
        swapped = [*cells[:i], cells[i + 1], cells[i], *cells[i + 2 :]]
        yield f"swap {i}", with_cells(swapped)
    if len(cells) > 1:
        yield "reverse the order", with_cells(cells[::-1])
    if cells:
        yield "no cells", with_cells([])


def one_ulp(text: str, step: int) -> str | None:
    """A binary number moved by a unit in its 300th place."""
    mantissa, exponent = text[2:].split("p")
    moved = (int(mantissa, 16) << 300) + step
    return f"0x{moved:x}p{int(exponent) - 300:+d}" if moved >= 0 else None


def outcome(document: Document) -> str:
    """What the checker says: valid, refused, no certificate or undecided; nothing else may be."""
    try:
        return "valid" if verify(document).valid else "refused"
    except InputError:
        return "no certificate"
    except UndecidedError:
        return "undecided"


def accepted(document: Document, folder: Folder | None = None) -> bool:
    """Whether the checker proves a document."""
    try:
        return verify(document, folder=folder).valid
    except (InputError, UndecidedError):
        return False
