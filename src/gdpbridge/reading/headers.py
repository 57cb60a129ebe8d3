"""Names of columns by what they mean: "Epsilon (privacy loss)", "delta [%]"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gdpbridge.errors import InputError

__all__ = ["Columns", "Found", "find_columns"]

_EPS = {"eps", "epsilon", "ε"}
_DELTA = {"delta", "δ"}
_LOG = {"log", "ln", "natural"}
_PERCENT = {"%", "percent", "pct"}
# words that change nothing of what a number is
_NEUTRAL = {
    *("a", "at", "budget", "failure", "guarantee", "in", "loss", "of", "parameter", "privacy"),
    *("probability", "the", "value", "values"),
}
_WORD = re.compile(r"%|[^\W_]+")


@dataclass(frozen=True)
class Columns:
    """Which columns to read.

    Attributes:
        eps: the name of the column of ε, None to find it.
        delta: the name of the column of δ, or of log δ, None to find it.
    """

    eps: str | None = None
    delta: str | None = None


class Found(NamedTuple):
    """Where ε and δ are, and how δ is written."""

    eps: int
    delta: int
    is_log: bool
    is_percent: bool
    notes: tuple[str, ...]


def find_columns(names: Sequence[str], columns: Columns) -> Found:
    """Find the columns of ε and δ.

    Raises:
        InputError: if one is missing, or there are several.
    """
    words = [_words(name) for name in names]
    eps = _column(words, names, "ε", "eps_column", columns.eps)
    delta = _column(words, names, "δ", "delta_column", columns.delta)
    about = set(words[delta])
    notes = [
        f"the column {names[at].strip()!r} is read as {symbol}"
        for at, symbol in ((eps, "ε"), (delta, "log δ" if about & _LOG else "δ"))
        if len(words[at]) > 1 + bool(set(words[at]) & _LOG)
    ]
    return Found(eps, delta, bool(about & _LOG), bool(about & _PERCENT), tuple(notes))


def _words(name: str) -> list[str]:
    spaced = re.sub(r"^\W*(log|ln)_?(?=delta|δ)", r"\1 ", name.strip().lower())
    return _WORD.findall(spaced)


def _means(words: Sequence[str], symbol: str) -> bool:
    own, others = (_EPS, _NEUTRAL) if symbol == "ε" else (_DELTA, _NEUTRAL | _LOG | _PERCENT)
    given = set(words)
    if given & own:
        return given <= own | others
    # without the sign: the usual words alone
    usual = {"privacy", "loss"} if symbol == "ε" else {"failure", "probability"}
    return usual <= given <= others


def _column(
    words: Sequence[Sequence[str]],
    names: Sequence[str],
    symbol: str,
    option: str,
    asked: str | None,
) -> int:
    shown = ", ".join(names)
    if asked is not None:
        wanted = asked.strip().lower()
        found = [at for at, name in enumerate(names) if name.strip().lower() == wanted]
        if not found:
            raise InputError(option, asked, f"one of the columns: {shown}")
    else:
        found = [at for at, given in enumerate(words) if _means(given, symbol)]
        # the bare name before a longer one
        bare = [at for at in found if len(words[at]) == 1]
        found = bare or found
    if not found:
        known = "eps, epsilon, ε" if symbol == "ε" else "delta, δ, log_delta"
        allowed = f"column names, one of them for {symbol} ({known})"
        raise InputError("the first row", shown, allowed)
    if len(found) > 1:
        raise InputError("the first row", shown, f"column names, only one of them for {symbol}")
    return found[0]
