"""Claims about a mechanism, as people write them: "epsilon <= 8 at delta = 1e-5".

A claim bounds one number: μ, ε at a δ, δ at an ε, an attacker's advantage, the true-positive rate
at a false-positive rate, or f(α). It may name the neighbouring relation that it is made for.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from gdpbridge.curves.constants import MAX_EPS
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.files import read_bounded
from gdpbridge.mechanisms.base import Neighbours
from gdpbridge.numeric.checked import exact_between
from gdpbridge.numeric.exact import MAX_DIGITS
from gdpbridge.reading.sheets import decoded, rows_of, sheet_of, split_line

__all__ = ["Claim", "claims_in_file", "read_all"]

_MAX_BYTES = 2**24
# two numbers in all their digits and words: what is longer takes time with its square
_LONGEST = 2 * MAX_DIGITS + 200
_EXAMPLE = (
    'a claim such as "epsilon <= 8 at delta = 1e-5", "delta <= 1e-5 at epsilon = 8", "mu <= 1", '
    '"advantage <= 0.1", "tpr <= 0.01 at fpr = 0.001" or "beta >= 0.9 at alpha = 0.05"'
)
_COLUMNS = "a column claim, or columns epsilon and delta, mu, advantage, or tpr and fpr"


@dataclass(frozen=True)
class _Quantity:
    """What a claim may bound.

    Attributes:
        symbol: how it is written.
        at: what it is taken at: the name, or None.
        most: the largest value that it can have.
        least: where the claim does not say at what, it is this; None if it must.
    """

    symbol: str
    at: str | None = None
    most: int | None = None
    least: str | None = None


_QUANTITIES = {
    "epsilon": _Quantity("ε", "delta", int(MAX_EPS), "0"),
    "delta": _Quantity("δ", "epsilon", 1),
    "mu": _Quantity("μ", None, 1000),
    "advantage": _Quantity("advantage", None, 1),
    "tpr": _Quantity("TPR", "fpr", 1),
    "beta": _Quantity("f", "alpha", 1),
}
_PLACES = {"epsilon": "ε", "delta": "δ", "fpr": "FPR", "alpha": "α"}
_MOST = {"epsilon": int(MAX_EPS), "delta": 1, "fpr": 1, "alpha": 1, "failure": 1}
# other spellings, of which none is a part of a later one
_SPELT = {
    "ε": "epsilon", "δ": "delta", "μ": "mu", "µ": "mu", "α": "alpha", "β": "beta", "≤": "<=",
    "≥": ">=", "true-positive rate": "tpr", "true positive rate": "tpr",
    "false-positive rate": "fpr", "false positive rate": "fpr",
}  # fmt: skip
_NUMBER = r"[0-9.][0-9.eE+-]*"
_RELATION = (
    r"(?:\s*,?\s*(?:for|under)\s+(?P<relation>add-remove|replace-one|zero-out)"
    r"(?:\s+neighbou?rs)?)?"
)
_DP = r"(?:dp|differential(?:ly)? priva(?:cy|te))"
_PAIR = re.compile(
    rf"\(\s*(?P<epsilon>{_NUMBER})\s*,\s*(?P<delta>{_NUMBER})\s*\)\s*-?\s*{_DP}{_RELATION}"
)
# as training libraries and model cards print it
_NAMED = re.compile(
    rf"\(?\s*epsilon\s*(?:<=|=|:|of)\s*(?P<epsilon>{_NUMBER})\s*(?:[,;]|\(|\band\b|\bwith\b)+\s*(?:and\s+|with\s+)?"
    rf"(?:a\s+)?delta\s*(?:<=|=|:|of)\s*(?P<delta>{_NUMBER})\s*\)*\s*(?:-?\s*{_DP})?{_RELATION}"
)
_POWER = re.compile(r"(?:([0-9.]+)\s*[×x*·⋅]\s*)?\b10\s*\^\s*\{?\s*([-+−]?[0-9]+)\s*\}?")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_ONE = re.compile(rf"(?P<bound>{_NUMBER})\s*-\s*(?P<quantity>g?dp){_RELATION}")
_CLAIM = re.compile(
    rf"(?P<quantity>[a-z]+)\s*(?P<sign><=|>=|<|>|=|:)\s*(?P<bound>{_NUMBER})"
    rf"(?:\s*,?\s*(?:at|for|with|up to|@)\s*(?P<place>[a-z_]+)\s*(?:=|:)?\s*(?P<at>{_NUMBER}))?"
    + _RELATION
)


@dataclass(frozen=True)
class Claim:
    """That a number of a mechanism is at most, or at least, another.

    Attributes:
        text: the claim as it was given.
        quantity: "epsilon", "delta", "mu", "advantage", "tpr" or "beta".
        bound: the number that it is compared with, exactly.
        at: the δ, ε, FPR or α that it is taken at; 0 for the advantage, which is δ(0).
        at_least: whether the claim is that it is no less.
        head: of a μ, the end ε of the range that it is for; None for every ε.
        failure: of a μ, the failure probability p beside it, or None.
        relation: the neighbouring relation that the claim names, or None.
        strict: whether it must be another number than the bound.
    """

    text: str
    quantity: str
    bound: Fraction
    at: Fraction = Fraction(0)
    at_least: bool = False
    head: Fraction | None = None
    failure: Fraction | None = None
    relation: Neighbours | None = None
    strict: bool = False

    @classmethod
    def read(cls, text: str) -> Claim:
        """Read a claim.

        Raises:
            InputError: for what is none, or a number outside its range.
        """
        if len(text) > _LONGEST:
            allowed = f"a claim of at most {_LONGEST:,} characters"
            raise InputError(
                "claim", text, f"{allowed}, with numbers of at most {MAX_DIGITS:,} digits"
            )
        words = " ".join(text.split()).lower()
        for other, name in _SPELT.items():
            words = words.replace(other, name)
        words = re.sub(r"\beps\b", "epsilon", words)
        words = re.sub("10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda one: f"10^{one[1].translate(_RAISED)}", words)
        words = _POWER.sub(lambda one: f"{one[1] or 1}e{one[2].replace('−', '-')}", words)
        if found := _PAIR.fullmatch(words) or _NAMED.fullmatch(words):
            parts = {**found.groupdict(), "quantity": "epsilon", "place": "delta", "sign": "<="}
            parts |= {"bound": parts["epsilon"], "at": parts["delta"]}
        elif found := _ONE.fullmatch(words):
            quantity = "mu" if found["quantity"] == "gdp" else "epsilon"
            parts = {**found.groupdict(), "quantity": quantity, "sign": "<=", "place": None}
        elif found := _CLAIM.fullmatch(words):
            parts = found.groupdict()
        else:
            raise InputError("claim", text, _EXAMPLE)
        return cls._of_parts(text, parts)

    @classmethod
    def _of_parts(cls, text: str, parts: Mapping[str, str | None]) -> Claim:
        name, place, sign = parts["quantity"], parts["place"], parts["sign"]
        strict = sign in ("<", ">")
        if name not in _QUANTITIES:
            raise InputError("claim", text, _EXAMPLE)
        known = _QUANTITIES[name]
        relation = cast("Neighbours | None", parts["relation"])
        bound = _number(text, name, parts["bound"], known.most)
        if name == "mu":
            return cls(text, name, bound, at_least=sign in (">=", ">"), relation=relation,
                       strict=strict,
                       **_of_mu(text, place, parts.get("at")))  # fmt: skip
        given = parts.get("at") if place is not None else known.least
        if known.at is None:
            if place is not None:
                raise InputError("claim", text, f"{known.symbol} ≤ a number, without a place")
            given = "0"
        elif place not in (known.at, None) or given is None:
            raise InputError("claim", text, f"a claim that says at which {known.at}")
        at = _number(text, known.at or name, given, _MOST.get(known.at or name))
        # of f(α) a printed value is what an attacker misses at least
        at_least = sign in (">=", ">") or (name == "beta" and sign in ("=", ":"))
        return cls(text, name, bound, at, at_least, relation=relation, strict=strict)

    @property
    def symbol(self) -> str:
        """The number that is bounded, as it is written."""
        return _QUANTITIES[self.quantity].symbol

    @property
    def where(self) -> str:
        """What the number is taken at, as words that follow it."""
        known = _QUANTITIES[self.quantity]
        if known.at is not None:
            return f" at {_PLACES[known.at]} = {float(self.at):g}"
        if self.head is not None:
            return f" for ε up to {float(self.head):g}"
        return "" if self.failure is None else f" with p = {float(self.failure):g}"

    @property
    def words(self) -> str:
        """The claim in one form, whatever it was written as."""
        named = "" if self.relation is None else f", for {self.relation} neighbours"
        sign = ("≥>" if self.at_least else "≤<")[self.strict]
        return f"{self.symbol} {sign} {float(self.bound):.12g}{self.where}{named}"


def _of_mu(text: str, place: str | None, at: str | None) -> dict[str, Fraction]:
    if place is None:
        return {}
    name = {"epsilon": "head", "eps_h": "head", "p": "failure", "failure": "failure"}.get(place)
    if name is None:
        raise InputError("claim", text, "mu <= a number, up to epsilon = …, or with p = …")
    found = _number(text, place, at, int(MAX_EPS) if name == "head" else 1)
    if found == 0 or (name == "failure" and found == 1):
        raise InputError("claim", text, f"a claim whose {place} is above 0, and p below 1")
    return {name: found}


def _number(text: str, name: str, given: str | None, most: int | None) -> Fraction:
    allowed = f"a claim whose {name} is a number in [0, {most}]"
    try:
        return exact_between("claim", given or "", 0, most, allowed)
    except InputError as error:
        raise InputError("claim", text, str(error.allowed)) from None


def claims_in_file(name: str) -> list[Claim]:
    """Read claims from a table: a row each.

    Args:
        name: a file of comma-, semicolon- or tab-separated text, or - for standard input, with a
            column claim of texts, or columns epsilon and delta, mu, advantage, or tpr and fpr of
            numbers that are claimed to be upper bounds.

    Raises:
        InputError: for a file that cannot be read, or a row that is no claim.
    """
    sheet = sheet_of(decoded(read_bounded(name, _MAX_BYTES, field="claims"), None))
    names = [cell.lower() for cell in split_line(sheet.head, sheet.separator)]
    names = ["epsilon" if cell == "eps" else cell for cell in names]
    if not sheet.text or not {"claim", "epsilon", "mu", "advantage", "tpr"} & set(names):
        raise InputError("claims", Words("a file without them"), f"a table with {_COLUMNS}")
    try:
        rows = list(rows_of(sheet, 1)) if "\n" in sheet.text else []
    except csv.Error as error:
        raise InputError("claims", Words("no table"), Advice(str(error))) from None
    if not rows:
        raise InputError("claims", Words("a table without rows"), "at least one claim")
    if sheet.separator == ";" and "claim" not in names:
        # where fields are so separated a comma stands for a point
        rows = [(number, [cell.replace(",", ".") for cell in row]) for number, row in rows]
    return [_in_row(number, dict(zip(names, row, strict=False))) for number, row in rows]


def _in_row(number: int, cells: Mapping[str, str]) -> Claim:
    given = {name: cell for name, cell in cells.items() if cell}
    try:
        if "claim" in given:
            return Claim.read(given["claim"])
        return Claim.read(_written(given))
    except InputError as error:
        raise InputError(f"row {number}", Words(", ".join(cells.values())), error.allowed) from None


def _written(given: Mapping[str, str]) -> str:
    """Write a row of numbers as a claim."""
    for name, at in (("epsilon", "delta"), ("tpr", "fpr"), ("mu", ""), ("advantage", "")):
        if name in given:
            where = f" at {at} = {given[at]}" if at in given else ""
            return f"{name} <= {given[name]}{where}"
    raise InputError("claim", Words("none"), _COLUMNS)


def read_all(claims: str | Claim | Sequence[str | Claim]) -> list[Claim]:
    """Return claims, whether texts or read already, and one or several."""
    given = [claims] if isinstance(claims, str | Claim) else list(claims)
    for one in given:
        if not isinstance(one, str | Claim):
            raise InputError("claims", one, _EXAMPLE)
    return [one if isinstance(one, Claim) else Claim.read(one) for one in given]
